// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/rng.hpp"
#include "process/simulated/program_faults.hpp"
#include "process/simulated/simulated_rank.hpp"
#include "sim/faults/network_faults.hpp"
#include "sim/run/world.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft {
namespace {

constexpr int code_of_killed = 128 + 9;
/// The launcher's word takes so long.
constexpr PicoDuration word_takes = PicoDuration::milliseconds(1);
/// How far the simulation goes before somebody looks whether anything happens any more.
constexpr PicoDuration slice = PicoDuration::microseconds(10);

sim::SimFabricOptions fabric_options(const sim::Scenario& scenario, const JobDescription& job) {
  sim::SimFabricOptions o;
  o.header_bytes = scenario.fabric.header_bytes;
  o.acknowledgement = to_pico(scenario.fabric.acknowledgement);
  o.death_notice = to_pico(scenario.fabric.death_notice);
  o.peer_timeout = to_pico(job.peer_timeout);
  return o;
}

class SimulatedProgram final : private sim::NetworkFaults, private sim::Agent {
 public:
  SimulatedProgram(sim::World& world, std::vector<std::uint32_t> hosts, const JobDescription& job,
                   const Program& program, std::span<const std::string> arguments,
                   const std::function<void(const std::string&)>& say)
      : NetworkFaults(world),
        job_(job),
        say_(say),
        hosts_(std::move(hosts)),
        hub_(fabric_options(world.scenario(), job), hosts_, world.network(), world.agents()),
        place_{.agents = world.agents(),
               .hub = hub_,
               .scenario = world.scenario(),
               .job = job,
               .program = program,
               .arguments = arguments,
               .on_over = [this] { set_timer(word_takes, over_timer); },
               .on_end = [this](NodeId rank, int code) { on_end(rank.value(), code); }},
        agent_(world.agents().add(*this)),
        over_(hosts_.size(), false) {
    make_ranks();
  }

  /// Until all processes are over.
  Result<SimulatedOutcome> run(std::vector<testbed::Fault> faults) {
    if (auto good = connect(); !good) return std::move(good).error();
    begun_ = now();
    for (std::uint32_t n = 0; n < ranks_.size(); ++n) {
      if (auto good = ranks_[n]->begin(); !good) return std::move(good).error();
    }
    faults_.emplace(std::move(faults), now_ns());
    next_fault();
    const PicoInstant limit = begun_ + to_pico(world().scenario().programs.limit);
    while (!stopped_) {
      if (auto good = advance(limit); !good) return std::move(good).error();
    }
    if (failure_) return *failure_;
    return outcome();
  }

 private:
  enum Timer : std::uint16_t { fault_timer, over_timer, end_timer, restart_timer };

  PicoInstant now() const { return place_.agents.engine().now(); }
  Instant now_ns() const { return Instant(now().ticks() / 1'000); }
  void set_timer(PicoDuration in, Timer timer, std::uint64_t payload = 0) {
    place_.agents.set_shared_timer(agent_, now() + in, timer, payload);
  }

  void make_ranks();
  Result<void> connect();
  Result<void> advance(PicoInstant limit);
  SimulatedOutcome outcome() const;
  void introduce(std::uint32_t to, std::uint32_t about);
  void start_anew(std::uint32_t rank);
  void stop();
  void end_with(int code);
  void on_end(std::uint32_t rank, int code);
  void on_death(std::uint32_t rank, int code, const std::string& how);
  void finish(std::uint32_t rank);
  void say_over();
  Error stuck() const;
  void next_fault();
  void play_faults();
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

  // FaultTarget; hosts are ranks
  Result<void> kill(std::uint32_t rank) override;
  Result<void> stop(std::uint32_t rank) override;
  Result<void> resume(std::uint32_t rank) override;
  Result<void> restart(std::uint32_t rank) override;
  Result<void> set_link_up(std::uint32_t rank, bool up) override;
  Result<void> set_rate(std::uint32_t rank, Bandwidth rate) override;
  Result<void> set_loss(std::uint32_t rank, std::uint32_t parts_per_million) override;
  Result<void> jump_clock(std::uint32_t rank, Duration by) override;
  Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>& groups) override;

  const JobDescription& job_;
  const std::function<void(const std::string&)>& say_;
  std::vector<std::uint32_t> hosts_;  // by rank
  sim::SimHub hub_;
  ProgramPlace place_;
  std::uint32_t agent_;
  std::vector<std::unique_ptr<SimulatedRank>> ranks_;
  std::vector<bool> over_;  // by rank: nothing more is expected of it
  std::optional<testbed::FaultPlayer> faults_;
  std::vector<ProgramReport::Fault> played_;
  std::optional<Error> failure_;
  PicoInstant begun_{};
  std::uint32_t crashes_ = 0;
  std::uint32_t restarts_ = 0;
  int code_ = 0;
  bool ending_ = false;
  bool stopped_ = false;
};

void SimulatedProgram::make_ranks() {
  const sim::ClockOptions& clocks = world().scenario().clocks;
  const Rng root = Rng(world().scenario().seed).split(0xc10c);
  for (std::uint32_t n = 0; n < hosts_.size(); ++n) {
    Rng draw = root.split(n);
    const double offset = (2 * draw.uniform() - 1) * static_cast<double>(clocks.offset.ticks());
    const double drift = (2 * draw.uniform() - 1) * clocks.drift_per_million * 1000;
    const sim::NodeClock clock(Duration(static_cast<std::int64_t>(offset)),
                               static_cast<std::int64_t>(drift));
    ranks_.push_back(
        std::make_unique<SimulatedRank>(place_, NodeId(n), hosts_[n], clock, draw.split(1)));
  }
}

/// Programs begin when everybody is connected with everybody: what that takes is start-up.
Result<void> SimulatedProgram::connect() {
  for (auto& rank : ranks_) rank->open();
  for (std::uint32_t a = 0; a < ranks_.size(); ++a) {
    for (std::uint32_t b = 0; b < ranks_.size(); ++b) {
      if (a != b) introduce(a, b);
    }
  }
  const std::uint64_t others = ranks_.size() - 1;
  const PicoInstant limit = now() + to_pico(world().scenario().programs.limit);
  while (std::any_of(ranks_.begin(), ranks_.end(),
                     [&](const auto& rank) { return rank->calls() < others; })) {
    if (auto good = advance(limit); !good) return good;
  }
  return {};
}

Result<void> SimulatedProgram::advance(PicoInstant limit) {
  sim::Engine& engine = place_.agents.engine();
  if (engine.idle()) return stuck();
  if (engine.next_time() >= limit) {
    return Error{ErrorCode::timed_out,
                 fmt::format("the program did not end within {} simulated seconds; "
                             "programs.limit is the limit",
                             world().scenario().programs.limit.to_seconds())};
  }
  engine.run_until(std::min(limit, std::max(now(), engine.next_time()) + slice));
  return {};
}

Error SimulatedProgram::stuck() const {
  std::string who;
  std::size_t waiting = 0;
  for (const auto& rank : ranks_) {
    if (!rank->alive()) continue;
    if (++waiting <= 8) who += fmt::format("{}{}", waiting > 1 ? ", " : "", rank->self().value());
  }
  return {ErrorCode::unavailable,
          fmt::format("nothing happens any more, and {} processes wait for messages: rank{} {}{}",
                      waiting, waiting == 1 ? "" : "s", who, waiting > 8 ? ", …" : "")};
}

SimulatedOutcome SimulatedProgram::outcome() const {
  SimulatedOutcome outcome{.code = code_};
  ProgramReport& report = outcome.report;
  const sim::Engine& engine = place_.agents.engine();
  report.processes = static_cast<std::uint32_t>(ranks_.size());
  report.seed = world().scenario().seed;
  report.simulated = Duration((now() - begun_).ticks() / 1'000);
  report.start_up = Duration((begun_ - PicoInstant()).ticks() / 1'000);
  report.crashes = crashes_;
  report.restarts = restarts_;
  report.events = engine.events();
  report.trace_hash = engine.trace_hash();
  report.faults = played_;
  for (const auto& rank : ranks_) report.ranks.push_back(rank->times());
  return outcome;
}

void SimulatedProgram::introduce(std::uint32_t to, std::uint32_t about) {
  const auto added = ranks_[to]->fabric().add_peer(NodeId(about), ranks_[about]->incarnation(),
                                                   hub_.address_of(NodeId(about)));
  WEFT_CHECK(added.ok());
}

/// As a launcher does: a new process, made known to all and told of all.
void SimulatedProgram::start_anew(std::uint32_t n) {
  if (stopped_ || ranks_[n]->alive() || over_[n]) return;
  ranks_[n]->open();
  for (std::uint32_t other = 0; other < ranks_.size(); ++other) {
    if (other == n || !ranks_[other]->alive()) continue;
    introduce(n, other);
    introduce(other, n);
  }
  if (auto good = ranks_[n]->begin(); !good) {
    failure_ = good.error();
    stop();
  }
}

void SimulatedProgram::stop() {
  stopped_ = true;
  place_.agents.engine().stop();
}

/// Others may have something to say still, then all end.
void SimulatedProgram::end_with(int code) {
  if (code_ == 0) code_ = code;
  if (std::exchange(ending_, true)) return;
  set_timer(word_takes, end_timer);
}

void SimulatedProgram::finish(std::uint32_t n) {
  over_[n] = true;
  if (std::all_of(over_.begin(), over_.end(), [](bool over) { return over; })) stop();
}

void SimulatedProgram::on_end(std::uint32_t n, int code) {
  if (code == 0) return finish(n);
  on_death(n, code, fmt::format("ended with code {}", code));
}

void SimulatedProgram::on_death(std::uint32_t n, int code, const std::string& how) {
  // Once all programs are over, nothing is missing whatever ends a process.
  if (place_.over) return finish(n);
  if (job_.retain && !ending_ && restarts_ < job_.most_restarts) {
    ++restarts_;
    say_(fmt::format("rank {} {}; starting it anew", n, how));
    set_timer(to_pico(world().scenario().programs.restart_after), restart_timer, n);
    return;
  }
  if (ending_) return;
  say_(fmt::format("rank {} {}", n, how));
  // A program that failed by itself takes the others with it. One that was killed is waited for,
  // until those that need it give up and say what they needed.
  if (job_.retain || code != code_of_killed) return end_with(code);
  if (code_ == 0) code_ = code;
  if (!faults_->will_restart(n)) finish(n);
}

void SimulatedProgram::say_over() {
  place_.over = true;
  for (std::uint32_t n = 0; n < ranks_.size(); ++n) {
    if (ranks_[n]->alive()) {
      ranks_[n]->wake();
    } else {
      finish(n);
    }
  }
}

void SimulatedProgram::next_fault() {
  const Instant at = faults_->next_deadline();
  if (at == Instant::never()) return;
  place_.agents.set_shared_timer(agent_, std::max(now(), PicoInstant() + to_pico(at - Instant())),
                                 fault_timer);
}

void SimulatedProgram::play_faults() {
  std::vector<testbed::FaultPlayer::Played> played;
  faults_->play(now_ns(), *this, played);
  for (const auto& p : played) {
    spdlog::info("fault: {}{}", p.what, p.result.ok() ? "" : ": " + p.result.error().message);
    if (p.result.ok()) {
      played_.push_back({Duration((now() - begun_).ticks() / 1'000), p.what});
    }
  }
  next_fault();
}

void SimulatedProgram::on_timer(std::uint16_t detail, std::uint64_t payload) {
  if (stopped_) return;
  switch (detail) {
    case fault_timer:
      play_faults();
      break;
    case over_timer:
      say_over();
      break;
    case end_timer:
      stop();
      break;
    default:
      start_anew(static_cast<std::uint32_t>(payload));
      break;
  }
}

/// What happens to who is not there is no error: faults are drawn without knowledge of who is.
Error not_there(std::uint32_t rank) {
  return {ErrorCode::unavailable, fmt::format("rank {} does not run", rank)};
}

Result<void> SimulatedProgram::kill(std::uint32_t n) {
  if (!ranks_[n]->alive()) return not_there(n);
  ranks_[n]->kill();
  ++crashes_;
  on_death(n, code_of_killed, "was ended by signal 9 (Killed)");
  return {};
}

Result<void> SimulatedProgram::stop(std::uint32_t n) {
  if (!ranks_[n]->alive()) return not_there(n);
  ranks_[n]->pause();
  return {};
}

Result<void> SimulatedProgram::resume(std::uint32_t n) {
  if (!ranks_[n]->alive()) return not_there(n);
  ranks_[n]->resume();
  return {};
}

Result<void> SimulatedProgram::restart(std::uint32_t n) {
  if (over_[n]) return not_there(n);
  if (ranks_[n]->alive()) {
    ranks_[n]->kill();
    ++crashes_;
  }
  ++restarts_;
  start_anew(n);
  return {};
}

Result<void> SimulatedProgram::set_link_up(std::uint32_t n, bool up) {
  world().set_host_up(hosts_[n], up);
  for (std::uint32_t other = 0; other < hosts_.size(); ++other) {
    if (hosts_[other] == hosts_[n]) {
      hub_.set_reachable(NodeId(other), up && !ranks_[other]->paused());
    }
  }
  return {};
}

Result<void> SimulatedProgram::set_rate(std::uint32_t n, Bandwidth rate) {
  world().set_host_rate(hosts_[n], rate);
  return {};
}

Result<void> SimulatedProgram::set_loss(std::uint32_t n, std::uint32_t parts_per_million) {
  world().set_host_loss(hosts_[n], parts_per_million);
  return {};
}

Result<void> SimulatedProgram::jump_clock(std::uint32_t n, Duration by) {
  ranks_[n]->jump_clock(by);
  return {};
}

Result<void> SimulatedProgram::set_partition(
    const std::vector<std::vector<std::uint32_t>>& groups) {
  hub_.set_partition(groups);
  return {};
}

/// Hosts by rank: neighbouring ranks share one if the scenario says so.
Result<std::vector<std::uint32_t>> place_ranks(const sim::World& world, std::uint32_t ranks) {
  const sim::Scenario& scenario = world.scenario();
  const std::uint32_t each = scenario.programs.per_host;
  auto hosts = sim::place(scenario.placement, world.topology(), (ranks + each - 1) / each);
  if (!hosts) return scenario.located("network.topology", hosts.error());
  std::vector<std::uint32_t> of_ranks;
  for (std::uint32_t n = 0; n < ranks; ++n) of_ranks.push_back((*hosts)[n / each]);
  return of_ranks;
}

}  // namespace

Result<SimulatedOutcome> simulate_program(const sim::Scenario& scenario, const JobDescription& job,
                                          const Program& program,
                                          std::span<const std::string> arguments,
                                          const std::function<void(const std::string&)>& say) {
  if (scenario.fabric.copied_bytes != sim::JobFabricOptions().copied_bytes) {
    return scenario.located(
        "fabric.copied-bytes",
        {ErrorCode::invalid_argument, "programs need all that they send; leave it out"});
  }
  auto world = sim::World::make(scenario);
  if (!world) return std::move(world).error();
  auto hosts = place_ranks(**world, job.nodes);
  if (!hosts) return std::move(hosts).error();
  auto faults = program_faults(**world, *hosts);
  if (!faults) return std::move(faults).error();
  SimulatedProgram simulation(**world, std::move(hosts).value(), job, program, arguments, say);
  auto outcome = simulation.run(std::move(faults).value());
  if (outcome) outcome->report.packet_hops = (*world)->network().packet_hops();
  return outcome;
}

Result<int> run_simulated(JobInvitation invitation, const Program& program,
                          std::span<const std::string> arguments) {
  const JobDescription& job = invitation.job;
  const char* level = std::getenv("WEFT_LOG");
  set_up_log(level != nullptr ? level : "error", "simulation");
  auto scenario = sim::read_scenario(job.fabric.substr(simulation_prefix.size()));
  if (!scenario) return std::move(scenario).error();
  if (job.seed) scenario->seed = *job.seed;
  if (!job.faults) {
    scenario->faults.clear();
    scenario->random_faults = {};
    scenario->programs.crashes = 0;
  }
  auto outcome = simulate_program(*scenario, job, program, arguments, [](const std::string& line) {
    fmt::print(stderr, "weft run: {}\n", line);
  });
  std::fflush(stdout);
  if (!outcome) return std::move(outcome).error();
  if (invitation.link) invitation.link->tell(launch_message::report, to_json(outcome->report));
  return outcome->code;
}

}  // namespace weft

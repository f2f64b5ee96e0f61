// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/program_in_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/process_end.hpp"
#include "process/simulated/hosted_life.hpp"
#include "sim/run/stuck.hpp"

namespace weft {
namespace {

constexpr int code_of_killed = 128 + 9;
/// Ranks that an error names; it counts all.
constexpr std::size_t most_named = 8;
/// A wait that is repeated takes a few seconds at most (mpi/object/transfer).
constexpr PicoDuration longest_turn = PicoDuration::seconds(10);
/// The launcher's word takes so long.
constexpr PicoDuration word_takes = PicoDuration::milliseconds(1);

}  // namespace

ProgramInWorld::ProgramInWorld(sim::World& world, std::vector<std::uint32_t> hosts,
                               const JobDescription& job, LifeMaker make_life,
                               const std::function<void(const std::string&)>& say)
    : HostedJob(world, std::move(hosts), job.peer_timeout),
      job_(job),
      say_(say),
      shared_{.scenario = world.scenario(),
              .job = job,
              .make_life = std::move(make_life),
              .on_over =
                  [this] {
                    decided_ = true;
                    set_timer(word_takes, over_timer);
                  },
              .on_end = [this](NodeId rank, int code) { on_end(rank.value(), code); }},
      agent_(world.agents().add(*this)),
      over_(this->hosts().size(), false) {
  if (const auto level = world.scenario().programs.level; level > 0) hub().levels().set_job(level);
  for (std::uint32_t n = 0; n < over_.size(); ++n) {
    ranks_.push_back(std::make_unique<SimulatedRank>(shared_, place_of(n, 0)));
  }
}

/// Programs begin when all processes are connected with each other: connecting counts as start-up.
void ProgramInWorld::begin(std::vector<faults::Fault> faults) {
  faults_to_come_ = std::move(faults);
  for (auto& rank : ranks_) rank->open();
  for (std::uint32_t a = 0; a < ranks_.size(); ++a) {
    for (std::uint32_t b = 0; b < ranks_.size(); ++b) {
      if (a != b) introduce(a, b);
    }
  }
  limit_ = now() + to_pico(world().scenario().programs.limit);
}

Result<void> ProgramInWorld::run() {
  while (!stopped_) {
    if (auto good = look_around(); !good) return good;
    engine().run_until(std::min(limit_, std::max(now(), engine().next_time()) + between_looks));
  }
  if (failure_) return *failure_;
  return {};
}

Result<void> ProgramInWorld::look_around() {
  if (stopped_) return {};
  if (!faults_ && is_connected()) {
    if (auto good = begin_programs(); !good) return good;
  }
  if (engine().idle() || is_still()) return stuck();
  if (engine().next_time() < limit_) return {};
  const std::string waiting = who_waits(false);
  return make_error(
      ErrorCode::timed_out,
      "the program did not end within {} simulated seconds; programs.limit is the limit{}{}",
      world().scenario().programs.limit.to_seconds(), waiting.empty() ? "" : "; in the end ",
      waiting);
}

bool ProgramInWorld::is_connected() const {
  const std::uint64_t others = ranks_.size() - 1;
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [&](const auto& rank) { return rank->calls() >= others; });
}

Result<void> ProgramInWorld::begin_programs() {
  begun_ = now();
  limit_ = begun_ + to_pico(world().scenario().programs.limit);
  for (auto& rank : ranks_) {
    if (auto good = rank->begin(); !good) return good;
  }
  faults_.emplace(std::move(faults_to_come_), now_ns());
  next_fault();
  return {};
}

sim::JobFacts ProgramInWorld::facts() const {
  return {.changed = stopped_ ? 1U : 0U,
          .unfinished = stopped_ ? 0U : 1U,
          .failed = failure_ ? 1U : 0U};
}

std::optional<sim::JobFailure> ProgramInWorld::failure() const {
  if (!failure_) return std::nullopt;
  return sim::JobFailure{.order = 0, .error = *failure_};
}

void ProgramInWorld::interrupt() {
  if (!stopped_) stop_all();
}

/// Other jobs go on: processes that have been given up do not.
void ProgramInWorld::retire() {
  for (auto& rank : ranks_) {
    if (rank->alive()) rank->kill();
  }
}

Error ProgramInWorld::stuck() const {
  if (auto moves = sim::check_standstill(world().network()); !moves) {
    return std::move(moves).error();
  }
  return make_error(ErrorCode::unavailable, "nothing happens any more, and {}", who_waits(true));
}

std::string ProgramInWorld::who_waits(bool all_do) const {
  std::string who;
  std::size_t waiting = 0;
  for (const auto& rank : ranks_) {
    const HostedLife* const life = rank->waiting();
    if (!rank->alive() || (life == nullptr && !all_do) || ++waiting > most_named) continue;
    const std::string call = life != nullptr ? life->waits_in() : "";
    who += fmt::format("{}{}{}", waiting > 1 ? ", " : "", rank->self().value(),
                       call.empty() ? "" : fmt::format(" (in {})", call));
  }
  if (waiting == 0) return {};
  return fmt::format("{} process{} for messages: rank{} {}{}", waiting,
                     waiting == 1 ? " waits" : "es wait", waiting == 1 ? "" : "s", who,
                     waiting > most_named ? ", …" : "");
}

bool ProgramInWorld::is_still() {
  if (now() < next_look_for_stillness_ || !faults_) return false;
  next_look_for_stillness_ = now() + PicoDuration::seconds(1);
  if (ending_ || decided_ || job_.timeout == Duration::max()) return false;
  if (faults_->next_deadline() != Instant::never()) return false;
  if (!world().network().at_rest() || world().network().links_down() > 0) return false;
  const PicoDuration patience = to_pico(std::max(job_.timeout, job_.peer_timeout)) + longest_turn;
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& rank) {
    if (!rank->alive()) return true;
    const HostedLife* const life = rank->waiting();
    return life != nullptr && now() - life->quiet_since() > patience;
  });
}

SimulatedOutcome ProgramInWorld::outcome() {
  SimulatedOutcome outcome{.code = code_};
  ProgramReport& report = outcome.report;
  report.processes = static_cast<std::uint32_t>(ranks_.size());
  report.seed = world().scenario().seed;
  report.simulated = Duration((ended_ - begun_).ticks() / 1'000);
  report.start_up = Duration((begun_ - PicoInstant()).ticks() / 1'000);
  report.crashes = crashes_;
  report.restarts = restarts_;
  report.events = engine().events();
  report.trace_hash = engine().trace_hash();
  report.faults = played_;
  for (const auto& rank : ranks_) report.ranks.push_back(rank->times());
  return outcome;
}

void ProgramInWorld::introduce(std::uint32_t to, std::uint32_t about) {
  const auto added = ranks_[to]->fabric().add_peer(NodeId(about), ranks_[about]->incarnation(),
                                                   hub().address_of(NodeId(about)));
  WEFT_CHECK(added.ok());
}

/// As a launcher does: a new process, made known to all and told of all.
void ProgramInWorld::start_anew(std::uint32_t n) {
  if (stopped_ || ranks_[n]->alive() || over_[n]) return;
  if (decided_) return finish(n);
  ranks_[n]->open();
  for (std::uint32_t other = 0; other < ranks_.size(); ++other) {
    if (other == n || !ranks_[other]->alive()) continue;
    introduce(n, other);
    introduce(other, n);
  }
  if (auto good = ranks_[n]->begin(); !good) {
    failure_ = good.error();
    stop_all();
  }
}

void ProgramInWorld::stop_all() {
  stopped_ = true;
  ended_ = now();
  engine().stop();
}

/// Others may have something to say still, then all end.
void ProgramInWorld::end_with(int code) {
  if (code_ == 0) code_ = code;
  if (std::exchange(ending_, true)) return;
  set_timer(word_takes, end_timer);
}

void ProgramInWorld::finish(std::uint32_t n) {
  over_[n] = true;
  if (std::all_of(over_.begin(), over_.end(), [](bool over) { return over; })) stop_all();
}

void ProgramInWorld::on_end(std::uint32_t n, int code) {
  if (code == 0) return finish(n);
  on_death(n, code, describe_end_code(code));
}

void ProgramInWorld::on_death(std::uint32_t n, int code, const std::string& how) {
  // Once all programs are over, the end of a process loses nothing.
  if (decided_) return finish(n);
  if (job_.retain && !ending_ && restarts_ < job_.most_restarts) {
    ++restarts_;
    say_(fmt::format("rank {} {}; starting it anew", n, how));
    set_timer(to_pico(world().scenario().programs.restart_after), restart_timer, n);
    return;
  }
  if (ending_) return;
  say_(fmt::format(
      "rank {} {}{}", n, how,
      job_.retain ? fmt::format(", and no restart is left (--most-restarts {})", job_.most_restarts)
                  : ""));
  // A program that failed by itself takes the others with it. One that was killed is waited for,
  // until ranks that need it give up and name the operation.
  if (job_.retain || code != code_of_killed) return end_with(code);
  if (code_ == 0) code_ = code;
  if (!faults_->will_restart(n)) finish(n);
}

void ProgramInWorld::say_over() {
  shared_.over = true;
  for (std::uint32_t n = 0; n < ranks_.size(); ++n) {
    if (ranks_[n]->alive()) {
      ranks_[n]->wake();
    } else {
      finish(n);
    }
  }
}

void ProgramInWorld::next_fault() {
  const Instant at = faults_->next_deadline();
  if (at == Instant::never()) return;
  world().agents().set_shared_timer(
      agent_, std::max(now(), PicoInstant() + to_pico(at - Instant())), fault_timer);
}

void ProgramInWorld::play_faults() {
  std::vector<faults::FaultPlayer::Played> played;
  faults_->play(now_ns(), *this, played);
  for (const auto& p : played) {
    spdlog::info("fault: {}{}", p.what, p.result.ok() ? "" : ": " + p.result.error().message);
    if (p.result.ok()) {
      played_.push_back({Duration((now() - begun_).ticks() / 1'000), p.what});
    }
  }
  next_fault();
}

void ProgramInWorld::on_timer(std::uint16_t detail, std::uint64_t payload) {
  if (stopped_) return;
  switch (detail) {
    case fault_timer:
      play_faults();
      break;
    case over_timer:
      say_over();
      break;
    case end_timer:
      stop_all();
      break;
    default:
      start_anew(static_cast<std::uint32_t>(payload));
      break;
  }
}

/// A fault of a process that is not there is no error: faults are drawn without knowledge of lives.
Result<void> ProgramInWorld::kill(std::uint32_t n) {
  if (auto good = check_alive(n); !good) return good;
  ranks_[n]->kill();
  ++crashes_;
  on_death(n, code_of_killed, "was ended by signal 9 (Killed)");
  return {};
}

Result<void> ProgramInWorld::restart(std::uint32_t n) {
  if (over_[n]) {
    return make_error(ErrorCode::unavailable, "the program of rank {} is over", n);
  }
  if (ranks_[n]->alive()) {
    ranks_[n]->kill();
    ++crashes_;
  }
  ++restarts_;
  start_anew(n);
  return {};
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "jobs/ranks_jobs.hpp"
#include "process/job_options.hpp"
#include "process/joined_process.hpp"
#include "process/messenger.hpp"
#include "process/process_group.hpp"
#include "process/simulated/hosted_life.hpp"
#include "process/simulated/program_faults.hpp"
#include "process/simulated/program_in_world.hpp"
#include "runtime/clock.hpp"
#include "sim/job/job_driver.hpp"
#include "sim/job/job_placer.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/run/stuck.hpp"
#include "sim/run/world.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft {
namespace {

class SimulatedLife final : public HostedLife, public JoinedProcess, private Waiter {
 public:
  /// Rank and program outlive it. Throws std::bad_alloc when there is no memory for a stack.
  SimulatedLife(SimulatedRank& rank, std::unique_ptr<SpillMemory> spill, const Program& program,
                std::span<const std::string> arguments);
  ~SimulatedLife() override { unwind(); }

  // JoinedProcess, from inside.
  Communicator& world() override { return *world_; }
  Incarnation incarnation() const override { return rank_.incarnation(); }
  Duration elapsed() const override;
  void compute(Duration time) override;
  void phase(std::string_view name) override;
  Result<bool> may_begin() override;
  Result<void> leave() override;
  void fail(const std::string&) override {}

 private:
  // Waiter, from inside.
  Instant now() override { return look_at_clock(); }
  void busy(Instant) override { pay(least_turn); }
  void idle(Instant, Fabric&, Instant deadline) override { wait_until(deadline); }
  Result<void> news(Instant) override;
  bool is_over() const override { return shared().over; }

  int live() override;
  void begin_to_measure() override;
  std::int64_t take_computed_ns() override;

  const Program& program_;
  std::span<const std::string> arguments_;
  std::unique_ptr<SpillMemory> spill_;
  std::unique_ptr<Messenger> messenger_;
  std::unique_ptr<ProcessGroup> world_;
  Instant begun_{};
  std::int64_t measured_from_ = 0;  // ns, of the host's processor
};

/// Returns the processor time of the thread that all simulated processes share.
std::int64_t processor_time_ns() {
  return thread_processor_time().to_nanoseconds();
}

SimulatedLife::SimulatedLife(SimulatedRank& rank, std::unique_ptr<SpillMemory> spill,
                             const Program& program, std::span<const std::string> arguments)
    : HostedLife(rank), program_(program), arguments_(arguments), spill_(std::move(spill)) {}

int SimulatedLife::live() {
  JobDescription job = shared().job;
  job.self = rank_.self();
  job.incarnation = rank_.incarnation();
  Waiter& waiter = *this;
  messenger_ = std::make_unique<Messenger>(fabric(), waiter, message_options(job),
                                           outbox_room(job, *spill_));
  world_ = ProcessGroup::world(*messenger_, job.nodes);
  begun_ = now();
  return leave_with(run_in(*this, program_, arguments_), *this);
}

void SimulatedLife::begin_to_measure() {
  measured_from_ = processor_time_ns();
}

std::int64_t SimulatedLife::take_computed_ns() {
  const std::int64_t from = std::exchange(measured_from_, processor_time_ns());
  return measured_from_ - from;
}

Duration SimulatedLife::elapsed() const {
  // To look at the clock takes time, which the caller need not know of.
  return const_cast<SimulatedLife*>(this)->now() - begun_;
}

void SimulatedLife::compute(Duration time) {
  pay();
  // The measured time is part of the time that the program states.
  if (shared().scenario.programs.measure_compute || time <= Duration{}) return;
  pass(to_pico(time), times().computing);
}

void SimulatedLife::phase(std::string_view name) {
  pay();
  enter_phase(name);
}

Result<void> SimulatedLife::news(Instant) {
  if (!unwinding()) return {};
  return Error{ErrorCode::cancelled, "this process has been killed"};
}

Result<bool> SimulatedLife::may_begin() {
  if (incarnation() == Incarnation(1) || !shared().job.retain) return true;
  return messenger_->ask_to_begin();
}

Result<void> SimulatedLife::leave() {
  phase("leave");
  return messenger_->leave([this] {
    if (rank_.self() == NodeId(0)) shared().on_over();
  });
}

/// Hosts by rank, the first that are given away.
Result<std::vector<std::uint32_t>> place_ranks(const sim::World& world, std::uint32_t ranks,
                                               sim::JobPlacer& placer) {
  const sim::Scenario& scenario = world.scenario();
  const std::uint32_t each = scenario.programs.per_host;
  const std::uint32_t needed = (ranks + each - 1) / each;
  const std::uint32_t there = world.topology().hosts();
  if (needed > there) {
    return scenario.located("network.topology",
                            invalid("{} processes, {} on a host, need {} hosts, and there are {}; "
                                    "write per-host = {} in [programs], or use a larger topology",
                                    ranks, each, needed, there, (ranks + there - 1) / there));
  }
  auto hosts = placer.next(std::nullopt, "programs", needed);
  if (!hosts) return std::move(hosts).error();
  std::vector<std::uint32_t> of_ranks;
  for (std::uint32_t n = 0; n < ranks; ++n) {
    of_ranks.push_back((*hosts)[scenario.programs.in_turn ? n % needed : n / each]);
  }
  return of_ranks;
}

using Jobs = std::vector<std::unique_ptr<sim::Job>>;

/// Jobs that run beside the program, on hosts that it left.
Result<Jobs> make_jobs(sim::World& world, sim::JobPlacer& placer,
                       std::span<const sim::JobBeside> beside) {
  Jobs others;
  for (const sim::JobBeside& plan : beside) {
    auto hosts = placer.next(plan.placement, plan.key, plan.hosts);
    if (!hosts) return std::move(hosts).error();
    auto job = plan.make(world, std::move(hosts).value());
    if (!job) return std::move(job).error();
    others.push_back(std::move(job).value());
  }
  return others;
}

/// The program and the jobs beside it, until all are over.
Result<void> run_together(sim::World& world, ProgramInWorld& program, const Jobs& others) {
  if (others.empty()) return program.run();
  sim::AloneExchange alone;
  sim::JobDriver driver(world, alone, nullptr);
  driver.add(program);
  for (const auto& job : others) driver.add(*job);
  return driver.run();
}

}  // namespace

LifeMaker linked_lives(const Program& program, std::span<const std::string> arguments) {
  return [&program, arguments](SimulatedRank& rank, std::unique_ptr<SpillMemory> spill) {
    return std::make_unique<SimulatedLife>(rank, std::move(spill), program, arguments);
  };
}

Result<SimulatedOutcome> simulate_lives(const sim::Scenario& scenario, const JobDescription& job,
                                        LifeMaker make_life,
                                        const std::function<void(const std::string&)>& say,
                                        std::span<const sim::JobBeside> beside) {
  if (scenario.fabric.copied_bytes != sim::JobFabricOptions().copied_bytes) {
    return scenario.located(
        "fabric.copied-bytes",
        {ErrorCode::invalid_argument, "programs need all that they send; leave it out"});
  }
  auto world = sim::World::make(scenario);
  if (!world) return std::move(world).error();
  sim::JobPlacer placer(**world);
  auto hosts = place_ranks(**world, job.nodes, placer);
  if (!hosts) return std::move(hosts).error();
  auto faults = program_faults(**world, *hosts);
  if (!faults) return std::move(faults).error();
  ProgramInWorld running(**world, std::move(hosts).value(), job, std::move(make_life), say);
  // They live as long as the network: their last messages arrive when all is over.
  const auto others = make_jobs(**world, placer, beside);
  if (!others) return others.error();
  running.begin(std::move(faults).value());
  if (auto good = run_together(**world, running, *others); !good) return std::move(good).error();
  for (std::size_t i = 0; i < others->size(); ++i) beside[i].on_concluded(*(*others)[i]);
  SimulatedOutcome outcome = running.outcome();
  outcome.report.packet_hops = (*world)->network().packet_hops();
  sim::AloneExchange alone;
  if (auto good = sim::check_rest(**world, alone); !good) return std::move(good).error();
  return outcome;
}

static Result<int> run_job(JobInvitation invitation, LifeMaker make_life) {
  const JobDescription& job = invitation.job;
  set_up_log_of_program("simulation");
  auto scenario = sim::read_fabric_scenario(job.fabric.substr(simulation_prefix.size()));
  if (!scenario) return std::move(scenario).error();
  if (job.seed) scenario->seed = *job.seed;
  if (!job.faults) {
    scenario->faults.clear();
    scenario->random_faults = {};
    scenario->programs.crashes = 0;
  }
  jobs::RanksJobs beside;
  if (auto good = beside.take_beside_program(*scenario); !good) return std::move(good).error();
  const auto say = [](const std::string& line) { fmt::print(stderr, "weft run: {}\n", line); };
  auto outcome = simulate_lives(*scenario, job, std::move(make_life), say, beside.beside());
  std::fflush(stdout);
  if (!outcome) return std::move(outcome).error();
  for (const auto& run : beside.runs()) outcome->report.jobs.push_back(beside.to_json(run));
  if (invitation.link) invitation.link->tell(launch_message::report, to_json(outcome->report));
  return outcome->code;
}

Result<int> run_lives(JobInvitation invitation, LifeMaker make_life) {
  // Of what ends without memory, some cannot be destroyed without.
  const auto before = std::set_terminate(end_by_exception);
  auto code = run_job(std::move(invitation), std::move(make_life));
  std::set_terminate(before);
  return code;
}

}  // namespace weft

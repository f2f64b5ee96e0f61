// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "jobs/ranks_jobs.hpp"
#include "process/simulated/program_faults.hpp"
#include "process/simulated/program_in_world.hpp"
#include "process/simulated/simulated_life.hpp"
#include "sim/job/job_driver.hpp"
#include "sim/job/job_placer.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/run/stuck.hpp"
#include "sim/run/world.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft {
namespace {

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

LifeMaker linked_lives(const Program& program, std::span<const std::string> arguments) {
  return [&program, arguments](SimulatedRank& rank, std::unique_ptr<SpillMemory> spill) {
    return std::make_unique<SimulatedLife>(rank, std::move(spill), program, arguments);
  };
}

}  // namespace

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

Result<SimulatedOutcome> simulate_program(const sim::Scenario& scenario, const JobDescription& job,
                                          const Program& program,
                                          std::span<const std::string> arguments,
                                          const std::function<void(const std::string&)>& say,
                                          std::span<const sim::JobBeside> beside) {
  return simulate_lives(scenario, job, linked_lives(program, arguments), say, beside);
}

Result<int> run_simulated(JobInvitation invitation, const Program& program,
                          std::span<const std::string> arguments) {
  return run_lives(std::move(invitation), linked_lives(program, arguments));
}

Result<int> run_lives(JobInvitation invitation, LifeMaker make_life) {
  const JobDescription& job = invitation.job;
  const char* level = std::getenv("WEFT_LOG");
  set_up_log(level != nullptr ? level : "error", "simulation");
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

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "process/simulated/program_faults.hpp"
#include "process/simulated/program_in_world.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/run/stuck.hpp"
#include "sim/run/world.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft {
namespace {

/// Hosts by rank.
Result<std::vector<std::uint32_t>> place_ranks(const sim::World& world, std::uint32_t ranks) {
  const sim::Scenario& scenario = world.scenario();
  const std::uint32_t each = scenario.programs.per_host;
  const std::uint32_t needed = (ranks + each - 1) / each;
  const std::uint32_t there = world.topology().hosts();
  if (needed > there) {
    return scenario.located(
        "network.topology",
        {ErrorCode::invalid_argument,
         fmt::format("{} processes, {} on a host, need {} hosts, and there are {}; write "
                     "per-host = {} in [programs], or use a larger topology",
                     ranks, each, needed, there, (ranks + there - 1) / there)});
  }
  auto hosts = sim::place(scenario.placement, world.topology(), needed);
  if (!hosts) return scenario.located("network.topology", hosts.error());
  std::vector<std::uint32_t> of_ranks;
  for (std::uint32_t n = 0; n < ranks; ++n) {
    of_ranks.push_back((*hosts)[scenario.programs.in_turn ? n % needed : n / each]);
  }
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
  ProgramInWorld simulation(**world, std::move(hosts).value(), job, program, arguments, say);
  auto outcome = simulation.run(std::move(faults).value());
  if (!outcome) return outcome;
  outcome->report.packet_hops = (*world)->network().packet_hops();
  sim::AloneExchange alone;
  if (auto good = sim::check_rest(**world, alone); !good) return std::move(good).error();
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

// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/program_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rng.hpp"
#include "sim/faults/network_faults.hpp"
#include "sim/faults/random_faults.hpp"

namespace weft {

namespace {

/// The next rank on the same host; the same one if it has that to itself.
std::uint32_t next_on_host(std::span<const std::uint32_t> hosts, std::uint32_t rank) {
  const std::size_t ranks = hosts.size();
  std::size_t next = (rank + 1) % ranks;
  while (hosts[next] != hosts[rank]) next = (next + 1) % ranks;
  return static_cast<std::uint32_t>(next);
}

}  // namespace

std::vector<faults::Fault> draw_crashes(const sim::Scenario& scenario,
                                        std::span<const std::uint32_t> hosts) {
  using faults::Fault;
  const sim::ProgramOptions& options = scenario.programs;
  std::vector<Fault> crashes;
  if (options.crashes == 0) return crashes;
  Rng rng = Rng(scenario.seed).split(0xdead);
  const auto within = [&rng](Duration time) {
    return Duration(static_cast<std::int64_t>(
        rng.below(static_cast<std::uint64_t>(std::max<std::int64_t>(time.ticks(), 1)))));
  };
  const std::uint64_t count = 1 + rng.below(options.crashes);
  while (crashes.size() < count) {
    Fault crash{.kind = Fault::Kind::kill,
                .at = within(options.crash_within),
                .host = static_cast<std::uint32_t>(rng.below(hosts.size()))};
    const std::uint64_t kinds = options.per_host > 1 ? 5 : 4;
    const std::uint64_t kind = crashes.empty() ? 0 : rng.below(kinds);
    if (kind == 1) {
      crash.at = crashes.back().at;  // with the one before
    } else if (kind == 2) {
      // the same one again, while its next life begins
      crash.host = crashes.back().host;
      crash.at = crashes.back().at + options.restart_after + within(options.restart_after);
    } else if (kind == 3) {
      // another one, while that one is away or catches up
      crash.at = crashes.back().at + within(options.restart_after * 2);
    } else if (kind == 4) {
      // the host as a whole, as far as there are crashes left
      crash.at = crashes.back().at;
      crash.host = next_on_host(hosts, crashes.back().host);
    }
    crashes.push_back(crash);
  }
  return crashes;
}

Result<std::vector<faults::Fault>> program_faults(sim::World& world,
                                                  std::span<const std::uint32_t> hosts) {
  const sim::Scenario& scenario = world.scenario();
  const auto ranks = static_cast<std::uint32_t>(hosts.size());
  std::vector<faults::Fault> faults = sim::draw_random_faults(scenario, ranks, 0);
  for (faults::Fault& crash : draw_crashes(scenario, hosts)) faults.push_back(std::move(crash));
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    auto fault =
        faults::parse_fault(scenario.faults[i], ranks, faults::FaultPlaces::hosts_and_cables);
    Result<void> good = fault ? sim::check_fault(world, *fault, hosts) : fault.error();
    if (!good) return scenario.located(fmt::format("faults[{}]", i), good.error());
    faults.push_back(std::move(fault).value());
  }
  for (const faults::Fault& fault : faults) {
    if (fault.kind == faults::Fault::Kind::slow) world.expect_rates_up_to(fault.rate);
  }
  return faults;
}

}  // namespace weft

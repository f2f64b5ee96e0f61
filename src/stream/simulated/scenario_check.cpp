// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/scenario_check.hpp"

#include <utility>

#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft::stream {
namespace {

Result<void> check_sinks(const sim::Scenario& scenario, const StreamOptions& options) {
  for (const std::string& sink : options.sinks) {
    if (sink.starts_with("shm:")) {
      return invalid(
          "--sink {}: consumers live in real time; simulate with check:, tsa:, file:, "
          "exec: or null:",
          sink);
    }
    if (!sink.starts_with("null:") && scenario.fabric.copied_bytes != ~std::uint64_t{0}) {
      return invalid(
          "--sink {}: it reads contents, of which the scenario copies {} bytes of each "
          "write; leave out copied-bytes in [fabric]",
          sink, scenario.fabric.copied_bytes);
    }
  }
  return {};
}

/// Simulated times are counted in picoseconds: 106 days fit, of sums and small multiples less.
Result<void> check_times(const StreamOptions& options) {
  constexpr Duration longest = Duration::seconds(10 * 86'400);
  const std::pair<const char*, Duration> times[] = {
      {"--duration", options.duration},           {"--sample-every", options.sample_every},
      {"--start-timeout", options.start_timeout}, {"--peer-timeout", options.peer_timeout},
      {"--stall-timeout", options.stall_timeout}, {"--give-up-after", options.give_up_after},
      {"--late-after", options.late_after},
  };
  for (const auto& [name, time] : times) {
    // Longer than any that can be written: never.
    if (time > longest && time < Duration::max() / 2) {
      return invalid("{}: {} is too long for a simulation; write ten days or less", name,
                     to_text(time));
    }
  }
  return {};
}

}  // namespace

Result<void> check_in_scenario(const sim::Scenario& scenario, const StreamOptions& options,
                               const LocalOptions& local) {
  if (options.link) {
    return invalid(
        "--link: a simulation has the links of its scenario; set host-link in [network]");
  }
  if (local.testbed) {
    return invalid("--testbed: a simulation has a network of its own; leave one of the two out");
  }
  if (!local.metrics.empty()) {
    return invalid("--metrics: a simulation is over before anybody could ask; use --out");
  }
  if (auto good = check_times(options); !good) return good;
  return check_sinks(scenario, options);
}

}  // namespace weft::stream

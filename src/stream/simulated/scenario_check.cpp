// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/scenario_check.hpp"

#include <fmt/format.h>

namespace weft::stream {
namespace {

template <class... Args>
Error wrong(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::invalid_argument, fmt::format(format, std::forward<Args>(args)...)};
}

Result<void> check_sinks(const sim::Scenario& scenario, const StreamOptions& options) {
  for (const std::string& sink : options.sinks) {
    if (sink.starts_with("shm:")) {
      return wrong(
          "--sink {}: consumers live in real time; simulate with check:, tsa:, file:, "
          "exec: or null:",
          sink);
    }
    if (!sink.starts_with("null:") && scenario.fabric.copied_bytes != ~std::uint64_t{0}) {
      return wrong(
          "--sink {}: it reads contents, of which the scenario copies {} bytes of each "
          "write; leave out copied-bytes in [fabric]",
          sink, scenario.fabric.copied_bytes);
    }
  }
  return {};
}

}  // namespace

Result<void> check_in_scenario(const sim::Scenario& scenario, const StreamOptions& options,
                               const LocalOptions& local) {
  if (options.link) {
    return wrong("--link: a simulation has the links of its scenario; set host-link in [network]");
  }
  if (local.testbed) {
    return wrong("--testbed: a simulation has a network of its own; leave one of the two out");
  }
  if (!local.metrics.empty()) {
    return wrong("--metrics: a simulation is over before anybody could ask; use --out");
  }
  return check_sinks(scenario, options);
}

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/dfs.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/schedule/dfs/distributed_deterministic_engine.hpp"
#include "core/schedule/dfs/input_engine.hpp"

namespace weft::schedule {

namespace {

/// An option of the schedule dfs, by its name on the command line if it has one there.
struct Range {
  std::string_view option;
  double value;
  double low;
  double high;
};

}  // namespace

Result<void> check_dfs_options(const DfsOptions& o) {
  const Range ranges[] = {
      {"--timeslices-per-interval", static_cast<double>(o.timeslices_per_interval), 1, 10'000'000},
      {"--history", static_cast<double>(o.history_length), 1, 1'000},
      {"--speed-up-threshold", o.speed_up_threshold_percent, 0, 1'000},
      {"--speed-up", o.speed_up_percent, 0, 90},
      {"--acknowledgement-threshold", o.acknowledgement_threshold_percent, 0, 100},
      {"--request-distance", static_cast<double>(o.request_distance), 2, 1'000},
      {"one_way_latency_percent", o.one_way_latency_percent, 0, 100},
      {"drift_limit_ppm", static_cast<double>(o.drift_limit_ppm), 1, 100'000},
      {"offset_history", static_cast<double>(o.offset_history), 1, 1'000},
      {"best_effort_lookahead", static_cast<double>(o.best_effort_lookahead), 1, 1'000'000},
      {"pending_intervals", static_cast<double>(o.pending_intervals), 4, 1'024},
      {"start_wait_limit", static_cast<double>(o.start_wait_limit), 1, 1'000},
  };
  for (const Range& r : ranges) {
    // Written so that NaN is refused too.
    if (r.value >= r.low && r.value <= r.high) continue;
    return Error{ErrorCode::invalid_argument, fmt::format("{} {}: schedule dfs takes {} to {}",
                                                          r.option, r.value, r.low, r.high)};
  }
  return {};
}

std::unique_ptr<InputSchedule> make_dfs_input(const DfsOptions& options, std::uint32_t input,
                                              std::uint32_t inputs, std::uint32_t computes_max) {
  WEFT_CHECK(input < inputs, "input {} of {}", input, inputs);
  return std::make_unique<dfs::InputEngine>(options, input, computes_max);
}

std::unique_ptr<ComputeSchedule> make_dfs_compute(const DfsOptions& options, std::uint32_t compute,
                                                  std::uint32_t inputs, bool restarted) {
  (void)compute;  // the grid says which index the node has
  return std::make_unique<dfs::DistributedDeterministicEngine>(options, inputs, restarted);
}

}  // namespace weft::schedule

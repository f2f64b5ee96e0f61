// SPDX-License-Identifier: Apache-2.0
#include "stream/node/schedules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include <algorithm>

#include "base/make_error.hpp"
#include "core/schedule/dfs/dfs.hpp"
#include "core/schedule/grant.hpp"
#include "core/schedule/in_order.hpp"

namespace weft::stream {
namespace {

schedule::DfsOptions dfs_options(const StreamOptions& options) {
  schedule::DfsOptions dfs;
  dfs.timeslices_per_interval = options.dfs.timeslices_per_interval;
  dfs.history_length = options.dfs.history_length;
  dfs.speed_up_threshold_percent = options.dfs.speed_up_threshold_percent;
  dfs.speed_up_percent = options.dfs.speed_up_percent;
  dfs.acknowledgement_threshold_percent = options.dfs.acknowledgement_threshold_percent;
  dfs.engines = options.dfs.engines;
  dfs.request_distance = options.dfs.request_distance;
  return dfs;
}

/// No ring holds more rounds. Credit keeps input nodes from sending more than it does hold.
std::uint64_t first_rounds(const StreamOptions& options) {
  return options.grant.begins_full ? std::min(options.descriptors, options.grant.max_in_flight) : 1;
}

schedule::GrantOptions grant_options(const StreamOptions& options) {
  const std::uint64_t most =
      std::min<std::uint64_t>(std::uint64_t{options.grant.max_in_flight} * options.inputs, 1 << 20);
  return {.min_in_flight = options.grant.min_in_flight,
          .max_in_flight = static_cast<std::uint32_t>(most),
          .begins_full = options.grant.begins_full,
          .first_rounds = first_rounds(options),
          .pair_bytes = options.buffer.value(),
          .pair_descriptors = options.descriptors,
          .late_factor = options.grant.late_factor,
          .open_timeslices = options.grant.open_timeslices};
}

}  // namespace

std::span<const std::string_view> schedule_names() {
  static constexpr std::array<std::string_view, 4> names{"best-effort", "offset", "dfs", "grant"};
  return names;
}

Result<void> check_schedule(const StreamOptions& options) {
  const std::string& name = options.schedule;
  if (name == "dfs") {
    if (options.dfs.engines > options.computes) {
      return invalid(
          "--engines {}: each needs a compute node, and --computes is {}; use at most {}",
          options.dfs.engines, options.computes, options.computes);
    }
    return schedule::check_dfs_options(dfs_options(options));
  }
  if (name == "best-effort" || name == "offset") return {};
  if (name != "grant") {
    return invalid("--schedule: '{}' is none of {}", name, fmt::join(schedule_names(), ", "));
  }
  const GrantParameters& g = options.grant;
  if (g.min_in_flight == 0 || g.max_in_flight < g.min_in_flight) {
    return invalid(
        "--grant-min-in-flight {} must be at least 1 and at most --grant-max-in-flight {}",
        g.min_in_flight, g.max_in_flight);
  }
  if (g.late_factor == 0 || g.open_timeslices == 0) {
    return invalid("--grant-{} 0: must be at least 1",
                   g.late_factor == 0 ? "late-factor" : "open-timeslices");
  }
  return {};
}

std::unique_ptr<schedule::InputSchedule> make_input_schedule(const StreamOptions& options,
                                                             std::uint32_t input) {
  if (options.schedule == "dfs") {
    return schedule::make_dfs_input(dfs_options(options), input, options.inputs, options.computes);
  }
  if (options.schedule == "grant") {
    return schedule::make_grant_input(input, options.computes, first_rounds(options));
  }
  if (options.schedule == "offset") return schedule::make_offset_input(input);
  return schedule::make_best_effort_input();
}

std::unique_ptr<schedule::ComputeSchedule> make_compute_schedule(const StreamOptions& options,
                                                                 std::uint32_t compute,
                                                                 bool restarted) {
  if (options.schedule == "dfs") {
    return schedule::make_dfs_compute(dfs_options(options), compute, options.inputs, restarted);
  }
  if (options.schedule == "grant") {
    return schedule::make_grant_compute(grant_options(options), options.inputs);
  }
  return std::make_unique<schedule::SilentComputeSchedule>();
}

}  // namespace weft::stream

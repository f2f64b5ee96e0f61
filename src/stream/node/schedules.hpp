// SPDX-License-Identifier: Apache-2.0
// The schedules by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/schedule/schedule.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// The names of all schedules.
std::span<const std::string_view> schedule_names();
/// Checks whether `options.schedule` is known and its parameters are possible.
Result<void> check_schedule(const StreamOptions& options);
/// Make the parts of a checked schedule.
std::unique_ptr<schedule::InputSchedule> make_input_schedule(const StreamOptions& options,
                                                             std::uint32_t input);
std::unique_ptr<schedule::ComputeSchedule> make_compute_schedule(const StreamOptions& options,
                                                                 std::uint32_t compute,
                                                                 bool restarted);

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// The counts of every sink.
#pragma once

#include <string>

#include "weft/sink.hpp"

namespace weft {

/// Adds a timeslice, its bytes, and whether it is incomplete or repeated.
inline void count_timeslice(SinkSummary& summary, const TimesliceView& timeslice) {
  constexpr std::uint32_t incomplete = bit(TimesliceFlag::missing_microslices) |
                                       bit(TimesliceFlag::missing_components) |
                                       bit(TimesliceFlag::missing_subtimeslices);
  ++summary.timeslices;
  for (const ComponentView& component : timeslice.components) {
    summary.bytes += component.data.size();
  }
  if ((timeslice.flags & incomplete) != 0) ++summary.incomplete;
  if ((timeslice.flags & bit(TimesliceFlag::repeated)) != 0) ++summary.repeated;
}

/// Counts an error and keeps the first one's text.
inline void count_error(SinkSummary& summary, std::string text) {
  if (summary.errors++ == 0) summary.first_error = std::move(text);
}

}  // namespace weft

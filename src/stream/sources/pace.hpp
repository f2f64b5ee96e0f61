// SPDX-License-Identifier: Apache-2.0
// How fast a source goes: as fast as there is room, at the speed its microslices were recorded at,
// at a multiple of that, or at so many microslices per second.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// "max", "native", "x2.5", "100Hz" (microslices per second of each input), "1.5kHz", "2MHz".
struct Rate {
  enum class Kind : std::uint8_t { max, native, frequency };
  Kind kind = Kind::max;
  double value = 1;  ///< native: the factor; frequency: microslices per second

  static Result<Rate> parse(std::string_view text);
};

/// Says when each microslice is due. The first call fixes the plan: a source that was held up
/// catches up, so that its rate over a long time is the requested one.
class Pace {
 public:
  explicit Pace(Rate rate) : rate_(rate) {}
  /// When the next microslice, which starts at `index`, is due; `now` for the first.
  Instant due(Instant now, std::uint64_t index);
  /// Records that the source has produced the microslice of the last `due`.
  void advance() { ++produced_; }
  /// Starts a new plan.
  void restart();

 private:
  Rate rate_;
  std::optional<Instant> start_;
  std::uint64_t first_index_ = 0;
  std::uint64_t produced_ = 0;
};

}  // namespace weft

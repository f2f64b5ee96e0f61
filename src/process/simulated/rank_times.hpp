// SPDX-License-Identifier: Apache-2.0
// RankTimes: how a simulated process has spent its time, phase by phase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/time.hpp"

namespace weft {

/// The times of one phase of one process. Plain data.
struct PhaseTimes {
  std::string name;
  PicoDuration computing{};
  PicoDuration messaging{};  ///< the processor's work for messages
  PicoDuration waiting{};
  std::uint64_t messages = 0;  ///< that it has sent, and written into others' memory
  std::uint64_t bytes = 0;     ///< of these
};

class RankTimes {
 public:
  /// `first`: the phase that it begins in.
  explicit RankTimes(std::string_view first) { enter(first); }

  /// Further time counts for this phase, which may have been there before.
  void enter(std::string_view name);
  PhaseTimes& current() { return phases_[current_]; }
  const std::vector<PhaseTimes>& phases() const { return phases_; }
  /// All phases together.
  PhaseTimes sum() const;

 private:
  std::vector<PhaseTimes> phases_;
  std::size_t current_ = 0;
};

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// LeastTimes: the least time that something of a size was seen to take. Disturbances only add to
// times, so the least is how long it takes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "emulate/policy/clock.hpp"

namespace weft::emulate {

/// By the bits of the size. Any number of threads. All zero is empty.
class LeastTimes {
 public:
  void note(std::uint64_t bytes, Picoseconds took) {
    std::atomic<Picoseconds>& least = of(bytes);
    const Picoseconds before = least.load(std::memory_order_relaxed);
    if (took > 0 && (before == 0 || took < before)) least.store(took, std::memory_order_relaxed);
  }
  /// 0: nothing of about this size was seen.
  Picoseconds least(std::uint64_t bytes) { return of(bytes).load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned kSizes = 48;
  std::atomic<Picoseconds>& of(std::uint64_t bytes) {
    return times_[std::min<unsigned>(kSizes - 1,
                                     64U - static_cast<unsigned>(__builtin_clzll(bytes | 1U)))];
  }

  std::atomic<Picoseconds> times_[kSizes]{};
};

}  // namespace weft::emulate

// SPDX-License-Identifier: Apache-2.0
// The clock that all processes of an emulated run share: the processor's time stamp counter, in
// picoseconds since the run was made. It costs a few nanoseconds and is one for all cores of a
// host.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <time.h>
#endif

namespace weft::emulate {

/// Time of a run, in picoseconds since its start; 106 days fit.
using Picoseconds = std::int64_t;

inline std::uint64_t read_ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

/// From ticks to picoseconds. Plain data in shared memory.
struct Clock {
  std::uint64_t start = 0;        ///< ticks at time 0
  std::uint64_t ps_per_tick = 0;  ///< times 2³²

  Picoseconds at(std::uint64_t ticks) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<Picoseconds>((Wide{ticks - start} * ps_per_tick) >> 32U);
  }
  Picoseconds now() const { return at(read_ticks()); }
};

}  // namespace weft::emulate

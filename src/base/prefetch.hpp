// SPDX-License-Identifier: Apache-2.0
// Asking for a cache line before it is needed.
#pragma once

namespace weft {

/// Asks for the line at `place` to write to it: other processors lose their copies at once, and the
/// store does not wait for that. A compiler that may not assume the instruction reads the line
/// instead, which leaves the copies, so that the store waits all the same. Every x86-64 processor
/// executes or ignores it.
inline void prefetch_for_write(void* place) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<char*>(place)));
#else
  __builtin_prefetch(place, 1);
#endif
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// What software can do about the pitfalls (paper 2, Section IX-A), each on its own switch.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::rdma {

/// Longer than a page fault and the wait after the shortest RNR NAK take together.
constexpr Duration dummy_after = Duration::microseconds(600);
constexpr Duration reissue_after = Duration::milliseconds(2);
constexpr std::uint32_t bound_per_page = 2;

struct Avoidance {
  /// The server's RNR NAKs ask for the shortest wait, 0.01 ms, whatever else was set.
  bool smallest_rnr_delay = false;
  /// A READ of one byte behind requests that got no answer for this long, again and again: it draws
  /// a NAK for what was lost. Zero: none.
  Duration dummy_after;
  /// A request without an answer for this long is issued again, on a queue pair kept for that.
  /// Zero: never.
  Duration reissue_after;
  /// Buffers are prefetched on both sides before the first operation (ibv_advise_mr).
  bool prefetch = false;
  /// At most so many queue pairs have a request to one page at a time. Zero: no bound.
  std::uint32_t queue_pairs_per_page = 0;

  bool any() const {
    return smallest_rnr_delay || dummy_after > Duration() || reissue_after > Duration() ||
           prefetch || queue_pairs_per_page > 0;
  }
};

}  // namespace weft::rdma

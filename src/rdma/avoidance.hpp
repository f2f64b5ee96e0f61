// SPDX-License-Identifier: Apache-2.0
// The means of software against the pitfalls (paper 2, Section IX-A), each on its own switch.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::rdma {

/// Longer than a page fault and the wait after the shortest RNR NAK take together; and as long as
/// the wait after an RNR NAK of 1.28 ms, so that a stall costs no more than twice that wait.
constexpr Duration dummy_after = Duration::microseconds(600);
constexpr Duration reissue_after = Duration::microseconds(4'500);
constexpr std::uint32_t bound_per_page = 2;
/// The longer time that a healthy request may take for each of its pages, and for each byte that
/// was posted and is not complete.
constexpr Duration slowest_page = Duration::milliseconds(1);
constexpr Duration slowest_byte = Duration::nanoseconds(1);

struct Avoidance {
  /// The server's RNR NAKs ask for the shortest wait, 0.01 ms; this overrides other settings.
  bool smallest_rnr_delay = false;
  /// A WRITE of no bytes on a queue pair that has made no progress for this long, and again after
  /// four times the time before: it touches no memory, and draws a NAK for lost requests. 0: none.
  Duration dummy_after;
  /// The oldest request of a queue pair that has made no progress for this long is issued again, on
  /// a queue pair kept for that. Zero: never.
  Duration reissue_after;
  /// Buffers are prefetched on both sides before the first operation (ibv_advise_mr).
  bool prefetch = false;
  /// At most so many queue pairs have a request at a time to a page of the client's paged memory on
  /// which none has completed yet. Zero: no bound.
  std::uint32_t queue_pairs_per_page = 0;

  bool any() const {
    return smallest_rnr_delay || dummy_after > Duration() || reissue_after > Duration() ||
           prefetch || queue_pairs_per_page > 0;
  }
};

}  // namespace weft::rdma

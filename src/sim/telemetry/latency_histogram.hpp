// SPDX-License-Identifier: Apache-2.0
// LatencyHistogram: how many times were how long, in buckets that grow with the time: for latencies
// of messages and completion times of flows, which span nanoseconds to seconds.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/time.hpp"

namespace weft::sim {

struct LatencyHistogram {
  /// Each power of two has so many buckets of equal width: a time is known to within 6 %.
  static constexpr std::size_t per_octave = 16;

  /// Bucket b counts times from `lower(b)` on, below `lower(b + 1)`.
  std::vector<std::uint64_t> buckets = std::vector<std::uint64_t>(60 * per_octave, 0);
  std::uint64_t count = 0;
  std::uint64_t sum_ps = 0;

  /// Below 0 counts as 0.
  void add(PicoDuration time) {
    const std::uint64_t ps = time.ticks() > 0 ? static_cast<std::uint64_t>(time.ticks()) : 0;
    ++buckets[bucket_of(ps)];
    ++count;
    sum_ps += ps;
  }
  void add(const LatencyHistogram& other) {
    for (std::size_t b = 0; b < buckets.size(); ++b) buckets[b] += other.buckets[b];
    count += other.count;
    sum_ps += other.sum_ps;
  }
  /// The lower end of the bucket in which the share `q` (0 … 1) of all lies, in nanoseconds; 0 when
  /// there is none.
  double quantile_ns(double q) const {
    const double rank = q * static_cast<double>(count);
    std::uint64_t below = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      below += buckets[b];
      if (below > 0 && static_cast<double>(below) >= rank) {
        return static_cast<double>(lower(b).ticks()) / 1e3;
      }
    }
    return 0;
  }
  double mean_ns() const {
    return count == 0 ? 0 : static_cast<double>(sum_ps) / static_cast<double>(count) / 1e3;
  }

  static std::size_t bucket_of(std::uint64_t ps) {
    if (ps < per_octave) return ps;
    const int shift = std::bit_width(ps) - std::bit_width(per_octave);
    return static_cast<std::size_t>(shift) * per_octave + (ps >> shift);
  }
  static PicoDuration lower(std::size_t bucket) {
    if (bucket < per_octave) return PicoDuration(static_cast<std::int64_t>(bucket));
    const std::size_t shift = bucket / per_octave - 1;
    return PicoDuration(static_cast<std::int64_t>((per_octave + bucket % per_octave) << shift));
  }
};

}  // namespace weft::sim

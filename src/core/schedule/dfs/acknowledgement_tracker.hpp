// SPDX-License-Identifier: Apache-2.0
// An input engine's conclusions from acknowledgements (paper 1, III.C): when the next interval may
// start (theta), when an interval is over, and the median latency to every engine (medlat).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// An interval whose last acknowledgement has come.
struct CompletedInterval {
  IntervalId id{};
  Instant start{};      ///< tm_j
  Instant end{};        ///< of the last acknowledgement
  Duration proposed{};  ///< durp_j followed, zero without
};

/// Follows a few intervals at a time; an interval's place is free again when it was dismissed.
class AcknowledgementTracker {
 public:
  /// `max_samples`: at least engines × rounds of every grid.
  AcknowledgementTracker(std::size_t max_samples, double threshold_percent);

  /// A new grid: latencies to the first `engines` compute nodes are kept, one per round.
  void reset(std::uint32_t engines, std::uint32_t rounds);

  /// The interval's first contribution goes out at `start`.
  void open(IntervalId id, Instant start, Duration proposed);
  /// Its last one did: `expected` acknowledgements make it complete. One that left out
  /// contributions (`whole` false) says nothing about durations and is not reported.
  void all_started(IntervalId id, std::uint64_t expected, bool whole);
  void acknowledged(Instant now, IntervalId id, std::uint32_t compute, Duration latency);

  /// Returns whether theta lets interval `next` start, and there is a place for it.
  bool may_start(IntervalId next) const;

  /// The completed interval with the lowest id, or nullptr.
  const CompletedInterval* completed() const;
  /// medlat of a completed interval to `engine`: half of the acknowledgements were faster. Zero
  /// when there were none.
  Duration median_latency(IntervalId id, std::uint32_t engine);
  /// The completed interval was reported to everybody.
  void dismiss(IntervalId id);

 private:
  enum class Phase : std::uint8_t { free, open, complete };
  struct Slot {
    Phase phase = Phase::free;
    CompletedInterval interval;
    bool all_started = false;
    bool whole = true;
    std::uint64_t expected = 0;
    std::uint64_t acknowledged = 0;
    std::vector<std::int64_t> samples;         // rounds per engine
    std::vector<std::uint32_t> sample_counts;  // per engine
  };

  // The one being sent, the one before it, and two whose last acknowledgements are missing.
  static constexpr std::size_t slots = 4;

  Slot& slot(IntervalId id) { return slots_[id.value() % slots]; }
  const Slot& slot(IntervalId id) const { return slots_[id.value() % slots]; }
  void complete_if_over(Slot& s);

  std::int64_t threshold_;  // basis points
  std::uint32_t engines_ = 0;
  std::uint32_t rounds_ = 1;
  std::vector<Slot> slots_;
};

}  // namespace weft::schedule::dfs

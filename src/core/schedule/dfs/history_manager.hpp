// SPDX-License-Identifier: Apache-2.0
// The History Manager of an engine (paper 1, III.B.1): collects the inputs' reports of an interval,
// unifies it when all have reported, and keeps the latest unified intervals.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// Actual meta-data of an interval from one input, on the engine's clock.
struct IntervalMeta {
  IntervalId id{};
  Instant start{};
  Duration duration{};
  Duration proposed{};  ///< zero when the input followed no proposal
};

/// An interval as all its inputs together saw it.
struct UnifiedInterval {
  IntervalId id{};
  Instant average_start{};     ///< avg_tm_j
  Duration median_duration{};  ///< med_dur_m_j
  Duration median_proposed{};  ///< durp_j; zero when no input had a proposal
  std::uint32_t inputs = 0;    ///< how many reported
};

/// Collects at most `window` intervals at a time; memory is inputs × window, set at construction.
class HistoryManager {
 public:
  /// All inputs are expected until `set_live` says otherwise.
  HistoryManager(std::uint32_t inputs, std::uint32_t length, std::uint32_t window);

  /// Takes a report; returns how many intervals it completed. Reports of intervals not after the
  /// last completed one change nothing.
  std::uint32_t record(std::uint32_t input, const IntervalMeta& meta);
  /// III.D: an input that is gone is not waited for; returns how many intervals that completed.
  std::uint32_t set_live(std::uint32_t input, bool live);
  bool is_live(std::uint32_t input) const { return live_[input] != 0; }

  /// Drops intervals not yet completed (a new grid).
  void forget_pending();
  /// Drops everything.
  void clear();

  /// Completed intervals kept: at most `length`.
  std::uint32_t size() const;
  bool full() const { return size() == length_; }
  /// The n-th latest completed interval, n < size(); 0 is the last one, w in the paper.
  const UnifiedInterval& latest(std::uint32_t n = 0) const;

 private:
  struct Pending {
    bool used = false;
    IntervalId id{};
    std::uint32_t reported = 0;  // by inputs that are live
  };
  struct Entry {
    bool present = false;
    IntervalMeta meta;
  };

  Entry& entry(std::uint32_t slot, std::uint32_t input) {
    return entries_[std::size_t{slot} * live_.size() + input];
  }
  std::uint32_t lowest_pending() const;
  std::uint32_t make_room_for(IntervalId id);
  std::uint32_t complete_ready();
  void complete(std::uint32_t slot);
  UnifiedInterval unify(std::uint32_t slot);
  Duration median_of_scratch();

  std::uint32_t length_;
  std::vector<std::uint8_t> live_;
  std::uint32_t live_count_;
  std::vector<Pending> pending_;
  std::vector<Entry> entries_;              // window × inputs
  std::vector<UnifiedInterval> completed_;  // a ring
  std::uint64_t completions_ = 0;
  std::vector<std::int64_t> scratch_;
};

}  // namespace weft::schedule::dfs

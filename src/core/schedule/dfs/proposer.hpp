// SPDX-License-Identifier: Apache-2.0
// The Proposer of an engine (paper 1, III.B.2): when an upcoming interval should start and how long
// it should take.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/dfs/arithmetic.hpp"
#include "core/schedule/dfs/dfs.hpp"
#include "core/schedule/dfs/history_manager.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// How far the measured durations of the history were from the proposed ones (Eq. 1).
struct Deviation {
  std::uint32_t intervals = 0;  ///< of the history that had a proposal; the divisor of both sums
  Duration mean{};              ///< µ: of |durm − durp|
  Wide variance = 0;            ///< VAR, square nanoseconds
};

/// The prediction of all future intervals from the history at one moment.
class Plan {
 public:
  Plan() = default;
  Plan(IntervalId last, Instant last_end, Duration spacing, Duration duration)
      : last_(last), last_end_(last_end), spacing_(spacing), duration_(duration) {}

  /// tp_j = (tm_w + durm_w) + (j − w − 1) · med_dur_m_hist, for j > w; on the engine's clock.
  Instant start_of(IntervalId j) const {
    const auto between = static_cast<std::int64_t>(j.value() - last_.value() - 1);
    return last_end_ + spacing_ * between;
  }
  /// w, the last completed interval.
  IntervalId last() const { return last_; }
  /// med_dur_m_hist.
  Duration spacing() const { return spacing_; }
  /// durp_j, the same for every j.
  Duration duration() const { return duration_; }

 private:
  IntervalId last_{};
  Instant last_end_{};
  Duration spacing_{};
  Duration duration_{};
};

class Proposer {
 public:
  explicit Proposer(const DfsOptions& options);

  /// The plan that follows from a history with at least one interval.
  Plan plan(const HistoryManager& history);
  /// med_dur_m_hist: median of the durations in the history.
  Duration median_duration(const HistoryManager& history);
  /// µ and VAR of Eq. 1.
  static Deviation deviation(const HistoryManager& history);
  /// The condition of Eq. 1: √VAR ≤ ssu_TH percent of `median_duration`, on at least one interval.
  bool may_speed_up(const Deviation& deviation, Duration median_duration) const;

 private:
  std::int64_t threshold_;  // basis points
  std::int64_t speed_up_;   // basis points
  std::vector<std::int64_t> scratch_;
};

}  // namespace weft::schedule::dfs

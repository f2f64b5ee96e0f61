// SPDX-License-Identifier: Apache-2.0
// The Clock Synchronizer of an engine (paper 1, III.B.3): how each input's clock relates to the
// engine's own, from the reports that arrive anyway.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// Per input: offset (Eq. 2), drift (Eq. 3), and instants from one clock to the other. Offsets are
/// "engine's clock minus input's clock". Inputs are independent of each other.
class ClockSynchronizer {
 public:
  /// `history`: drifts that the median of Eq. 3 is taken over. `offsets`: latest offsets whose
  /// median is used. Drifts are cut off at ± `drift_limit_ppm`.
  ClockSynchronizer(std::uint32_t inputs, std::uint32_t history, std::uint32_t offsets,
                    std::uint32_t drift_limit_ppm);

  /// Section IV: input and engine left the barrier at the same moment, each saw its own time. Used
  /// until the first `record`; it says nothing about drift.
  void set_initial(std::uint32_t input, Instant input_time, Instant engine_time);
  /// Eqs. 2 and 3: the report of an interval that ended at `interval_end` on the input's clock
  /// arrived at `received` on the engine's, having travelled for `latency`.
  void record(std::uint32_t input, Instant received, Instant interval_end, Duration latency);
  /// The input is gone; another process with another clock may take its place.
  void forget(std::uint32_t input);

  /// toffset_{i,j} of the latest report, as Eq. 2 says; the initial offset before; else zero.
  Duration latest_offset(std::uint32_t input) const;
  /// drift_i of Eq. 3 in parts per billion: how much faster the engine's clock runs.
  std::int64_t drift_ppb(std::uint32_t input) const { return clocks_[input].drift_ppb; }

  Instant to_engine(std::uint32_t input, Instant input_time) const;
  Instant to_input(std::uint32_t input, Instant engine_time) const;

 private:
  struct Sample {
    Instant end;                 // tmend on the input's clock
    Duration offset;             // Eq. 2
    std::int64_t drift_ppb = 0;  // since the sample before; unset in the first
  };
  struct Clock {
    Instant reference{};  // on the input's clock
    Duration offset{};    // at the reference, by the median
    std::int64_t drift_ppb = 0;
    std::uint64_t samples = 0;  // ever recorded
  };

  Sample& sample(std::uint32_t input, std::uint64_t number);
  const Sample& sample(std::uint32_t input, std::uint64_t number) const;
  void estimate_drift(std::uint32_t input);
  void estimate_offset(std::uint32_t input);

  std::uint32_t history_;
  std::uint32_t offsets_;
  std::uint32_t kept_;  // samples per input
  std::int64_t drift_limit_ppb_;
  std::vector<Clock> clocks_;
  std::vector<Sample> samples_;  // kept_ per input, a ring each
  std::vector<std::int64_t> scratch_;
};

}  // namespace weft::schedule::dfs

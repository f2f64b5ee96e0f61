// SPDX-License-Identifier: Apache-2.0
// The Data-Flow Scheduler of paper 1, section III: options and factories. docs/dfs.md tells the
// algorithm, where each equation lives, and how sentences that can be read in two ways were read.
#pragma once

#include <cstdint>
#include <memory>

#include "core/schedule/schedule.hpp"
#include "weft/result.hpp"

namespace weft::schedule {

/// Every parameter of Table I and every constant of this implementation. All nodes of a job must
/// have the same options.
struct DfsOptions {
  /// Table I, ts_per_intvl: timeslices per interval; an interval is max(1, this / computes) rounds.
  std::uint32_t timeslices_per_interval = 10'000;
  /// Table I, hist_cnt: completed intervals that medians and the variance look back on. 1 … 1000.
  std::uint32_t history_length = 10;
  /// Table I, ssu_TH: an interval is sped up when the standard deviation of |measured − proposed|
  /// is at most this percentage of the median duration (Eq. 1). In steps of 0.01.
  double speed_up_threshold_percent = 10.0;
  /// Table I, ssu_pct: by how much the proposed duration is shortened. 0 switches it off. Steps of
  /// 0.01.
  double speed_up_percent = 5.0;

  /// III.C, theta: percentage of an interval's acknowledgements that must be there before the next
  /// interval starts. The paper gives no number; the default is 100 − speed_up_percent, so that
  /// contributions that a speed-up sends ahead of the network do not hold up the next interval, but
  /// more do.
  double acknowledgement_threshold_percent = 95.0;
  /// III.D: the engines run on the first this many compute nodes; 0 means on all of them.
  std::uint32_t engines = 0;
  /// III.C, k ≥ j + 2: a report of interval j asks for the proposal of j + this. At least 2.
  std::uint32_t request_distance = 2;

  /// Eq. 2 needs the one-way latency, an acknowledgement measures there and back: the percentage
  /// of it that counts as one way.
  double one_way_latency_percent = 50.0;
  /// Eq. 3: drifts beyond this are delays of messages, not clocks, and are cut off. 1 … 100'000.
  std::uint32_t drift_limit_ppm = 500;
  /// The offset in use is the median of this many latest ones (Eq. 2); 1 uses the latest alone.
  std::uint32_t offset_history = 10;
  /// In best-effort phases, how many compute nodes that cannot take their next contribution are
  /// passed over to find one that can.
  std::uint32_t best_effort_lookahead = 16;
  /// How many intervals an engine collects at once. When an input's report is missing while others
  /// are this far ahead, the interval completes with fewer inputs (III.D).
  std::uint32_t pending_intervals = 16;
  /// A guard: no interval waits longer for its proposed start, counted in interval durations.
  std::uint32_t start_wait_limit = 4;
};

/// Errors name the option that is out of range, its value and the range.
Result<void> check_dfs_options(const DfsOptions& options);

/// The part of input node `input` of `inputs`: the Input Engine. `computes_max` bounds the compute
/// nodes of every grid. The options must have passed `check_dfs_options`.
std::unique_ptr<InputSchedule> make_dfs_input(const DfsOptions& options, std::uint32_t input,
                                              std::uint32_t inputs, std::uint32_t computes_max);

/// The part of a compute node: the Distributed Deterministic Engine, idle when the grid gives the
/// node an index that has none. `inputs` are expected from the start, until `on_input` says
/// otherwise. A `restarted` engine stays silent until it has a full history (III.D).
std::unique_ptr<ComputeSchedule> make_dfs_compute(const DfsOptions& options, std::uint32_t compute,
                                                  std::uint32_t inputs, bool restarted);

}  // namespace weft::schedule

// SPDX-License-Identifier: Apache-2.0
// The Input Engine (paper 1, III.C): sends an input's contributions interval by interval, round by
// round, at the times that the engines propose, and tells them how it went.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fixed_vec.hpp"
#include "core/schedule/dfs/acknowledgement_tracker.hpp"
#include "core/schedule/dfs/dfs.hpp"
#include "core/schedule/dfs/interval_grid.hpp"
#include "core/schedule/dfs/proposal_book.hpp"
#include "core/schedule/dfs/round_clock.hpp"

namespace weft::schedule::dfs {

/// Memory is set at construction: about 64 bytes per timeslice of an interval. `choose` asks for
/// the readiness of at most one contribution in paced phases and of `best_effort_lookahead` in
/// best-effort phases, not counting contributions that are passed over for good.
class InputEngine final : public InputSchedule {
 public:
  InputEngine(const DfsOptions& options, std::uint32_t input, std::uint32_t computes_max);

  void on_grid(Instant now, const RoundGrid& grid) override;
  Choice choose(Instant now, const SendState& state) override;
  void on_started(Instant now, TimesliceIndex t) override;
  void on_acknowledged(Instant now, TimesliceIndex t, Duration latency) override;
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void write_messages(Instant now, MessageBox& out) override;
  void take_intervals(FixedVec<IntervalRecord>& out) override;

 private:
  /// How the current interval is sent; fixed when it starts.
  struct Pace {
    bool guided = false;
    Instant start{};    // tp_j
    Instant late_at{};  // tp_j + durp_j: best effort from then on
    Duration duration{};
  };

  Pace pace_for_start(Instant now) const;
  std::optional<Choice> choose_paced(Instant now, const Pace& pace, const SendState& state);
  std::optional<Choice> choose_best_effort(const SendState& state);
  std::optional<Choice> choose_for(std::uint32_t compute, const SendState& state, bool& blocked);
  void begin_interval(Instant now);
  void end_interval(Instant now);
  void forget_progress();
  void skip(std::uint32_t compute);

  std::uint32_t compute_at(std::uint32_t step) const;
  std::uint32_t step_of(std::uint32_t compute) const;
  TimesliceIndex timeslice_at_start() const { return grid_.timeslice(current_, 0, compute_at(0)); }
  std::uint32_t engines() const;
  IntervalId requested_after(IntervalId reported) const;
  void write_hellos(MessageBox& out);
  void write_reports(Instant now, MessageBox& out);
  void keep_record(const CompletedInterval& done);

  const DfsOptions options_;
  const std::uint32_t input_;
  const std::uint32_t computes_max_;

  IntervalGrid grid_;
  bool has_grid_ = false;
  Instant grid_taken_{};  // the barrier time of section IV
  TimesliceIndex end_ = TimesliceIndex::max();

  // The interval being sent, or the next one while it has not started.
  IntervalId current_{};
  bool running_ = false;
  Pace pace_;
  RoundClock rounds_;
  std::uint64_t position_ = 0;  // paced: round · computes + step of the next contribution
  std::uint32_t scan_ = 0;      // best effort: step to look at first
  std::vector<std::uint32_t> next_round_;  // per compute node
  std::uint64_t started_ = 0;
  std::uint64_t skipped_ = 0;  // past the stream's end, or sent already
  Instant previous_ended_{};   // last contribution of the interval before

  ProposalBook book_;
  AcknowledgementTracker acknowledgements_;
  std::uint32_t hello_next_ = 0;   // compute node to greet next
  std::uint32_t report_next_ = 0;  // engine to report to next
  FixedVec<IntervalRecord> records_;
};

}  // namespace weft::schedule::dfs

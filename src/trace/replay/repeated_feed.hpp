// SPDX-License-Identifier: Apache-2.0
// RepeatedFeed: traces of one program again and again, one of them at random in each iteration
// (paper 5, 5.2), as a job that runs for as long as a simulation does.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/workload/program.hpp"
#include "trace/replay/trace.hpp"

namespace weft::trace {

using Traces = std::vector<std::shared_ptr<Trace>>;

/// One thread.
class RepeatedFeed final : public sim::Feed {
 public:
  /// The traces have the same number of ranks, have been examined and outlive it. All ranks draw
  /// the same trace for an iteration, by the seed. An iteration ends where the trace marks its end;
  /// without marks, with the trace.
  RepeatedFeed(const Traces& traces, double compute_factor, std::uint64_t seed);

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_.size()); }
  sim::Action next(std::uint32_t rank) override;
  void on_completed(std::uint32_t rank, std::uint32_t request) override;
  bool waits_for_others(std::uint32_t rank) const override { return is_too_far(ranks_[rank]); }
  /// The first error of reading; all ranks have ended then.
  const Result<void>& state() const { return state_; }

 private:
  /// The most repetitions by which a rank may be ahead of the last rank. The feed holds a
  /// repetition until all ranks have left it.
  static constexpr std::uint64_t most_ahead = 64;

  struct Repetition {
    const Trace* trace = nullptr;
    std::unique_ptr<sim::Feed> feed;
  };
  struct Rank {
    std::uint64_t repetition = 0;
    bool has_acted = false;   // in this one: time passes
    bool has_marked = false;  // likewise
    bool rests = false;       // before this one, as in the one before no time passed
  };

  bool is_too_far(const Rank& rank) const { return rank.repetition >= first_ + most_ahead; }
  Repetition* repetition_of(std::uint64_t number);
  sim::Action finish(Rank& rank);

  const Traces& traces_;
  double factor_;
  std::uint64_t seed_;
  std::vector<Rank> ranks_;
  std::uint64_t first_ = 0;             // repetition of repetitions_.front()
  std::deque<Repetition> repetitions_;  // that a rank is in
  Result<void> state_;
};

}  // namespace weft::trace

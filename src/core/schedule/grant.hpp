// SPDX-License-Identifier: Apache-2.0
// grant: the receiver-driven schedule. A compute node asks for contributions by grants. A grant is
// cumulative: it says up to which round an input node may send to this compute node. A repeated
// grant therefore does no harm, and one message may grant many contributions. The compute node asks
// the input node that is furthest behind. Among equals, all compute nodes walk over the input nodes
// in the same order, and compute node c begins at input node c. A compute node's own link paces it,
// since the node grants more when contributions have arrived: no rate is configured, no clock is
// shared, and the effect of a disturbance ends with its cause. The first round needs no grant, or
// the first rounds where nodes decide the pace (GrantOptions::first_rounds).
//
// Why it works under disturbances (docs/schedules.md has the reasoning and the measurements):
//  1. A compute node derives two numbers from its path and from stragglers (GrantPace): how many
//     contributions are in flight, and how many timeslices the other input nodes may be ahead of
//     the last one. All compute nodes agree on the former (GrantAgreement), and input nodes serve
//     the oldest round first.
//  2. Grants to an input node that takes much longer than usual do not count as in flight. The
//     compute node waits for that input node only when the others are as far ahead as they may be.
//  3. An input node that always holds up the rest sends at its own pace. The others get their
//     grants so that all contributions to a timeslice arrive together (GrantTogether).
//  4. Input nodes that have been ahead of the last one for a while wait for it (GrantStep).
//  5. Input nodes that left get no grants. An input node declines contributions that it will never
//     send, because its stream ended or the timeslice is done.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/grant_pace.hpp"
#include "core/schedule/grant_step.hpp"
#include "core/schedule/grant_together.hpp"
#include "core/schedule/schedule.hpp"

namespace weft::schedule {

/// Numbers in flight count contributions to one compute node from all input nodes.
struct GrantOptions {
  std::uint32_t min_in_flight = 1;
  std::uint32_t first_in_flight = 4;  ///< before the node has measured its path
  /// As `first_in_flight`, but in bytes; the larger of the two counts. It is about half of the
  /// bytes that a path of 40 Gbit/s and 100 us holds. A node that began with one small contribution
  /// would take many round trips to fill such a path; a shorter path queues these bytes once.
  std::uint64_t first_window = 256 << 10;
  std::uint32_t max_in_flight = 1 << 16;
  /// All that the rings hold is in flight from the first contribution on.
  bool begins_full = false;
  /// So many rounds need no grant, at least 1; the same at input nodes.
  std::uint64_t first_rounds = 1;
  /// The capacity of a pair's ring. At most twice that of all rings is in flight, where there are
  /// several input nodes.
  std::uint64_t pair_bytes = ~std::uint64_t{0};
  std::uint32_t pair_descriptors = ~std::uint32_t{0};
  /// A grant is late when it is older than this multiple of the usual time to its contribution.
  std::uint32_t late_factor = 2;
  /// How many of its timeslices, from the oldest incomplete one on, a compute node grants besides
  /// the rounds in flight: at first, and at most.
  std::uint32_t first_ahead = 2;
  std::uint32_t open_timeslices = 16;
};

/// The input node's part: sends what compute nodes have granted.
class GrantInput final : public InputSchedule {
 public:
  /// `first_rounds`: see GrantOptions; the same at all nodes.
  GrantInput(std::uint32_t input, std::uint32_t computes_max, std::uint64_t first_rounds);

  void on_grid(Instant now, const RoundGrid& grid) override;
  Choice choose(Instant now, const SendState& state) override;
  void on_started(Instant now, TimesliceIndex t) override;
  void on_acknowledged(Instant, TimesliceIndex, Duration) override {}
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void on_reconnected(std::uint32_t compute) override;
  void write_messages(Instant now, MessageBox& out) override;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  /// What one compute node has granted, and what it got. The numbers are rounds.
  struct Compute {
    std::uint64_t granted = 0;   // the first round that is not granted
    std::uint64_t next = 0;      // the first round that is not served
    std::uint64_t order = 0;     // its turn among compute nodes with the same `next`
    std::uint64_t passed = 0;    // rounds below this one are done, and are never sent
    std::uint64_t ended = none;  // the stream ends before this round
    bool declines = false;       // the compute node must hear of `passed` or `ended`
  };
  bool skip_over(Compute& compute, Readiness readiness);
  static bool is_before(const Compute& a, const Compute& b);
  auto place_behind(std::size_t place, const Compute& compute);
  void step_back(std::size_t place);

  std::uint32_t self_;
  std::uint64_t first_rounds_;
  RoundGrid grid_;
  std::vector<Compute> computes_;
  /// Those with a grant for what they have not got, as `is_before` orders them.
  std::vector<std::uint32_t> line_;
  std::uint64_t order_ = 0;
  bool declines_ = false;  // one of `computes_` has `declines`
  GrantAgreement agreement_;
};

/// The compute node's part: decides when to grant which contributions.
class GrantCompute final : public ComputeSchedule {
 public:
  GrantCompute(const GrantOptions& options, std::uint32_t inputs);

  void on_grid(Instant now, const RoundGrid& grid, std::uint32_t self) override;
  void on_input(Instant now, std::uint32_t input, bool up) override;
  void on_contribution(Instant now, std::uint32_t input, TimesliceIndex t,
                       ByteCount bytes) override;
  void on_given_up(Instant now, std::uint32_t input, TimesliceIndex below) override;
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void on_reconnected(std::uint32_t input) override;
  void write_messages(Instant now, MessageBox& out) override;
  Instant next_deadline() const override { return deadline_; }

  const GrantPace& pace() const { return pace_; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::size_t batches_kept = 16;
  /// The grants of one message: the rounds from the batch before to below `until`. The first rounds
  /// are a batch without a message.
  struct Batch {
    std::uint64_t until = 0;
    Instant at{};             // when the message was written, or the view came
    std::uint64_t share = 0;  // of an input node then
    bool solicited = true;    // false: the first rounds, which need no grant
  };
  /// Contributions of one input node, by round: they arrive in order.
  struct Input {
    bool up = false;
    std::uint64_t granted = 0;   // the first round that the node has not decided to grant
    std::uint64_t told = 0;      // the first round of which no message has gone to the input node
    std::uint64_t arrived = 0;   // the first round that has not arrived
    std::uint64_t ended = none;  // the first round that the input node declined
    std::uint64_t seen = 0;      // contributions since the compute node last looked
    std::uint64_t share = 0;     // the largest at which these were granted
    /// At most `batches_kept`, mostly a few. Room for all of them, for each pair of thousands of
    /// nodes, would be a large part of a simulation's memory.
    std::vector<Batch> batches;

    /// Returns how many contributions are in flight.
    std::uint64_t out() const { return std::min(granted, ended) - std::min(arrived, ended); }
  };
  /// The state of all input nodes, computed whenever the node may have something to grant.
  struct Standing {
    std::uint64_t lowest = 0;       // the oldest incomplete round
    std::uint64_t end = 0;          // the first round that only slow input nodes may have
    std::uint64_t end_in_step = 0;  // the same for input nodes that are to get in step
    std::uint64_t share = 1;        // one input node's part of the contributions in flight
    bool waits_for_slow = false;    // the others' grants wait so that all arrive together
    std::uint64_t out = 0;          // in flight, without late grants and slow input nodes
    bool is_lowest_asked = false;   // an input node that holds up `lowest` has a grant for it
    Duration late_after = Duration::max();
  };
  /// Input nodes that are furthest behind among those that may be granted more.
  struct Level {
    std::uint64_t round = none;  // their first round without a grant
    std::uint64_t inputs = 0;    // how many they are
    std::uint64_t rounds = 0;    // how many rounds each may get before another is as far behind
  };
  void find_teller();
  void note_size(double bytes);
  void settle(Input& input, std::uint64_t round);
  /// Whose contribution has arrived, and whether it is less than half of the largest.
  struct Arrival {
    bool of_slow = false;
    bool is_small = false;
  };
  void learn(Instant now, Input& input, Arrival arrival);
  void note_slow(Instant now);
  /// Returns when the input node is late, if nothing comes; never if it cannot be.
  Instant late_at(const Input& input, const Standing& standing) const;
  bool is_late(const Input& input, Instant now, const Standing& standing) const;
  std::uint32_t rings_hold() const;
  /// Returns the first of the input nodes that hold up the oldest timeslice; the number of inputs
  /// when every input node has ended or left.
  std::size_t furthest_behind();
  Standing standing(Instant now, std::uint64_t lowest);
  /// Returns how many rounds more that input node may be granted.
  std::uint64_t may_grant(std::size_t input, Instant now, const Standing& standing) const;
  Level lowest_level(Instant now, const Standing& standing) const;
  /// Grants until `window` contributions are in flight, and one of the oldest timeslice in any
  /// case. False: no input node may be granted more.
  bool grant(Instant now, std::uint64_t window, Standing& standing);
  bool waits_in_step(const Standing& standing) const;
  void grant_slow(const Standing& standing);
  bool can_wait(Instant now) const;
  void note_starved(const Standing& standing);
  void held_up(Instant now, const Standing& standing);
  void tell(Instant now, std::uint64_t window, MessageBox& out);

  GrantOptions options_;
  RoundGrid grid_;
  bool active_ = false;
  std::uint32_t self_ = 0;
  std::vector<Input> inputs_;
  std::size_t next_ = 0;              // where the next walk over the inputs begins
  std::size_t teller_ = 0;            // the input that announces the agreed number
  std::size_t behind_ = 0;            // the input that `furthest_behind` found last
  std::uint64_t behind_arrived_ = 0;  // its `arrived` then, the lowest of all
  bool look_again_ = true;            // an input came or left: `behind_` may be wrong
  GrantPace pace_;
  GrantTogether together_;
  GrantStep step_;
  std::size_t slow_ = 0;          // number of slow inputs, as `together_` knows it
  std::uint64_t slow_round_ = 0;  // the first round that not all slow inputs have delivered
  double mean_bytes_ = 0;         // of a contribution, smoothed
  ByteCount largest_{};           // contribution
  std::vector<std::uint32_t> holding_up_;
  Instant looked_{};                     // when the node last looked for something to grant
  std::size_t arrivals_ = 0;             // since then, of what was asked for
  std::size_t came_ = 0;                 // and those of the first rounds, too
  std::uint64_t had_in_flight_ = 0;      // at that time
  bool out_fills_rings_ = false;         // at that time, and no input held the node up
  std::uint64_t worth_a_look_ = 0;       // contributions that are worth another look
  std::vector<std::int64_t> latencies_;  // ring of the last times from grant to contribution, ns
  std::size_t latencies_seen_ = 0;
  // After that time a grant is late: a multiple of their median.
  Duration late_after_ = Duration::max();
  Instant deadline_ = Instant::never();
};

std::unique_ptr<InputSchedule> make_grant_input(std::uint32_t input, std::uint32_t computes_max,
                                                std::uint64_t first_rounds);
std::unique_ptr<ComputeSchedule> make_grant_compute(const GrantOptions& options,
                                                    std::uint32_t inputs);

}  // namespace weft::schedule

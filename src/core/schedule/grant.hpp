// SPDX-License-Identifier: Apache-2.0
// grant: the receiver-driven schedule. A compute node asks for contributions by grants. A grant is
// cumulative: it says up to which round an input node may send to this compute node, so that a
// second one, or one that comes twice, does no harm, and one message may be for many contributions.
// The node asks the input node that is furthest behind, among equals in an order in which all
// compute nodes walk over the input nodes one behind the other (compute c begins at input c). Its
// own link paces it: there is more to grant when contributions have arrived, so no rate is
// configured, no clock is shared, and a disturbance is over when its cause is. The first round
// needs no grant.
//
// Why it holds up (docs/schedules.md has the reasoning and the measurements):
//  1. The nodes derive how much is out, and how many timeslices the others may be ahead of the last
//     one, from their paths and from stragglers (GrantPace). All compute nodes have the same number
//     out (GrantAgreement), and input nodes serve the oldest round first.
//  2. Grants to an input node that takes much longer than usual do not count as out. The node waits
//     for it only when the others are as far ahead as they may be.
//  3. Input nodes that always hold up the rest are paced by themselves, and the others so that all
//     arrive together (GrantTogether).
//  4. Input nodes that left get no grants; an input node declines contributions that it cannot send
//     any more (its stream ended).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/grant_pace.hpp"
#include "core/schedule/grant_together.hpp"
#include "core/schedule/schedule.hpp"

namespace weft::schedule {

struct GrantOptions {
  std::uint32_t min_in_flight = 1;
  std::uint32_t first_in_flight = 4;  ///< before anything is known
  /// The same in bytes, if that is more contributions: about half of the bytes that a path of 40
  /// Gbit/s and 100 us holds. From one small contribution on it would take many round trips to fill
  /// it; a path that holds less queues these bytes once.
  std::uint64_t first_window = 256 << 10;
  std::uint32_t max_in_flight = 1 << 16;
  /// The capacity of a pair's ring: more is never granted.
  std::uint64_t pair_bytes = ~std::uint64_t{0};
  std::uint32_t pair_descriptors = ~std::uint32_t{0};
  /// A grant is late when it is older than this many times the usual time to its contribution.
  std::uint32_t late_factor = 2;
  /// Timeslices, from the oldest incomplete one on, that one compute node grants: before anything
  /// is known, and at most.
  std::uint32_t first_ahead = 2;
  std::uint32_t open_timeslices = 16;
};

class GrantInput final : public InputSchedule {
 public:
  GrantInput(std::uint32_t input, std::uint32_t computes_max);

  void on_grid(Instant now, const RoundGrid& grid) override;
  Choice choose(Instant now, const SendState& state) override;
  void on_started(Instant now, TimesliceIndex t) override;
  void on_acknowledged(Instant, TimesliceIndex, Duration) override {}
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void write_messages(Instant now, MessageBox& out) override;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  /// Rounds of one compute node's timeslices.
  struct Compute {
    std::uint64_t granted = 0;   // the first that is not
    std::uint64_t next = 0;      // the first not served
    std::uint64_t order = 0;     // among others of the same round
    std::uint64_t passed = 0;    // rounds below are done already and will not be sent
    std::uint64_t ended = none;  // the stream ends before it
    bool declines = false;       // a decline is to be sent
  };
  bool skip_over(Compute& compute, Readiness readiness);
  static bool is_before(const Compute& a, const Compute& b);
  /// A look at all that were granted.
  Choice first_sendable(const SendState& state);

  std::uint32_t self_;
  RoundGrid grid_;
  std::vector<Compute> computes_;
  std::uint64_t order_ = 0;
  bool declines_ = false;  // one of them
  GrantAgreement agreement_;
};

class GrantCompute final : public ComputeSchedule {
 public:
  GrantCompute(const GrantOptions& options, std::uint32_t inputs);

  void on_grid(Instant now, const RoundGrid& grid, std::uint32_t self) override;
  void on_input(Instant now, std::uint32_t input, bool up) override;
  void on_contribution(Instant now, std::uint32_t input, TimesliceIndex t,
                       ByteCount bytes) override;
  void on_given_up(Instant now, std::uint32_t input, TimesliceIndex below) override;
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void write_messages(Instant now, MessageBox& out) override;
  Instant next_deadline() const override { return deadline_; }

  const GrantPace& pace() const { return pace_; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::size_t batches_kept = 16;
  /// The grants of one message: contributions below `until`, and not of a batch before.
  struct Batch {
    std::uint64_t until = 0;
    Instant at{};
    bool solicited = true;
  };
  /// Contributions of one input node, by round: they arrive in order.
  struct Input {
    bool up = false;
    std::uint64_t granted = 0;   // the first round that it is not to have yet
    std::uint64_t told = 0;      // the first that it was not told that it has
    std::uint64_t arrived = 0;   // the first that has not arrived
    std::uint64_t ended = none;  // the first that it declined
    std::uint64_t seen = 0;      // contributions since the node last looked
    /// At most `batches_kept`. Mostly a few: room for all of them, for each pair of thousands of
    /// nodes, would be a large part of a simulation's memory.
    std::vector<Batch> batches;

    std::uint64_t out() const { return std::min(granted, ended) - std::min(arrived, ended); }
  };
  /// How things stand, found anew whenever there may be something to grant.
  struct Standing {
    std::uint64_t lowest = 0;  // nobody is further behind
    std::uint64_t end = 0;     // rounds from here on are for slow input nodes only
    std::uint64_t share = 1;   // of one input node in the grants that may be out
    bool waits_for_slow = false;
    std::uint64_t out = 0;         // and not late, nor of slow input nodes
    bool is_lowest_asked = false;  // for its contribution, one of those furthest behind
    Duration late_after = Duration::max();
  };
  /// Input nodes that are furthest behind among those that may be granted more.
  struct Level {
    std::uint64_t round = none;  // which they wait for
    std::uint64_t inputs = 0;
    std::uint64_t rounds = 0;  // that all of them may be granted before another is as far behind
  };
  void find_teller();
  void note_size(double bytes);
  void settle(Input& input, std::uint64_t round);
  void learn(Instant now, Input& input, bool of_slow);
  void note_slow(Instant now);
  Duration late_after() const;
  bool is_late(const Input& input, Instant now, const Standing& standing) const;
  std::uint32_t rings_hold() const;
  /// Returns the first of the input nodes that hold up the oldest timeslice; the number of inputs
  /// when every input node has ended or left.
  std::size_t furthest_behind();
  Standing standing(Instant now, std::uint64_t lowest);
  /// Returns how many rounds more that input node may be granted.
  std::uint64_t may_grant(std::size_t input, Instant now, const Standing& standing) const;
  Level lowest_level(Instant now, const Standing& standing) const;
  /// Grants until `window` contributions are out, and the oldest timeslice's in any case. False: no
  /// input node may be granted more.
  bool grant(Instant now, std::uint64_t window, Standing& standing);
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
  std::size_t behind_ = 0;            // which input held up the oldest timeslice last
  std::uint64_t behind_arrived_ = 0;  // how far it was: nobody can be further back
  bool look_again_ = true;            // an input has come that may be
  GrantPace pace_;
  GrantTogether together_;
  std::size_t slow_ = 0;          // how many `together_` knows
  std::uint64_t slow_round_ = 0;  // the first that not all of them have delivered
  double mean_bytes_ = 0;         // of a contribution
  std::vector<std::uint32_t> holding_up_;
  // Since the node last looked.
  Instant looked_{};
  std::size_t arrivals_ = 0;
  std::uint64_t had_in_flight_ = 0;      // when it last looked
  bool out_fills_rings_ = false;         // then; nobody was waited for
  std::uint64_t worth_a_look_ = 0;       // contributions
  std::vector<std::int64_t> latencies_;  // ring of the last ones, ns
  std::size_t latencies_seen_ = 0;
  Duration usual_{};
  Instant deadline_ = Instant::never();
};

std::unique_ptr<InputSchedule> make_grant_input(std::uint32_t input, std::uint32_t computes_max);
std::unique_ptr<ComputeSchedule> make_grant_compute(const GrantOptions& options,
                                                    std::uint32_t inputs);

}  // namespace weft::schedule

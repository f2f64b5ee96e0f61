// SPDX-License-Identifier: Apache-2.0
// grant: the receiver-driven schedule. A compute node asks for each contribution by a grant, few at
// a time: always the input node that is furthest behind, among equals in an order in which all
// compute nodes walk over the input nodes one behind the other (compute c begins at input c). Its
// own link paces it: the next grant goes out when a contribution has arrived, so no rate is
// configured, no clock is shared, and a disturbance is over when its cause is.
//
// What makes it hold up (docs/schedules.md has the reasoning and the measurements):
//  1. How many grants are out, and how many timeslices the others may be ahead of the last one,
//     follows from what the nodes see of their paths and of stragglers (GrantPace). All compute
//     nodes have the same number out (GrantAgreement), and input nodes serve who is behind first.
//  2. A grant much older than usual does not count as out. Its sender is waited for only when the
//     others are as far ahead as they may be.
//  3. An input node that always holds up the rest is asked first, for one contribution at a time,
//     and the others so that all arrive together (GrantTogether).
//  4. Nothing is granted to input nodes that left; what an input node cannot send any more (its
//     stream ended) it declines.
#pragma once

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
  std::uint32_t max_in_flight = 256;
  /// A grant is late when it is older than this many times the usual time to its contribution.
  std::uint32_t late_factor = 2;
  /// Timeslices, from the oldest incomplete one on, that one compute node grants: before anything
  /// is known, and at most.
  std::uint32_t first_ahead = 2;
  std::uint32_t open_timeslices = 16;
};

class GrantInput final : public InputSchedule {
 public:
  GrantInput(const GrantOptions& options, std::uint32_t computes_max);

  void on_grid(Instant now, const RoundGrid& grid) override;
  Choice choose(Instant now, const SendState& state) override;
  void on_started(Instant now, TimesliceIndex t) override;
  void on_acknowledged(Instant, TimesliceIndex, Duration) override {}
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void write_messages(Instant now, MessageBox& out) override;

 private:
  RoundGrid grid_;
  FixedVec<TimesliceIndex> granted_;  // in the order in which they came
  struct Declined {
    TimesliceIndex timeslice{};
    bool ended = false;  // otherwise it is done already
  };
  FixedVec<Declined> declined_;
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
  struct Outstanding {
    std::uint32_t input = 0;
    std::uint64_t round = 0;
    Instant granted{};
  };
  /// Contributions of one input node, by round: they arrive in order.
  struct Input {
    bool up = false;
    std::uint64_t granted = 0;   // the first round not granted to it
    std::uint64_t arrived = 0;   // the first that has not arrived
    std::uint64_t ended = none;  // the first that it declined
    Instant asked{};             // when it was last granted one
  };
  void find_teller();
  void settle(Instant now, std::uint32_t input, std::uint64_t round, bool arrived);
  Duration late_after() const;
  bool is_late(Instant granted, Instant now) const;
  const Outstanding* first_not_late(Instant now) const;
  void learn(Duration latency);
  /// Grants that are out and not late.
  std::size_t in_flight(Instant now) const;
  /// Who holds up the oldest timeslice; the number of inputs when everybody has ended or left.
  std::size_t furthest_behind();
  /// Rounds from `end` on are for nobody but who is slow, and that for one of them at a time.
  bool may_grant(std::size_t input, Instant now, std::uint64_t end) const;
  /// Who is asked next; the number of inputs when nobody may be. `lowest`: no input is behind it.
  std::size_t choose(Instant now, std::uint64_t lowest, std::uint64_t end) const;
  void grant(Instant now, std::size_t input, MessageBox& out);
  /// The first round, from the lowest on, that others than who is slow are not asked for yet.
  std::uint64_t first_not_open(Instant now, std::uint64_t lowest);

  GrantOptions options_;
  RoundGrid grid_;
  bool active_ = false;
  std::uint32_t self_ = 0;
  std::vector<Input> inputs_;
  FixedVec<Outstanding> outstanding_;  // oldest first
  std::size_t next_ = 0;               // where the walk over the inputs goes on
  std::size_t teller_ = 0;             // the input that tells what is agreed on
  std::size_t behind_ = 0;             // who held up the oldest timeslice when looked for last
  std::uint64_t behind_arrived_ = 0;   // how far it was: nobody can be further back
  bool look_again_ = true;             // somebody has come who may be
  GrantPace pace_;
  GrantTogether together_;
  std::size_t slow_ = GrantPace::nobody;  // that `together_` knows
  // Since the node last looked.
  Instant looked_{};
  std::size_t arrivals_ = 0;
  bool had_in_flight_ = false;
  std::vector<std::int64_t> latencies_;  // ring of the last ones, ns
  std::size_t latencies_seen_ = 0;
  Duration usual_{};
  Instant deadline_ = Instant::never();
};

std::unique_ptr<InputSchedule> make_grant_input(const GrantOptions& options,
                                                std::uint32_t computes_max);
std::unique_ptr<ComputeSchedule> make_grant_compute(const GrantOptions& options,
                                                    std::uint32_t inputs);

}  // namespace weft::schedule

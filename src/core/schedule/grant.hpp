// SPDX-License-Identifier: Apache-2.0
// grant: the receiver-driven schedule. A compute node asks for each contribution by a grant, few at
// a time, in an order in which all compute nodes walk over the input nodes one behind the other
// (compute c asks input c, c+1, …). Its own link paces it: the next grant goes out when a
// contribution has arrived, so no rate is configured, no clock is shared, and a disturbance is over
// when its cause is.
//
// Three rules make it hold up (docs/schedules.md has the reasoning and the measurements):
//  1. In flight: how many grants are out adapts to the path. More are tried while that makes the
//     node faster, fewer while it does not make it slower.
//  2. Stragglers: a grant much older than usual does not hold up the others of its timeslice, but
//     the next timeslice waits for it. An input node that is known to answer slowly is asked ahead
//     of the others, who are asked so late that all arrive together: the straggler is always busy,
//     and the spread stays near the floor.
//  3. Nothing is granted to input nodes that left; what an input node cannot send any more (its
//     stream ended) it declines.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/schedule.hpp"

namespace weft::schedule {

struct GrantOptions {
  std::uint32_t min_in_flight = 2;
  std::uint32_t first_in_flight = 4;  ///< before anything is known
  std::uint32_t max_in_flight = 256;
  /// A grant is late when it is older than this many times the usual time to its contribution.
  std::uint32_t late_factor = 3;
  /// Timeslices of one compute node that may be granted at once.
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
  FixedVec<TimesliceIndex> granted_;  // oldest first
  struct Declined {
    TimesliceIndex timeslice{};
    bool ended = false;  // otherwise it is done already
  };
  FixedVec<Declined> declined_;
};

/// Finds the number in flight that is (almost) as fast as any and keeps timeslices together best:
/// tries more, tries fewer, and keeps what the rate of arriving bytes and the spread say.
class InFlightProbe {
 public:
  InFlightProbe(std::uint32_t minimum, std::uint32_t first, std::uint32_t maximum);
  std::uint32_t value() const { return value_; }
  /// `contributions` make a measuring period.
  void set_period(std::uint32_t contributions) { period_ = contributions; }
  void on_arrival(Instant now, std::uint64_t bytes);
  /// A timeslice is complete; its first and last contribution were so far apart.
  void on_spread(Duration spread);
  /// The stream paused or changed its shape: what was measured does not count.
  void reset_measurement();

 private:
  enum class Trial : std::uint8_t { none, up, down };
  struct Measured {
    double rate = 0;    // bytes per second
    double spread = 0;  // mean, seconds
  };
  void period_ended(double rate);
  void start_trial();
  bool worth_keeping(const Measured& now) const;
  void try_value(Trial trial, std::uint32_t value);

  std::uint32_t minimum_;
  std::uint32_t maximum_;
  std::uint32_t value_;
  std::uint32_t period_ = 64;
  Trial trial_ = Trial::none;
  std::uint32_t before_trial_ = 0;
  Measured before_;
  std::uint32_t settle_ = 1;  // periods to let pass before measuring
  std::uint32_t measured_ = 0;
  double rate_sum_ = 0;
  double spread_sum_ = 0;
  std::uint32_t spreads_ = 0;
  std::uint32_t calm_ = 0;  // periods since the last trial
  std::uint32_t patience_ = 1;
  bool up_next_ = false;
  bool started_ = false;
  Instant since_{};
  std::uint32_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

class GrantCompute final : public ComputeSchedule {
 public:
  GrantCompute(const GrantOptions& options, std::uint32_t inputs);

  void on_grid(Instant now, const RoundGrid& grid, std::uint32_t self) override;
  void on_input(Instant now, std::uint32_t input, bool up) override;
  void on_contribution(Instant now, std::uint32_t input, TimesliceIndex t,
                       ByteCount bytes) override;
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void write_messages(Instant now, MessageBox& out) override;
  Instant next_deadline() const override { return deadline_; }

  std::uint32_t in_flight_limit() const { return probe_.value(); }

 private:
  struct Outstanding {
    std::uint32_t input = 0;
    std::uint64_t round = 0;
    Instant granted{};
  };
  void settle(Instant now, std::uint32_t input, std::uint64_t round, bool arrived);
  Duration late_after() const;
  void learn(Duration latency);
  std::uint32_t input_at(std::uint32_t step) const;
  bool may_grant(std::uint32_t input) const { return up_[input] && round_ < ended_[input]; }
  bool is_slow(std::uint32_t input) const;
  bool may_open_next(Instant now, std::uint32_t late);
  Instant wait_for_slow() const;
  void ask_slow_ahead(Instant now, MessageBox& out);
  void grant(Instant now, std::uint32_t input, std::uint64_t round, MessageBox& out);
  struct InFlight {
    std::uint32_t fresh = 0;
    std::uint32_t late = 0;
  };
  InFlight in_flight(Instant now) const;
  struct Arrivals {
    std::uint64_t round = ~std::uint64_t{0};
    std::uint32_t left = 0;  // granted and neither arrived nor declined, plus those to be granted
    Instant first{};
  };
  void count_arrival(Instant now, std::uint64_t round);

  GrantOptions options_;
  RoundGrid grid_;
  bool active_ = false;
  std::uint32_t self_ = 0;
  std::vector<bool> up_;
  std::vector<std::uint64_t> ended_;   // first round that the input declined
  FixedVec<Outstanding> outstanding_;  // oldest first
  std::uint64_t round_ = 0;            // the timeslice being granted
  std::uint32_t step_ = 0;             // its next input
  InFlightProbe probe_;
  std::vector<Arrivals> arrivals_;       // of the open rounds, a ring
  std::vector<std::int64_t> latencies_;  // ring of the last ones, ns
  std::size_t latencies_seen_ = 0;
  Duration usual_{};
  std::vector<Duration> expected_;           // per input: from grant to arrival, smoothed
  std::vector<std::uint64_t> next_granted_;  // per input: the first round not granted to it
  Instant opened_{};                         // the timeslice being granted
  Instant last_regular_{};                   // arrival at it from an input that is not slow
  Duration collecting_{};                    // from one to the other, smoothed
  Instant deadline_ = Instant::never();
};

std::unique_ptr<InputSchedule> make_grant_input(const GrantOptions& options,
                                                std::uint32_t computes_max);
std::unique_ptr<ComputeSchedule> make_grant_compute(const GrantOptions& options,
                                                    std::uint32_t inputs);

}  // namespace weft::schedule

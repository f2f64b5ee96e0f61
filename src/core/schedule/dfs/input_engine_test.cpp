// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/input_engine.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <variant>
#include <vector>

#include "base/rng.hpp"

namespace weft::schedule::dfs {
namespace {

/// Everything can be sent unless said otherwise.
class FakeState final : public SendState {
 public:
  Readiness readiness(TimesliceIndex t) const override {
    ++asked;
    if (t >= end) return Readiness::after_end;
    if (sent.contains(t.value())) return Readiness::started;
    const auto found = special.find(t.value());
    return found == special.end() ? Readiness::sendable : found->second;
  }
  std::map<std::uint64_t, Readiness> special;
  std::set<std::uint64_t> sent;
  TimesliceIndex end = TimesliceIndex::max();
  mutable int asked = 0;
};

constexpr RoundGrid grid_of(std::uint32_t computes, std::uint64_t first = 0) {
  return {.first = TimesliceIndex(first), .computes = computes};
}

DfsOptions options_of(std::uint32_t timeslices_per_interval) {
  DfsOptions options;
  options.timeslices_per_interval = timeslices_per_interval;
  return options;
}

/// An engine for input `input` on a grid of `computes` nodes from time 0 on, and its driver.
class Driver {
 public:
  Driver(const DfsOptions& options, std::uint32_t input, std::uint32_t computes)
      : engine(options, input, 256), grid(grid_of(computes)), options_(options) {
    engine.on_grid(Instant(0), grid);
  }
  Choice choose(std::int64_t now) { return engine.choose(Instant(now), state); }
  /// Sends all that can be sent at `now`, in order.
  std::vector<std::uint64_t> send(std::int64_t now) {
    std::vector<std::uint64_t> sent;
    for (Choice c = choose(now); c.kind == Choice::Kind::send; c = choose(now)) {
      engine.on_started(Instant(now), c.timeslice);
      state.sent.insert(c.timeslice.value());
      sent.push_back(c.timeslice.value());
      if (sent.size() >= most) break;
    }
    return sent;
  }
  void acknowledge(std::int64_t now, std::uint64_t first, std::uint64_t last,
                   std::int64_t latency = 10) {
    for (std::uint64_t t = first; t <= last; ++t) {
      engine.on_acknowledged(Instant(now), TimesliceIndex(t), Duration(latency));
    }
  }
  void propose(std::uint64_t id, std::int64_t start, std::int64_t duration, std::int64_t spacing) {
    const IntervalGrid intervals(grid, options_.timeslices_per_interval);
    Message m;
    encode(Proposal{.grid_first = grid.first,
                    .interval = IntervalId(id),
                    .first_timeslice = intervals.first_timeslice(IntervalId(id)),
                    .rounds = intervals.rounds(),
                    .start = Instant(start),
                    .duration = Duration(duration),
                    .spacing = Duration(spacing)},
           m);
    engine.on_message(Instant(0), 0, {m.bytes.data(), m.size});
  }
  template <class T>
  std::vector<std::pair<std::uint32_t, T>> messages(std::int64_t now) {
    MessageBox box(1'024);
    engine.write_messages(Instant(now), box);
    std::vector<std::pair<std::uint32_t, T>> found;
    for (const Message& m : box.view()) {
      const AnyMessage any = decode({m.bytes.data(), m.size});
      if (const T* message = std::get_if<T>(&any)) found.emplace_back(m.to, *message);
    }
    return found;
  }

  InputEngine engine;
  FakeState state;
  RoundGrid grid;
  std::size_t most = 1'000;

 private:
  DfsOptions options_;
};

using Sent = std::vector<std::uint64_t>;

TEST(input_engine, step_s_of_input_i_goes_to_compute_node_i_plus_s) {
  Driver d(options_of(6), 1, 3);
  d.most = 6;
  EXPECT_EQ(d.send(0), (Sent{1, 2, 0, 4, 5, 3}));
}

TEST(input_engine, inputs_beyond_the_compute_nodes_wrap_around) {
  Driver d(options_of(3), 7, 3);
  EXPECT_EQ(d.send(0), (Sent{1, 2, 0}));
}

TEST(input_engine, asking_twice_gives_the_same_answer) {
  Driver d(options_of(4), 0, 2);
  d.propose(0, 100, 400, 400);
  for (const std::int64_t now : {0, 100, 150, 260, 600}) {
    const Choice first = d.choose(now);
    const Choice second = d.choose(now);
    EXPECT_EQ(first.kind, second.kind);
    EXPECT_EQ(first.timeslice, second.timeslice);
    EXPECT_EQ(first.ask_again, second.ask_again);
  }
}

TEST(input_engine, first_intervals_are_sent_without_guidelines) {
  Driver d(options_of(4), 0, 2);
  EXPECT_EQ(d.send(0), (Sent{0, 1, 2, 3}));
}

TEST(input_engine, waits_for_the_proposed_start) {
  Driver d(options_of(2), 0, 2);
  d.propose(0, 500, 100, 100);
  const Choice c = d.choose(120);
  EXPECT_EQ(c.kind, Choice::Kind::wait);
  EXPECT_EQ(c.ask_again, Instant(400));  // 500 is further off than four spacings: the guard
  d.propose(1, 350, 100, 100);
  EXPECT_EQ(d.choose(120).ask_again, Instant(400));  // it is for interval 1, not for 0
}

TEST(input_engine, spreads_rounds_and_contributions_over_the_proposed_duration) {
  // 2 rounds of 2 in 400 from 100 on: rounds at 100 and 300 (Eq. 4), contributions 100 apart.
  Driver d(options_of(4), 0, 2);
  d.propose(0, 100, 400, 400);
  EXPECT_EQ(d.choose(99).ask_again, Instant(100));
  EXPECT_EQ(d.send(100), (Sent{0}));
  EXPECT_EQ(d.choose(100).ask_again, Instant(200));
  EXPECT_EQ(d.send(199), (Sent{}));
  EXPECT_EQ(d.send(200), (Sent{1}));
  EXPECT_EQ(d.choose(200).ask_again, Instant(300));
  EXPECT_EQ(d.send(300), (Sent{2}));
  EXPECT_EQ(d.send(400), (Sent{3}));
}

TEST(input_engine, rounds_count_from_the_actual_start) {
  Driver d(options_of(4), 0, 2);
  d.propose(0, 100, 400, 400);
  // It starts at 180: tr_1 = 180 + 200, although the proposal said 300.
  EXPECT_EQ(d.send(180), (Sent{0}));
  EXPECT_EQ(d.send(280), (Sent{1}));
  EXPECT_EQ(d.choose(280).ask_again, Instant(380));
}

TEST(input_engine, late_round_is_squeezed_into_what_is_left_of_it) {
  Driver d(options_of(8), 0, 4);
  d.propose(0, 0, 800, 800);
  EXPECT_EQ(d.send(0), (Sent{0}));
  EXPECT_EQ(d.send(300), (Sent{1, 2, 3}));  // due at 100, 200, 300
  EXPECT_EQ(d.send(600), (Sent{4}));        // due at 400; 200 left for 4: every 50
  EXPECT_EQ(d.choose(600).ask_again, Instant(650));
}

TEST(input_engine, waits_for_the_next_in_order_while_there_is_time) {
  Driver d(options_of(4), 0, 2);
  d.propose(0, 0, 400, 400);
  d.state.special[0] = Readiness::no_credit;
  const Choice c = d.choose(50);
  EXPECT_EQ(c.kind, Choice::Kind::wait);
  EXPECT_EQ(c.timeslice, TimesliceIndex(0));
  EXPECT_EQ(c.ask_again, Instant(400));  // when best effort begins
}

TEST(input_engine, sends_the_rest_best_effort_once_the_proposed_end_has_passed) {
  Driver d(options_of(6), 0, 3);
  d.propose(0, 0, 600, 600);
  EXPECT_EQ(d.send(0), (Sent{0}));
  d.state.special[1] = Readiness::no_credit;
  EXPECT_EQ(d.send(590), (Sent{}));
  // Compute node 1 is passed over; the others get theirs at once, in order.
  EXPECT_EQ(d.send(600), (Sent{2, 3, 5}));
  EXPECT_EQ(d.choose(600).timeslice, TimesliceIndex(1));
  d.state.special.clear();
  EXPECT_EQ(d.send(601), (Sent{1, 4}));
}

TEST(input_engine, interval_that_starts_after_its_proposed_end_is_best_effort) {
  Driver d(options_of(4), 0, 2);
  d.propose(0, 0, 400, 400);
  d.state.special[0] = Readiness::no_data;
  EXPECT_EQ(d.send(400), (Sent{1, 3}));
}

TEST(input_engine, passes_over_no_more_than_the_lookahead) {
  DfsOptions options = options_of(64);
  options.best_effort_lookahead = 3;
  Driver d(options, 0, 64);
  for (std::uint64_t t = 0; t < 64; ++t) d.state.special[t] = Readiness::no_credit;
  d.state.asked = 0;
  EXPECT_EQ(d.choose(0).kind, Choice::Kind::wait);
  EXPECT_EQ(d.state.asked, 3);
}

// Known mistake of the public implementations: theta is hard-coded.
TEST(input_engine, next_interval_waits_for_theta_acknowledgements) {
  DfsOptions options = options_of(4);
  options.acknowledgement_threshold_percent = 50;
  Driver d(options, 0, 2);
  EXPECT_EQ(d.send(0), (Sent{0, 1, 2, 3}));
  d.acknowledge(10, 0, 0);
  EXPECT_EQ(d.choose(10).kind, Choice::Kind::wait);
  d.acknowledge(20, 1, 1);
  EXPECT_EQ(d.choose(20).kind, Choice::Kind::send);
}

// Known mistake of the public implementations: they poll at full rate.
TEST(input_engine, asks_for_no_call_while_only_an_event_can_help) {
  Driver d(options_of(4), 0, 2);
  d.send(0);
  EXPECT_EQ(d.choose(0).ask_again, Instant::never());  // acknowledgements are missing
  d.acknowledge(1, 0, 3);
  d.state.special[4] = Readiness::no_credit;
  d.state.special[5] = Readiness::no_credit;
  EXPECT_EQ(d.choose(1).ask_again, Instant::never());  // credit is missing
}

TEST(input_engine, reports_the_interval_when_its_last_acknowledgement_comes) {
  Driver d(options_of(4), 0, 2);
  d.send(100);
  d.acknowledge(150, 0, 2, 30);
  EXPECT_TRUE(d.messages<Report>(150).empty());
  d.acknowledge(190, 3, 3, 50);
  // To compute node 0: latencies 30, 30; to 1: 30, 50, median 40. Half of it is one way, and the
  // report leaves 5 after the end.
  const auto reports = d.messages<Report>(195);
  ASSERT_EQ(reports.size(), 2u);
  for (const auto& [to, r] : reports) {
    EXPECT_EQ(r.interval, IntervalId(0));
    EXPECT_EQ(r.start, Instant(100));
    EXPECT_EQ(r.duration, Duration(90));
    EXPECT_EQ(r.proposed, Duration{});
    EXPECT_EQ(r.requested, IntervalId(2));  // j + 2
    EXPECT_EQ(r.latency, Duration(to == 0 ? 15 + 5 : 20 + 5));
  }
  EXPECT_TRUE(d.messages<Report>(196).empty());
}

TEST(input_engine, reports_go_to_the_configured_engines_only) {
  DfsOptions options = options_of(4);
  options.engines = 3;
  Driver d(options, 0, 4);
  EXPECT_EQ(d.messages<Hello>(0).size(), 3u);
  d.send(0);
  d.acknowledge(9, 0, 3);
  EXPECT_EQ(d.messages<Report>(9).size(), 3u);
}

TEST(input_engine, request_is_for_an_interval_that_has_not_started) {
  DfsOptions options = options_of(2);
  options.acknowledgement_threshold_percent = 0;
  Driver d(options, 0, 2);
  d.most = 7;
  d.send(0);  // intervals 0, 1, 2 and half of 3
  d.acknowledge(9, 0, 1);
  const auto reports = d.messages<Report>(9);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].second.requested, IntervalId(4));
}

TEST(input_engine, says_hello_with_the_time_at_which_it_took_the_grid) {
  Driver d(options_of(4), 0, 3);
  const auto hellos = d.messages<Hello>(77);
  ASSERT_EQ(hellos.size(), 3u);
  EXPECT_EQ(hellos[2].first, 2u);
  EXPECT_EQ(hellos[2].second.start, Instant(0));
  EXPECT_TRUE(d.messages<Hello>(78).empty());
}

TEST(input_engine, messages_wait_for_room_in_the_box) {
  Driver d(options_of(4), 0, 4);
  d.send(0);
  d.acknowledge(9, 0, 3);
  std::map<std::uint32_t, int> reports;
  int rounds = 0;
  for (; rounds < 10; ++rounds) {
    MessageBox box(3);
    d.engine.write_messages(Instant(9), box);
    if (box.empty()) break;
    for (const Message& m : box.view()) {
      const AnyMessage any = decode({m.bytes.data(), m.size});
      if (std::holds_alternative<Report>(any)) ++reports[m.to];
    }
  }
  EXPECT_EQ(rounds, 3);  // 4 hellos and 4 reports, 3 at a time
  EXPECT_EQ(reports, (std::map<std::uint32_t, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
}

TEST(input_engine, last_proposal_is_used_again_when_none_comes) {
  Driver d(options_of(2), 0, 2);
  d.propose(0, 100, 180, 200);
  EXPECT_EQ(d.send(100), (Sent{0}));
  EXPECT_EQ(d.send(190), (Sent{1}));
  d.acknowledge(200, 0, 1);
  // Interval 1 follows one spacing after interval 0: at 300, its contributions 90 apart.
  EXPECT_EQ(d.choose(200).ask_again, Instant(300));
  EXPECT_EQ(d.send(300), (Sent{2}));
  EXPECT_EQ(d.choose(300).ask_again, Instant(390));
}

TEST(input_engine, first_received_proposal_is_used) {
  Driver d(options_of(2), 0, 2);
  d.propose(0, 100, 180, 200);
  d.propose(0, 20, 180, 200);
  EXPECT_EQ(d.choose(0).ask_again, Instant(100));
}

TEST(input_engine, records_proposed_and_actual_duration) {
  Driver d(options_of(2), 0, 2);
  d.propose(0, 100, 180, 200);
  d.send(100);
  d.send(190);
  d.acknowledge(310, 0, 1);
  (void)d.messages<Report>(310);
  FixedVec<IntervalRecord> records(8);
  d.engine.take_intervals(records);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].id, IntervalId(0));
  EXPECT_EQ(records[0].start, Instant(100));
  EXPECT_EQ(records[0].proposed, Duration(180));
  EXPECT_EQ(records[0].actual, Duration(210));
  records.clear();
  d.engine.take_intervals(records);
  EXPECT_TRUE(records.empty());
}

TEST(input_engine, stops_at_the_end_of_the_stream) {
  Driver d(options_of(6), 2, 3);
  d.state.end = TimesliceIndex(5);
  EXPECT_EQ(d.send(0), (Sent{2, 0, 1, 3, 4}));
  const Choice c = d.choose(0);
  EXPECT_EQ(c.kind, Choice::Kind::wait);
  EXPECT_EQ(c.ask_again, Instant::never());
  d.acknowledge(9, 0, 4);
  EXPECT_TRUE(d.messages<Report>(9).empty());  // it was no whole interval
}

TEST(input_engine, guided_interval_stops_at_the_end_of_the_stream) {
  Driver d(options_of(6), 2, 3);
  d.propose(0, 0, 600, 600);
  d.state.end = TimesliceIndex(5);
  Sent sent;
  for (std::int64_t now = 0; now <= 600; now += 50) {
    for (const auto t : d.send(now)) sent.push_back(t);
  }
  EXPECT_EQ(sent, (Sent{2, 0, 1, 3, 4}));
  EXPECT_EQ(d.choose(600).ask_again, Instant::never());
}

TEST(input_engine, what_was_sent_already_is_passed_over) {
  Driver d(options_of(4), 0, 2);
  d.state.sent = {0, 3};
  d.most = 4;
  // Timeslice 2 takes the place of 0 at compute node 0.
  EXPECT_EQ(d.send(0), (Sent{2, 1}));
  d.acknowledge(5, 1, 2);
  EXPECT_EQ(d.send(6), (Sent{4, 5, 6, 7}));
}

TEST(input_engine, whole_intervals_sent_already_are_passed_over) {
  Driver d(options_of(4), 0, 2);
  for (std::uint64_t t = 0; t < 4'000; ++t) d.state.sent.insert(t);
  d.most = 4;
  EXPECT_EQ(d.send(0), (Sent{4'000, 4'001, 4'002, 4'003}));
}

TEST(input_engine, new_grid_starts_at_once_at_the_last_pace) {
  Driver d(options_of(4), 0, 2);
  d.propose(0, 0, 400, 440);
  d.most = 1;
  d.send(0);
  d.grid = grid_of(4, 20);
  d.engine.on_grid(Instant(50), d.grid);
  // One round of 4 in 400.
  EXPECT_EQ(d.send(50), (Sent{20}));
  EXPECT_EQ(d.choose(50).ask_again, Instant(150));
  EXPECT_EQ(d.messages<Hello>(50).size(), 4u);
}

TEST(input_engine, acknowledgements_of_an_old_grid_change_nothing) {
  Driver d(options_of(4), 0, 2);
  d.send(0);
  d.grid = grid_of(2, 20);
  d.engine.on_grid(Instant(50), d.grid);
  d.acknowledge(60, 0, 3);
  EXPECT_TRUE(d.messages<Report>(60).empty());
}

TEST(input_engine, proposals_for_another_grid_are_ignored) {
  Driver d(options_of(4), 0, 2);
  const RoundGrid old = d.grid;
  d.grid = grid_of(2, 20);
  d.engine.on_grid(Instant(50), d.grid);
  d.grid = old;
  d.propose(20, 10'000, 400, 400);
  EXPECT_EQ(d.choose(50).kind, Choice::Kind::send);
}

TEST(input_engine, malformed_messages_are_ignored) {
  Driver d(options_of(4), 0, 2);
  const std::byte junk[] = {std::byte{3}, std::byte{1}, std::byte{255}};
  d.engine.on_message(Instant(0), 0, junk);
  d.engine.on_message(Instant(0), 99, {});
  EXPECT_EQ(d.choose(0).kind, Choice::Kind::send);
}

TEST(input_engine, does_nothing_before_there_is_a_grid) {
  InputEngine engine(options_of(4), 0, 2);
  FakeState state;
  EXPECT_EQ(engine.choose(Instant(0), state).kind, Choice::Kind::wait);
  MessageBox box(4);
  engine.write_messages(Instant(0), box);
  EXPECT_TRUE(box.empty());
}

// Known mistake of the public implementations: at most 15 connections.
TEST(input_engine, serves_192_compute_nodes) {
  Driver d(options_of(10'000), 191, 192);
  d.most = 9'984;
  const Sent sent = d.send(0);
  ASSERT_EQ(sent.size(), 9'984u);
  EXPECT_EQ(sent[0], 191u);
  EXPECT_EQ(sent[1], 0u);
  d.acknowledge(50, 0, 9'983);
  EXPECT_EQ(d.messages<Report>(50).size(), 192u);
}

TEST(input_engine, random_readiness_never_loses_repeats_or_reorders_a_contribution) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto computes = static_cast<std::uint32_t>(1 + rng.below(6));
    DfsOptions options = options_of(static_cast<std::uint32_t>(1 + rng.below(20)));
    options.best_effort_lookahead = static_cast<std::uint32_t>(1 + rng.below(4));
    Driver d(options, static_cast<std::uint32_t>(rng.below(9)), computes);
    d.state.end = TimesliceIndex(rng.below(400));
    std::vector<std::uint64_t> next(computes);
    for (std::uint32_t c = 0; c < computes; ++c) next[c] = c;
    std::vector<std::uint64_t> unacknowledged;
    std::int64_t now = 0;
    for (int step = 0; step < 20'000 && d.state.sent.size() < d.state.end.value(); ++step) {
      now += static_cast<std::int64_t>(rng.below(40));
      d.state.special.clear();
      for (int b = 0; b < 3; ++b) {
        if (rng.below(2) == 0) continue;
        d.state.special[next[rng.below(computes)]] = Readiness::no_credit;
      }
      if (rng.below(20) == 0) {
        const auto start = now + static_cast<std::int64_t>(rng.below(300));
        d.propose(rng.below(40), start, 1 + static_cast<std::int64_t>(rng.below(500)), 200);
      }
      const Choice choice = d.choose(now);
      if (choice.kind == Choice::Kind::send) {
        const std::uint64_t t = choice.timeslice.value();
        ASSERT_EQ(t, next[t % computes]) << "out of order";
        ASSERT_EQ(d.choose(now).timeslice, choice.timeslice);
        next[t % computes] += computes;
        d.engine.on_started(Instant(now), choice.timeslice);
        d.state.sent.insert(t);
        unacknowledged.push_back(t);
      } else if (choice.ask_again != Instant::never()) {
        ASSERT_GT(choice.ask_again, Instant(now));
      }
      if (!unacknowledged.empty() && rng.below(3) > 0) {
        d.acknowledge(now, unacknowledged.front(), unacknowledged.front());
        unacknowledged.erase(unacknowledged.begin());
      }
      (void)d.messages<Report>(now);
    }
    EXPECT_EQ(d.state.sent.size(), d.state.end.value());
  }
}

}  // namespace
}  // namespace weft::schedule::dfs

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace weft::schedule {
namespace {

constexpr std::size_t inputs = 8;
constexpr int period = 32;  // contributions: four rounds

// Contributions come in at a fixed rate; the node may be held up or absent in between.
class pace : public ::testing::Test {
 protected:
  void arrive(int contributions, Duration apart, Duration since_grant) {
    for (int i = 0; i < contributions; ++i) {
      now_ = now_ + apart;
      pace_.on_arrival(now_, since_grant);
    }
  }
  void hold_up(std::size_t input) {
    const std::array behind{static_cast<std::uint32_t>(input)};
    pace_.on_held_up(now_, behind);
  }
  void start() { arrive(1, tenth_ms, fifth_ms); }
  // One period in which `input` holds the node up for `held` at its beginning.
  void period_held_up_by(std::size_t input, Duration held) {
    hold_up(input);
    now_ = now_ + held;
    pace_.on_free(now_);
    arrive(period, tenth_ms, fifth_ms);
  }
  void calm_periods(int count) { arrive(count * period, tenth_ms, fifth_ms); }

  const Duration tenth_ms = Duration::microseconds(100);
  const Duration fifth_ms = Duration::microseconds(200);
  GrantPace pace_{{.short_periods = 0}, inputs};
  Instant now_{1000};
};

TEST_F(pace, asks_for_two_and_a_half_times_what_the_path_holds) {
  EXPECT_EQ(pace_.in_flight(), 4u) << "before anything is known";
  start();
  // 10,000 contributions per second, 0.2 ms each: 2 on the path; 2.5 · 2 + 0.6.
  arrive(period, tenth_ms, fifth_ms);
  EXPECT_EQ(pace_.in_flight(), 6u);
}

TEST_F(pace, begins_with_no_less_than_the_options_say) {
  pace_.set_first(2);
  EXPECT_EQ(pace_.in_flight(), 4u);
}

TEST_F(pace, begins_with_all_that_rings_hold_where_nodes_are_known_to_decide) {
  GrantPace full({.begins_full = true}, inputs);
  full.set_first(64);
  EXPECT_EQ(full.in_flight(), 64u) << "until a contribution tells its size";
  full.set_most(1000);
  EXPECT_EQ(full.in_flight(), 1000u);
  for (int i = 0; i < 3000; ++i) full.on_arrival(now_ = now_ + tenth_ms, fifth_ms);
  EXPECT_GE(full.in_flight(), 1000u) << "what is measured does not take them back at once";
  full.set_most(5000);
  EXPECT_LT(full.in_flight(), 1500u) << "later contributions are smaller";
}

TEST_F(pace, gives_an_only_input_node_so_much_that_credit_alone_decides) {
  GrantPace alone({.max_in_flight = 4096, .short_periods = 0}, 1);
  EXPECT_EQ(alone.in_flight(), 4096u);
  alone.set_most(24);
  EXPECT_EQ(alone.in_flight(), 4096u) << "far more than the rings hold: few messages do";
  pace_.set_most(24);
  EXPECT_EQ(pace_.in_flight(), 4u) << "others are kept apart";
}

TEST_F(pace, begins_with_more_where_contributions_are_small) {
  pace_.set_first(256);
  EXPECT_EQ(pace_.in_flight(), 256u);
  start();
  arrive(256, tenth_ms, fifth_ms);
  EXPECT_EQ(pace_.in_flight(), 6u) << "the path holds two";
}

TEST_F(pace, saves_messages_only_where_contributions_come_fast) {
  pace_.set_least(96);
  EXPECT_EQ(pace_.in_flight(), 96u) << "before the rate is known";
  start();
  arrive(96, tenth_ms, fifth_ms);
  EXPECT_EQ(pace_.in_flight(), 6u) << "four come in 400 us, and the path holds two";
  arrive(8 * period, Duration::microseconds(2), Duration::microseconds(4));
  EXPECT_EQ(pace_.in_flight(), 96u) << "200 come in 400 us";
}

TEST_F(pace, has_as_many_in_flight_as_the_nodes_agree_on_whatever_it_wishes) {
  start();
  arrive(period, tenth_ms, fifth_ms);
  EXPECT_EQ(pace_.wish(), 90) << "5.6, in sixteenths";
  pace_.agree(4);
  EXPECT_EQ(pace_.in_flight(), 4u);
  pace_.agree(100'000);
  EXPECT_EQ(pace_.in_flight(), 65'536u) << "not more than allowed";
  pace_.agree(0);
  EXPECT_EQ(pace_.in_flight(), 6u);
}

TEST_F(pace, keeps_its_wish_at_the_rate_of_a_slow_input) {
  start();
  arrive(8 * period, tenth_ms, fifth_ms);
  for (int i = 0; i < 5; ++i) period_held_up_by(3, Duration::milliseconds(2));
  ASSERT_EQ(pace_.is_slow(3), true);
  for (int i = 0; i < 12; ++i) {
    hold_up(3);
    now_ = now_ + Duration::milliseconds(2);
    pace_.on_free(now_);
    arrive(period, tenth_ms * 2, fifth_ms);
  }
  EXPECT_EQ(pace_.in_flight(), 6u);
}

TEST_F(pace, does_not_ask_for_more_because_its_own_queue_takes_long) {
  start();
  arrive(period, tenth_ms, fifth_ms);
  arrive(10 * period, tenth_ms, Duration::milliseconds(5));
  EXPECT_EQ(pace_.in_flight(), 6u);
}

TEST_F(pace, now_and_then_looks_how_long_the_path_takes_without_a_queue) {
  start();
  int probes = 0;
  for (int i = 0; i < 65; ++i) {
    arrive(period, tenth_ms, fifth_ms);
    probes += pace_.in_flight() == 1 ? 1 : 0;
  }
  EXPECT_EQ(probes, 1);
  arrive(8, tenth_ms, fifth_ms);
  EXPECT_EQ(pace_.in_flight(), 6u);
}

TEST_F(pace, looks_again_soon_when_a_look_found_a_much_shorter_path) {
  arrive(1 + 64 * period, tenth_ms, fifth_ms * 5);
  ASSERT_EQ(pace_.in_flight(), 7u) << "three quarters of the ten that the path seems to hold";
  // Its own queue was most of that: each look drains a part of it.
  arrive(20, tenth_ms, fifth_ms * 3);
  arrive(period, tenth_ms, fifth_ms * 3);
  EXPECT_EQ(pace_.in_flight(), 16u) << "2.5 times six, and 0.6";
  arrive(period, tenth_ms, fifth_ms * 3);
  EXPECT_EQ(pace_.in_flight(), 4u) << "looks again";
}

TEST_F(pace, seldom_looks_for_a_path_so_long_that_credit_decides_whatever_it_finds) {
  arrive(1, tenth_ms, fifth_ms * 5);
  pace_.set_most(18);
  int probes = 0;
  for (int i = 0; i < 1025; ++i) {
    arrive(period, tenth_ms, fifth_ms * 5);
    probes += pace_.in_flight() < 18 ? 1 : 0;  // else 2.5 · 0.75 · 10 is more than the rings hold
  }
  EXPECT_EQ(probes, 2);
}

/// Other traffic made the path long for a while, then the node's own queue keeps it long.
TEST_F(pace, finds_a_short_path_again_behind_a_queue_that_fills_the_rings) {
  pace_.set_most(18);
  start();
  const auto run_periods = [&](int count, Duration alone) {
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < period; ++k) {  // each waits for all that are in flight before it
        arrive(1, tenth_ms, std::max(alone, tenth_ms * pace_.in_flight()));
      }
    }
  };
  run_periods(200, fifth_ms * 10);
  ASSERT_EQ(pace_.in_flight(), 18u);
  run_periods(2000, fifth_ms);
  EXPECT_LE(pace_.in_flight(), 8u);
}

/// A message may announce many contributions, which took their time before it.
TEST_F(pace, counts_nothing_that_came_in_the_instant_at_which_the_period_began) {
  start();
  for (int burst = 0; burst < 4; ++burst) {
    arrive(period - 1, Duration{}, fifth_ms);
    arrive(period, tenth_ms, fifth_ms);
    EXPECT_EQ(pace_.in_flight(), 6u);
  }
}

TEST_F(pace, absent_senders_places_are_made_up_for) {
  start();
  for (int i = 0; i < 8; ++i) {
    // Two places, all the time: 2 · 3.2 ms in each period of 3.2 ms.
    pace_.on_absent_sender(Duration::microseconds(6400));
    arrive(period, tenth_ms, fifth_ms);
  }
  EXPECT_EQ(pace_.in_flight(), 8u);
}

TEST_F(pace, absent_senders_take_more_places_than_are_seen_where_the_node_itself_is_absent_too) {
  start();
  for (int i = 0; i < 8; ++i) {
    // A tenth of a place, and half a percent of the time.
    pace_.on_absent_sender(Duration::microseconds(320));
    const Instant before = now_;
    now_ = now_ + Duration::microseconds(16);
    pace_.on_own_absence(before, now_, 0);
    arrive(period, tenth_ms, fifth_ms);
  }
  // 2.5 · 2 + 0.6, and a tenth of it: ten times a tenth of a place would be one, but a node that is
  // absent for half a percent expects others to hold twenty times that of the grants out, no more.
  EXPECT_NEAR(pace_.wish() / wish_unit, 6.1, 0.1);
}

TEST_F(pace, contributions_that_come_late_in_a_full_network_do_not_fill_it_more) {
  start();
  for (int i = 0; i < 30; ++i) {
    // Half a percent of its own, as above, and as many that are late as there are.
    for (int k = 0; k < 10; ++k) pace_.on_absent_sender(Duration::microseconds(3200));
    const Instant before = now_;
    now_ = now_ + Duration::microseconds(16);
    pace_.on_own_absence(before, now_, 0);
    arrive(period, tenth_ms, fifth_ms);
  }
  EXPECT_NEAR(pace_.wish() / wish_unit, 6.15, 0.1);
}

TEST_F(pace, own_absences_are_covered_but_not_a_single_one) {
  start();
  arrive(period, tenth_ms, fifth_ms);
  const auto be_absent = [&] {
    const Instant before = now_;
    now_ = now_ + Duration::milliseconds(1);
    pace_.on_own_absence(before, now_, 3);
    arrive(period, tenth_ms, fifth_ms);
  };
  be_absent();
  EXPECT_EQ(pace_.in_flight(), 6u);
  for (int i = 0; i < 12; ++i) be_absent();
  // 32 contributions in 4.2 ms: 2.5 · 1.52 + 0.6, and one more each time that it is not enough.
  const Wish before = pace_.wish();
  EXPECT_GT(before, 16 * 4.4 + 16 * 2);
  be_absent();
  EXPECT_EQ(pace_.wish(), before + 16);
}

TEST_F(pace, opens_while_all_that_was_asked_for_is_there_each_time_the_node_looks) {
  start();
  arrive(period, tenth_ms, fifth_ms);
  ASSERT_EQ(pace_.in_flight(), 6u);
  // Four of 32 arrivals: more than a tenth.
  pace_.on_own_absence(now_, now_, 4);
  arrive(period, tenth_ms, fifth_ms);
  EXPECT_EQ(pace_.in_flight(), 12u);
  // One, and contributions come in faster by a tenth: it keeps that.
  for (int i = 0; i < 10; ++i) {
    pace_.on_own_absence(now_, now_, 1);
    arrive(period, Duration::microseconds(90), fifth_ms);
  }
  EXPECT_EQ(pace_.in_flight(), 12u);
  calm_periods(40);
  EXPECT_EQ(pace_.in_flight(), 6u);
}

/// The first contributions come in bursts that only their senders' first grants explain.
TEST_F(pace, does_not_take_short_periods_for_those_of_starved_senders) {
  pace_ = GrantPace({.short_periods = 4}, inputs);
  const Duration ms = Duration::milliseconds(1);
  arrive(1, ms * 2, ms * 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(pace_.in_flight(), 6u);
    pace_.on_starved_senders(8);
    arrive(8, ms * 2, ms * 4);
  }
  pace_.on_starved_senders(period);
  arrive(period, ms * 2, ms * 4);
  EXPECT_EQ(pace_.in_flight(), 6u + 3 * 6u);
}

// Nodes that take turns on processors: a contribution takes a fifth of the time between two, so the
// path holds a fifth of one. A period lasts 10 ms then.
class pace_of_nodes : public pace {
 protected:
  void SetUp() override {
    pace_.set_most(48);
    start();
    arrive(7 * period, tenth_ms, fiftieth_ms);
    ASSERT_EQ(pace_.in_flight(), 1u);
    arrive(period, tenth_ms, fiftieth_ms);
    ASSERT_EQ(pace_.in_flight(), 48u) << "on trial";
  }
  void long_period(Duration apart) {
    arrive(static_cast<int>(Duration::milliseconds(10) / apart), apart, fiftieth_ms);
  }
  const Duration fiftieth_ms = Duration::microseconds(20);
};

TEST_F(pace_of_nodes, keeps_all_that_the_rings_hold_where_that_makes_it_faster) {
  for (int i = 0; i < 3; ++i) {
    long_period(Duration::microseconds(80));
    EXPECT_EQ(pace_.in_flight(), 48u);
  }
}

TEST_F(pace_of_nodes, takes_it_back_where_that_makes_it_no_faster) {
  long_period(tenth_ms);
  EXPECT_EQ(pace_.in_flight(), 48u) << "one period to settle";
  long_period(tenth_ms);
  EXPECT_EQ(pace_.in_flight(), 1u);
}

TEST_F(pace_of_nodes, shrinks_again_when_the_trial_that_paid_was_long_ago) {
  for (int i = 0; i < 3; ++i) long_period(Duration::microseconds(80));
  for (int i = 0; i < 300; ++i) long_period(Duration::microseconds(80));
  EXPECT_LT(pace_.in_flight(), 48u);
}

TEST_F(pace_of_nodes, ends_a_trial_with_the_view) {
  pace_.begin_view(now_);
  start();
  arrive(10 * period, Duration::microseconds(50), Duration::microseconds(45));
  EXPECT_LT(pace_.in_flight(), 6u);
}

TEST_F(pace, tries_no_more_after_a_beginning_with_small_contributions) {
  pace_.set_most(48);
  start();
  arrive(4 * period, tenth_ms, Duration::microseconds(20));
  pace_.forget_least();
  for (int i = 0; i < 40; ++i) {
    arrive(period, tenth_ms, Duration::microseconds(80));
    ASSERT_LT(pace_.in_flight(), 6u);
  }
}

TEST_F(pace, tries_no_more_where_links_are_busy_most_of_the_time) {
  pace_.set_most(48);
  start();
  for (int i = 0; i < 40; ++i) {
    arrive(period, tenth_ms, Duration::microseconds(80));
    ASSERT_LT(pace_.in_flight(), 4u);
  }
}

TEST_F(pace, takes_back_what_made_it_no_faster_and_waits_before_it_tries_again) {
  start();
  arrive(period, tenth_ms, fifth_ms);
  const auto dry_period = [&] {
    pace_.on_own_absence(now_, now_, 4);
    arrive(period, tenth_ms, fifth_ms);
  };
  dry_period();
  ASSERT_EQ(pace_.in_flight(), 12u);
  dry_period();
  EXPECT_EQ(pace_.in_flight(), 12u) << "one period to settle";
  dry_period();
  EXPECT_EQ(pace_.in_flight(), 6u);
  // Eight periods of rest, then another try; twice as many after that has failed, too.
  for (int i = 0; i < 7; ++i) dry_period();
  EXPECT_EQ(pace_.in_flight(), 6u);
  dry_period();
  EXPECT_EQ(pace_.in_flight(), 12u);
  for (int i = 0; i < 2; ++i) dry_period();
  for (int i = 0; i < 15; ++i) dry_period();
  EXPECT_EQ(pace_.in_flight(), 6u);
  dry_period();
  EXPECT_EQ(pace_.in_flight(), 12u);
}

TEST_F(pace, tries_more_than_one_at_a_time_where_the_path_is_idle_meanwhile) {
  // A contribution is there 5 us after its grant, and the next grant goes out 95 us later.
  const Duration soon = Duration::microseconds(5);
  const auto alone = [&](Duration since_grant) {
    pace_.on_alone(period);
    arrive(period, tenth_ms, since_grant);
  };
  arrive(1, tenth_ms, soon);
  arrive(period, tenth_ms, soon);
  ASSERT_EQ(pace_.in_flight(), 1u);
  alone(soon);
  EXPECT_EQ(pace_.in_flight(), 2u);
}

TEST_F(pace, is_content_with_one_at_a_time_that_fills_the_path) {
  arrive(1, tenth_ms, tenth_ms * 6 / 10);
  arrive(period, tenth_ms, tenth_ms * 6 / 10);
  const std::uint32_t before = pace_.in_flight();
  pace_.on_alone(period);
  arrive(period, tenth_ms, tenth_ms * 6 / 10);
  EXPECT_EQ(pace_.in_flight(), before);
}

TEST_F(pace, a_rate_seen_within_less_than_the_paths_time_does_not_count) {
  start();
  // 64 contributions at once, in each 10 ms; the path takes 5 ms.
  for (int i = 0; i < 4; ++i) {
    now_ = now_ + Duration::milliseconds(10);
    arrive(2 * period, Duration{}, Duration::milliseconds(5));
  }
  // 6,400 per second at the most: 32 on the path.
  EXPECT_LE(pace_.in_flight(), 81u);
}

TEST_F(pace, several_inputs_that_are_always_behind_are_slow) {
  start();
  for (int i = 0; i < 5; ++i) {
    const std::array<std::uint32_t, 4> behind{1, 3, 5, 7};
    pace_.on_held_up(now_, behind);
    now_ = now_ + Duration::milliseconds(2);
    pace_.on_free(now_);
    arrive(period, tenth_ms, fifth_ms);
  }
  EXPECT_EQ(pace_.slow_inputs(), 4u);
  EXPECT_TRUE(pace_.is_slow(5));
  EXPECT_FALSE(pace_.is_slow(4));
  EXPECT_EQ(pace_.ahead(), 1u);
}

TEST_F(pace, others_may_run_further_ahead_of_stragglers_that_vary) {
  EXPECT_EQ(pace_.ahead(), 2u);
  start();
  std::uint32_t most = 0;
  for (int i = 0; i < 24; ++i) {
    period_held_up_by(static_cast<std::size_t>(i) % inputs, Duration::milliseconds(1));
    EXPECT_FALSE(pace_.any_slow());
    most = std::max(most, pace_.ahead());
  }
  EXPECT_EQ(most, 16u);
}

TEST_F(pace, others_are_called_back_in_times_of_calm) {
  start();
  for (std::size_t i = 0; i < 6; ++i) period_held_up_by(i, Duration::milliseconds(1));
  ASSERT_GT(pace_.ahead(), 2u);
  calm_periods(120);
  EXPECT_EQ(pace_.ahead(), 2u);
}

TEST_F(pace, who_always_holds_up_the_rest_is_slow_and_the_rest_keeps_to_its_timeslice) {
  start();
  for (int i = 0; i < 5; ++i) period_held_up_by(3, Duration::milliseconds(2));
  EXPECT_EQ(pace_.is_slow(3), true);
  EXPECT_EQ(pace_.ahead(), 1u);
}

TEST_F(pace, an_input_that_left_is_not_slow_when_it_comes_back) {
  start();
  for (int i = 0; i < 5; ++i) period_held_up_by(3, Duration::milliseconds(2));
  ASSERT_EQ(pace_.slow_inputs(), 1u);
  pace_.forget(3);
  EXPECT_FALSE(pace_.is_slow(3));
  EXPECT_EQ(pace_.slow_inputs(), 0u);
}

TEST_F(pace, who_has_recovered_is_not_slow_any_more) {
  start();
  for (int i = 0; i < 5; ++i) period_held_up_by(3, Duration::milliseconds(2));
  ASSERT_EQ(pace_.is_slow(3), true);
  calm_periods(4);
  EXPECT_FALSE(pace_.any_slow());
  EXPECT_EQ(pace_.ahead(), 2u);
}

TEST_F(pace, one_pause_makes_nobody_slow_and_lets_nobody_run_ahead) {
  start();
  calm_periods(3);
  period_held_up_by(3, Duration::milliseconds(50));
  EXPECT_FALSE(pace_.any_slow());
  EXPECT_EQ(pace_.ahead(), 2u) << "the others wait for it";
  calm_periods(60);
  EXPECT_EQ(pace_.ahead(), 2u);
}

TEST_F(pace, a_restart_forgets_what_was_measured_of_the_period) {
  start();
  arrive(period, tenth_ms, fifth_ms);
  hold_up(2);
  now_ = now_ + Duration::milliseconds(500);
  pace_.restart(now_);
  start();
  arrive(period, tenth_ms, fifth_ms);
  EXPECT_EQ(pace_.ahead(), 2u);
  EXPECT_EQ(pace_.in_flight(), 6u);
}

int periods_until_it_shrinks(ReluctantNumber& n) {
  int periods = 1;
  while (!n.calm()) ++periods;
  return periods;
}

TEST(reluctant_number, grows_at_once_and_shrinks_by_a_quarter_after_calm) {
  ReluctantNumber n(2, 16);
  n.grow(12);
  EXPECT_EQ(n.value(), 12u);
  EXPECT_FALSE(n.calm());
  EXPECT_FALSE(n.calm());
  EXPECT_TRUE(n.calm());
  EXPECT_EQ(n.value(), 9u);
  n.grow(100);
  EXPECT_EQ(n.value(), 16u);
}

TEST(reluctant_number, asks_for_twice_the_calm_when_it_has_shrunk_too_early) {
  ReluctantNumber n(2, 16);
  n.grow(8);
  while (!n.calm()) continue;
  n.grow(8);
  EXPECT_EQ(periods_until_it_shrinks(n), 6);
}

TEST(reluctant_number, asks_for_twice_the_first_calm_where_only_the_last_step_down_was_too_much) {
  ReluctantNumber n(0, 64);
  int asked = 3;
  for (int i = 0; i < 4; ++i, asked *= 2) {
    n.grow(64);
    EXPECT_EQ(periods_until_it_shrinks(n), asked);
    while (n.value() > 8) n.calm();  // sooner and sooner
  }
}

TEST(reluctant_number, asks_for_no_longer_calm_than_it_is_told) {
  ReluctantNumber n(0, 64);
  n.set_most_patience(7);
  for (int i = 0; i < 10; ++i) {
    n.grow(64);
    periods_until_it_shrinks(n);
  }
  n.grow(64);
  EXPECT_EQ(periods_until_it_shrinks(n), 48) << "it is never told less than that";
  n.set_most_patience(200);
  for (int i = 0; i < 4; ++i) {
    n.grow(64);
    periods_until_it_shrinks(n);
  }
  n.grow(64);
  EXPECT_EQ(periods_until_it_shrinks(n), 200);
}

TEST(reluctant_number, one_busy_period_ends_the_calm) {
  ReluctantNumber n(0, 4);
  n.grow(1);
  EXPECT_FALSE(n.calm());
  EXPECT_FALSE(n.calm());
  n.busy();
  EXPECT_FALSE(n.calm());
  EXPECT_FALSE(n.calm());
  EXPECT_TRUE(n.calm());
  EXPECT_EQ(n.value(), 0u);
  EXPECT_FALSE(n.calm()) << "there is nothing less";
}

}  // namespace
}  // namespace weft::schedule

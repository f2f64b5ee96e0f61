// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/granting_node_for_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace weft::schedule {
namespace {

constexpr std::uint8_t ended = 2;
constexpr std::uint8_t passed = 3;
constexpr std::uint8_t agreed = 4;

TEST_F(granting_node, asks_for_nothing_while_enough_of_the_first_rounds_is_to_come) {
  start(2, 0, {.first_in_flight = 4, .first_rounds = 3});
  EXPECT_TRUE(grants().empty());
  for (const std::uint32_t input : {0u, 1u}) arrive(input, 100);
  EXPECT_TRUE(grants().empty()) << "four are to come";
  for (const std::uint32_t input : {0u, 1u}) arrive(input, 104);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 112}, {1, 112}}));
}

TEST_F(granting_node, looks_again_when_the_first_rounds_come_at_once) {
  start(2, 0, {.begins_full = true, .first_rounds = 200, .pair_bytes = 6'400'000});
  for (const std::uint32_t input : {0u, 1u}) arrive(input, 100);
  EXPECT_TRUE(grants().empty()) << "more is to come than the rings hold";
  arrive(0, 104, 1);
  EXPECT_TRUE(grants().empty()) << "too few for another look";
  EXPECT_LE(node_->next_deadline(), now_ + Duration::milliseconds(1));
  arrive(1, 104, 1);
  for (std::uint64_t round = 2; round < 200; ++round) {
    for (const std::uint32_t input : {0u, 1u}) arrive(input, 100 + 4 * round, 1);
  }
  EXPECT_FALSE(grants().empty()) << "nothing is to come, within a millisecond of the last look";
}

TEST_F(granting_node, lets_everybody_send_the_first_round_without_a_grant) {
  start(4, 0, {.min_in_flight = 4, .first_in_flight = 4, .first_window = 0});
  EXPECT_TRUE(grants().empty());
  arrive(3, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}})) << "the walk begins with its own number";
}

TEST_F(granting_node, walks_over_the_inputs_downwards_beginning_with_its_own_number) {
  start(4, 2, {.min_in_flight = 1, .first_in_flight = 1, .first_window = 0, .max_in_flight = 1});
  first_round(4);
  for (const std::uint32_t input : {2u, 1u, 0u, 3u}) {
    EXPECT_EQ(grants(), (std::vector<Granted>{{input, 106}}));
    arrive(input, 106);
  }
}

TEST_F(granting_node, keeps_only_so_many_in_flight_and_asks_on_arrival) {
  start(4, 0, {.min_in_flight = 2, .first_in_flight = 2, .first_window = 0});
  first_round(4);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}, {3, 104}}));
  EXPECT_TRUE(grants().empty());
  arrive(3, 104);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 104}}));
}

TEST_F(granting_node, grants_many_small_contributions_by_one_message) {
  start(2, 0, {.min_in_flight = 64, .first_in_flight = 64, .first_window = 0});
  first_round(2);
  EXPECT_EQ(grants().size(), 64u);
  EXPECT_EQ(messages_, 2u) << "32 contributions each";
  for (std::uint64_t k = 1; k < 8; ++k) {
    arrive(0, 100 + 4 * k);
    arrive(1, 100 + 4 * k);
    EXPECT_TRUE(grants().empty()) << "a quarter of 32 makes a message";
  }
  arrive(0, 132);
  arrive(1, 132);
  EXPECT_EQ(grants().size(), 16u);
  EXPECT_EQ(messages_, 2u);
}

/// The node has no processor for most of the time: whenever it looks, all that was granted is
/// there.
TEST_F(granting_node, has_more_out_when_inputs_use_up_their_grants_between_two_looks) {
  start(2, 0,
        {.min_in_flight = 8, .first_in_flight = 8, .first_window = 0, .pair_descriptors = 64});
  first_round(2);
  std::array<std::uint64_t, 2> round{1, 1};
  const auto look = [&](bool takes_all) {
    (void)grants();
    now_ = now_ + Duration::microseconds(500);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint64_t until = takes_all ? told_[i] : std::min(told_[i], round[i] + 1);
      for (; round[i] < until; ++round[i]) arrive(i, 100 + 4 * round[i], 1);
    }
    now_ = now_ + Duration::microseconds(500);
  };
  for (int i = 0; i < 100; ++i) look(false);
  const std::uint32_t before = node_->pace().in_flight();
  for (int i = 0; i < 100; ++i) look(true);
  EXPECT_EQ(before, 8u);
  EXPECT_EQ(node_->pace().in_flight(), 2u * 128) << "twice what the rings hold";
}

/// The nodes agree on less: what had been granted before still comes in larger bursts.
TEST_F(granting_node, grants_of_a_larger_share_do_not_show_that_inputs_wait) {
  start(2, 0,
        {.min_in_flight = 8, .first_in_flight = 8, .first_window = 0, .pair_descriptors = 64});
  first_round(2);
  std::array<std::uint64_t, 2> round{1, 1};
  const auto look_with = [&](std::uint32_t agreed_on) {
    hear(0, agreed, 0, agreed_on);
    (void)grants();
    now_ = now_ + Duration::milliseconds(1);
  };
  for (int i = 0; i < 100; ++i) {
    look_with(64);
    for (std::uint32_t k = 0; k < 2; ++k) {
      for (; round[k] + 1 < told_[k]; ++round[k]) arrive(k, 100 + 4 * round[k], 1);
    }
    look_with(8);
  }
  hear(0, agreed, 0, 0);
  EXPECT_EQ(node_->pace().in_flight(), 78u) << "62 come in 2 ms, 1 ms after their grants";
}

/// One contribution each 10 us, each 1 ms after its grant: the path holds 25 rounds of 4.
TEST_F(granting_node, lets_inputs_be_further_apart_when_the_path_holds_many_rounds) {
  start(4, 0);
  struct Way {
    Granted what;
    Instant due;
  };
  std::vector<Way> under_way;
  std::uint64_t arrived_of_1 = 0, granted_of_0 = 0;
  for (std::uint32_t i = 0; i < 4; ++i) under_way.push_back({{i, 100}, now_});
  const auto run = [&](int arrivals, bool with_1) {
    for (int n = 0; n < arrivals; ++n) {
      for (const Granted& g : grants()) {
        under_way.push_back({g, now_ + Duration::milliseconds(1)});
        if (g.input == 0) granted_of_0 = g.timeslice;
      }
      const auto next = std::find_if(under_way.begin(), under_way.end(), [&](const Way& w) {
        return w.due <= now_ && (with_1 || w.what.input != 1);
      });
      if (next == under_way.end()) {
        now_ = now_ + Duration::microseconds(10);
        continue;
      }
      if (next->what.input == 1) arrived_of_1 = next->what.timeslice;
      const Granted what = next->what;
      under_way.erase(next);
      arrive(what.input, what.timeslice);
    }
  };
  run(4000, true);
  const std::uint64_t window = node_->pace().in_flight();
  EXPECT_GE(node_->pace().path_holds(), 90);
  run(400, false);
  const std::uint64_t apart = (granted_of_0 - arrived_of_1) / grid_.computes;
  EXPECT_GT(apart, window / 4 + 16);
  EXPECT_LE(apart, 3 * (window / 4) + 16);
}

TEST_F(granting_node, grants_no_more_than_the_rings_of_the_pairs_hold) {
  start(2, 0,
        {.min_in_flight = 64, .first_in_flight = 64, .first_window = 0, .pair_bytes = 850'000});
  first_round(2);
  EXPECT_EQ(grants().size(), 32u) << "8 contributions of 100,000 bytes in each, and as many again";
  start(2, 0,
        {.min_in_flight = 64, .first_in_flight = 64, .first_window = 0, .pair_descriptors = 5});
  first_round(2);
  EXPECT_EQ(grants().size(), 20u);
}

TEST_F(granting_node, asks_nobody_who_left_or_whose_stream_has_ended) {
  start(3, 0, {.min_in_flight = 1, .first_in_flight = 1, .first_window = 0, .max_in_flight = 1});
  first_round(3);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
  arrive(0, 104);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 104}}));
  node_->on_input(now_, 2, false);
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 104}}));
  hear(1, ended, 1, 0);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 108}}));
  hear(0, ended, 2, 0);
  EXPECT_TRUE(grants().empty()) << "there is nobody left to ask";
}

TEST_F(granting_node, learns_nothing_from_a_clock_that_is_set_back) {
  constexpr std::uint32_t inputs = 8;
  start(inputs, 0);
  now_ = now_ + Duration::seconds(2);
  first_round(inputs);
  (void)grants();
  std::uint64_t t = 104;
  usual_rounds(inputs, t);
  const std::uint32_t wish = wish_;
  EXPECT_GT(wish, 16u) << "more than one, in sixteenths";
  // Contributions that came before they were asked for, one would think: less than none would do.
  now_ = now_ - Duration::microseconds(200);
  usual_rounds(inputs, t);
  EXPECT_EQ(wish_, wish);
}

TEST_F(granting_node, a_timeslice_that_is_done_already_is_passed_over) {
  start(1, 0, {.min_in_flight = 1, .first_in_flight = 1, .first_window = 0, .max_in_flight = 1});
  first_round(1);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
  hear(0, passed, 2, 0);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 108}}));
  hear(0, passed, 7, 0);
  EXPECT_TRUE(grants().empty()) << "nobody asked for those";
}

TEST_F(granting_node, repeats_what_it_said_while_a_connection_was_gone) {
  start(2, 0, {.min_in_flight = 2, .first_in_flight = 2, .first_window = 0, .max_in_flight = 2});
  first_round(2);
  std::uint64_t t = 104;
  (void)grants();
  usual_rounds(2, t);
  const std::vector<std::uint64_t> all = told_;
  node_->on_reconnected(1);
  told_[1] = (t - 100) / 4;
  EXPECT_FALSE(grants().empty());
  EXPECT_EQ(told_, all);
  now_ = now_ + Duration::seconds(1);
  arrive(1, t);
  arrive(0, t);
  EXPECT_EQ(grants().size(), 2u) << "no input node is late with what it never heard";
}

TEST_F(granting_node, a_first_round_may_be_late_and_several_may_not) {
  for (const std::uint64_t first_rounds : {1u, 2u}) {
    start(4, 0, {.first_in_flight = 16, .first_window = 0, .first_rounds = first_rounds});
    for (std::uint64_t t = 100; t < 100 + 4 * first_rounds; t += 4) {
      for (const std::uint32_t input : {1u, 2u, 3u}) arrive(input, t, 0);
    }
    bool waits = false;
    for (std::vector<Granted> more = grants(); !more.empty(); more = grants()) {
      now_ = now_ + Duration::microseconds(10);
      for (const Granted& g : more) {
        if (g.input != 0) arrive(g.input, g.timeslice, 0);
      }
      waits = waits || node_->next_deadline() != Instant::never();
    }
    waits = waits || node_->next_deadline() != Instant::never();
    EXPECT_EQ(waits, first_rounds == 1) << "until input 0 is late";
  }
}

TEST_F(granting_node, asks_for_nothing_too_far_ahead_of_who_is_behind) {
  start(3, 0, {.min_in_flight = 3, .first_in_flight = 3, .first_window = 0, .max_in_flight = 3});
  arrive(0, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
  arrive(2, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 104}}));
  arrive(0, 104);
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 104}})) << "the next one is there when it answers";
  arrive(2, 104);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 108}}));
  arrive(0, 108);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 108}}));
  arrive(2, 108);
  EXPECT_TRUE(grants().empty()) << "input 1 has not delivered the first timeslice";
}

TEST_F(granting_node, a_straggler_is_asked_for_nothing_more_while_the_others_go_on) {
  start(4, 0, {.min_in_flight = 2, .first_in_flight = 2, .first_window = 0, .max_in_flight = 2});
  first_round(4);
  (void)grants();
  std::uint64_t t = 104;
  usual_rounds(4, t);
  // Input 0 does not answer for a long time; the others do.
  std::vector<Granted> asked;
  for (const std::uint64_t of : {t, t + 4}) {
    for (std::uint32_t i = 1; i < 4; ++i) {
      arrive(i, of, 200);
      for (const Granted& g : grants()) asked.push_back(g);
    }
  }
  for (const Granted& g : asked) {
    EXPECT_LE(g.timeslice, t + 4) << "two timeslices, the oldest among them";
    EXPECT_NE(g.input, 0u);
  }
  EXPECT_TRUE(grants().empty());
  arrive(0, t);
  const auto after = grants();
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(after[0], (Granted{0, t + 4})) << "the straggler is asked again at once";
}

TEST_F(granting_node, what_turns_late_frees_its_place) {
  start(4, 0, {.min_in_flight = 1, .first_in_flight = 1, .first_window = 0, .max_in_flight = 1});
  first_round(4);
  (void)grants();
  for (std::uint64_t t = 104; t < 128; t += 4) {
    for (const std::uint32_t i : {0u, 3u, 2u, 1u}) {
      arrive(i, t);
      (void)grants();
    }
  }
  EXPECT_TRUE(grants().empty()) << "input 0 is asked";
  const Instant due = node_->next_deadline();
  ASSERT_NE(due, Instant::never());
  EXPECT_LE(due - now_, Duration::microseconds(21)) << "usual is 10 us, late after twice that";
  now_ = due;
  EXPECT_EQ(grants(), (std::vector<Granted>{{3, 128}}));
}

/// Grants beyond the oldest timeslice wait for room in rings, which only that timeslice makes.
TEST_F(granting_node, asks_for_the_oldest_timeslice_when_later_ones_take_the_whole_window) {
  start(4, 0, {.min_in_flight = 1, .first_in_flight = 4, .first_window = 0});
  first_round(4);
  (void)grants();
  hear(1, agreed, 0, 4);
  std::uint64_t t = 104;
  usual_rounds(4, t);
  now_ = now_ + Duration::milliseconds(10);  // input 0 pauses, and owes its share
  hear(1, agreed, 0, 32);
  (void)grants();
  constexpr std::uint64_t ring_holds = 4;
  std::array<std::uint64_t, 4> round;
  round.fill(grid_.round_of(TimesliceIndex(t)));
  const auto others_send = [&] {
    for (std::uint32_t i = 1; i < 4; ++i) {
      while (round[i] < told_[i] && round[i] < round[0] + ring_holds) {
        arrive(i, grid_.timeslice(round[i]++, 0).value());
        (void)grants();
      }
    }
  };
  others_send();
  now_ = now_ + Duration::milliseconds(10);
  hear(1, agreed, 0, 3);
  for (int k = 0; k < 100; ++k) {
    ASSERT_LT(round[0], told_[0]) << "it is asked for nothing, and everybody waits for it";
    arrive(0, grid_.timeslice(round[0]++, 0).value());
    others_send();
    (void)grants();
  }
}

TEST_F(granting_node, nobody_is_late_by_the_largest_factor) {
  start(2, 0, {.min_in_flight = 8, .first_window = 0, .max_in_flight = 8, .late_factor = ~0u});
  first_round(2);
  (void)grants();
  std::uint64_t t = 104;
  for (int round = 0; round < 8; ++round, t += 4) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      arrive(i, t, 1'500'000);
      (void)grants();
    }
  }
  const std::uint64_t arrived = grid_.round_of(TimesliceIndex(t));
  EXPECT_EQ(told_[0] - arrived, 4u) << "half of what may be out";
  EXPECT_EQ(told_[1] - arrived, 4u);
}

TEST_F(granting_node, nobody_is_late_where_credit_decides) {
  // Four contributions for each of two input nodes: a grant waits for room in the ring.
  start(2, 0,
        {.min_in_flight = 64, .first_in_flight = 64, .first_window = 0, .pair_descriptors = 2});
  first_round(2);
  EXPECT_EQ(grants().size(), 8u);
  std::uint64_t t = 104;
  usual_rounds(2, t);
  (void)grants();
  EXPECT_EQ(node_->next_deadline(), Instant::never());
  arrive(1, t, 1000);
  EXPECT_EQ(grants().size(), 1u);
  EXPECT_EQ(node_->next_deadline(), Instant::never());
}

/// Rings of 64: 128 rounds for each of two input nodes are out. An eighth of that is worth a look.
TEST_F(granting_node, few_contributions_wait_for_others_while_the_rings_worth_is_out) {
  start(
      2, 0,
      {.min_in_flight = 1000, .first_in_flight = 1000, .first_window = 0, .pair_descriptors = 64});
  first_round(2);
  EXPECT_EQ(grants().size(), 2u * 128);
  std::uint64_t t = 104;
  const auto come = [&](int rounds) {
    for (int k = 0; k < rounds; ++k, t += 4) {
      arrive(0, t);
      arrive(1, t);
      (void)grants();
    }
  };
  come(5);
  EXPECT_GT(node_->next_deadline(), now_);
  EXPECT_LE(node_->next_deadline(), now_ + Duration::milliseconds(1));
  now_ = node_->next_deadline();
  (void)grants();
  EXPECT_EQ(node_->next_deadline(), Instant::never()) << "it has looked";
  come(200);
  EXPECT_GE(told_[0] - (t - 100) / 4, 96u - 24 - 12) << "a message is for a quarter of 96";
  EXPECT_EQ(told_[0], told_[1]);
}

/// One is 30 rounds behind the other: it gets those first, and then both as much.
TEST_F(granting_node, many_rounds_at_once_go_to_who_is_behind_first) {
  start(2, 0,
        {.min_in_flight = 48, .first_in_flight = 48, .first_window = 0, .open_timeslices = 64});
  first_round(2);
  EXPECT_EQ(grants().size(), 48u);
  EXPECT_EQ(told_, (std::vector<std::uint64_t>{25, 25}));
  for (std::uint64_t r = 1; r < 25; ++r) arrive(0, 100 + 4 * r, 0);
  (void)grants();
  const std::uint64_t ahead = told_[0];
  for (std::uint64_t r = 1; r < 25; ++r) arrive(1, 100 + 4 * r, 0);
  (void)grants();
  EXPECT_GE(told_[1], ahead - 6) << "less than a quarter of a share is not worth a message";
}

TEST_F(granting_node, others_arrive_together_with_an_input_that_is_always_last) {
  start(4, 0, {});
  // Each input answers its grants one after the other: 10 us each, input 3 takes 100 us.
  struct Answer {
    Instant due{};
    Granted granted;
  };
  std::vector<Answer> answers;
  for (std::uint32_t i = 0; i < 4; ++i) answers.push_back({now_, {i, 100}});
  std::vector<Instant> busy_until(4, now_);
  std::vector<Instant> first_of(1000), last_of(1000);
  std::uint64_t complete = 0;
  const std::uint64_t rounds = 200;
  while (complete < 4 * rounds) {
    for (const Granted& g : grants()) {
      Instant& free = busy_until[g.input];
      free = std::max(free, now_) + Duration::microseconds(g.input == 3 ? 100 : 10);
      answers.push_back({free, g});
    }
    const auto next = std::min_element(answers.begin(), answers.end(),
                                       [](auto& a, auto& b) { return a.due < b.due; });
    const Instant asked_for = node_->next_deadline();
    if (next == answers.end() || asked_for < next->due) {
      ASSERT_NE(asked_for, Instant::never()) << "nothing would ever happen again";
      now_ = std::max(now_, asked_for);
      continue;
    }
    const Answer answer = *next;
    answers.erase(next);
    now_ = answer.due;
    node_->on_contribution(now_, answer.granted.input, TimesliceIndex(answer.granted.timeslice),
                           ByteCount(100'000));
    const std::size_t round = (answer.granted.timeslice - 100) / 4;
    const auto of_slow = std::count_if(answers.begin(), answers.end(),
                                       [](const Answer& a) { return a.granted.input == 3; });
    if (round > rounds - 20) {
      EXPECT_LE(of_slow, 1) << "it is asked for one thing at a time";
    }
    if (first_of[round] == Instant{}) first_of[round] = now_;
    last_of[round] = now_;
    ++complete;
  }
  EXPECT_TRUE(node_->pace().is_slow(3));
  Duration widest{};
  for (std::size_t r = rounds - 20; r < rounds - 1; ++r) {
    widest = std::max(widest, last_of[r] - first_of[r]);
  }
  EXPECT_LE(widest, Duration::microseconds(60)) << "a round of the slow one takes 100";
  EXPECT_LE(now_ - Instant{1000}, Duration::microseconds(101 * 200)) << "it was never idle";
}

TEST_F(granting_node, has_one_input_tell_what_is_agreed_on_and_keeps_to_it) {
  start(3, 1, {.min_in_flight = 1, .first_in_flight = 1, .first_window = 0});
  first_round(3);
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 105}}));
  EXPECT_EQ(tellers_, (std::vector<std::uint32_t>{1}));
  hear(1, agreed, 0, 3);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 105}, {2, 105}}));
  EXPECT_EQ(tellers_.size(), 1u);
}

TEST_F(granting_node, asks_another_input_to_tell_when_that_one_leaves) {
  start(3, 1, {.min_in_flight = 2, .first_in_flight = 2, .first_window = 0});
  first_round(3);
  node_->on_input(now_, 1, false);
  (void)grants();
  EXPECT_EQ(tellers_, (std::vector<std::uint32_t>{2}));
}

TEST_F(granting_node, hostile_messages_change_nothing) {
  start(2, 0, {.min_in_flight = 1, .first_in_flight = 1, .first_window = 0});
  (void)grants();
  node_->on_message(now_, 7, std::vector<std::byte>(13));
  node_->on_message(now_, 0, std::vector<std::byte>(3));
  hear(0, passed, ~std::uint64_t{0}, 0);
  hear(0, 77, 0, 0);                                                   // no such kind
  node_->on_contribution(now_, 0, TimesliceIndex(101), ByteCount(1));  // another node's
  EXPECT_TRUE(grants().empty());
}

}  // namespace
}  // namespace weft::schedule

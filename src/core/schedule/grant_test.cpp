// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace weft::schedule {
namespace {

// Kind, timeslice, number of grants.
constexpr std::size_t message_size = 1 + 8 + 2;
constexpr std::uint8_t ended = 2;
constexpr std::uint8_t passed = 3;
constexpr std::uint8_t agreed = 4;

struct Granted {
  std::uint32_t input = 0;
  std::uint64_t timeslice = 0;
  bool operator==(const Granted&) const = default;
};

class granting_node : public ::testing::Test {
 protected:
  void start(std::uint32_t inputs, std::uint32_t self, GrantOptions options = {}) {
    node_ = std::make_unique<GrantCompute>(options, inputs);
    for (std::uint32_t i = 0; i < inputs; ++i) node_->on_input(now_, i, true);
    node_->on_grid(now_, grid_, self);
  }
  std::vector<Granted> grants() {
    MessageBox box(64);
    node_->write_messages(now_, box);
    std::vector<Granted> list;
    for (const Message& m : box.view()) {
      std::uint64_t t = 0;
      std::memcpy(&t, m.bytes.data() + 1, sizeof t);
      std::memcpy(&wish_, m.bytes.data() + 9, sizeof wish_);
      list.push_back({m.to, t});
      if (m.bytes[0] == std::byte{1}) tellers_.push_back(m.to);
    }
    return list;
  }
  void arrive(std::uint32_t input, std::uint64_t timeslice, std::int64_t after_us = 10) {
    now_ = now_ + Duration::microseconds(after_us);
    node_->on_contribution(now_, input, TimesliceIndex(timeslice), ByteCount(1000));
  }
  // Rounds that all inputs answer in order, so that the node knows what is usual.
  void usual_rounds(std::uint32_t inputs, std::uint64_t& t) {
    for (int round = 0; round < 6; ++round, t += 4) {
      for (std::uint32_t i = 0; i < inputs; ++i) {
        arrive(i, t);
        (void)grants();
      }
    }
  }
  void hear(std::uint32_t from, std::uint8_t kind, std::uint64_t timeslice, std::uint16_t grants) {
    std::byte bytes[message_size];
    bytes[0] = std::byte{kind};
    std::memcpy(bytes + 1, &timeslice, 8);
    std::memcpy(bytes + 9, &grants, 2);
    node_->on_message(now_, from, bytes);
  }
  void decline(std::uint32_t input, std::uint64_t timeslice, std::uint8_t kind) {
    hear(input, kind, timeslice, 0);
  }

  const RoundGrid grid_{.first = TimesliceIndex(100), .computes = 4};
  std::unique_ptr<GrantCompute> node_;
  Instant now_{1000};
  std::vector<std::uint32_t> tellers_;  // that were asked to tell what is agreed on
  std::uint16_t wish_ = 0;              // in the last grant
};

TEST_F(granting_node, walks_over_the_inputs_beginning_with_its_own_number) {
  start(4, 2, {.min_in_flight = 4, .first_in_flight = 4});
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 102}, {3, 102}, {0, 102}, {1, 102}}));
}

TEST_F(granting_node, keeps_only_so_many_in_flight_and_asks_on_arrival) {
  start(4, 0, {.min_in_flight = 2, .first_in_flight = 2});
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 100}, {1, 100}}));
  EXPECT_TRUE(grants().empty());
  arrive(1, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 100}}));
}

TEST_F(granting_node, goes_on_with_the_next_round_when_all_are_asked) {
  start(2, 1, {.min_in_flight = 2, .first_in_flight = 2});
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 101}, {0, 101}}));
  arrive(1, 101);
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 105}}));
}

TEST_F(granting_node, asks_nobody_who_left_or_whose_stream_has_ended) {
  start(3, 0, {.min_in_flight = 1, .first_in_flight = 1, .max_in_flight = 1});
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 100}}));
  arrive(0, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 100}}));
  node_->on_input(now_, 1, false);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 100}}));
  decline(2, 100, ended);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
  decline(0, 104, ended);
  EXPECT_TRUE(grants().empty()) << "there is nobody left to ask";
}

TEST_F(granting_node, learns_nothing_from_a_clock_that_is_set_back) {
  constexpr std::uint32_t inputs = 8;
  start(inputs, 0);
  now_ = now_ + Duration::seconds(2);
  (void)grants();
  std::uint64_t t = 100;
  usual_rounds(inputs, t);
  const std::uint16_t wish = wish_;
  EXPECT_GT(wish, 16) << "more than one, in sixteenths";
  // Contributions that came before they were asked for, one would think: less than none would do.
  now_ = now_ - Duration::microseconds(200);
  usual_rounds(inputs, t);
  EXPECT_EQ(wish_, wish);
}

TEST_F(granting_node, a_timeslice_that_is_done_already_is_passed_over) {
  start(1, 0, {.min_in_flight = 1, .first_in_flight = 1});
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 100}}));
  decline(0, 100, passed);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
}

TEST_F(granting_node, asks_whoever_is_furthest_behind_and_nobody_too_far_ahead) {
  start(3, 0, {.min_in_flight = 3, .first_in_flight = 3, .max_in_flight = 3});
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 100}, {1, 100}, {2, 100}}));
  arrive(0, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
  arrive(0, 104);
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 104}}));
  arrive(2, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 104}}));
  arrive(2, 104);
  EXPECT_TRUE(grants().empty()) << "input 1 has not delivered the first timeslice";
  arrive(1, 100);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 108}, {1, 108}}));
}

TEST_F(granting_node, a_straggler_is_asked_for_nothing_more_while_the_others_go_two_rounds) {
  start(4, 0, {.min_in_flight = 2, .first_in_flight = 2, .max_in_flight = 2});
  (void)grants();
  std::uint64_t t = 100;
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
    EXPECT_LE(g.timeslice, t + 4);
    EXPECT_NE(g.input, 0u);
  }
  EXPECT_TRUE(grants().empty());
  arrive(0, t);
  const auto after = grants();
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(after[0], (Granted{0, t + 4})) << "the straggler is asked again at once";
}

TEST_F(granting_node, a_late_grant_frees_its_place_when_it_turns_late) {
  start(4, 0, {.min_in_flight = 1, .first_in_flight = 1, .max_in_flight = 1});
  (void)grants();
  std::uint64_t t = 100;
  usual_rounds(4, t);
  EXPECT_TRUE(grants().empty());
  const Instant due = node_->next_deadline();
  ASSERT_NE(due, Instant::never());
  EXPECT_LE(due - now_, Duration::microseconds(21)) << "usual is 10 us, late after twice that";
  now_ = due;
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, t}}));
}

TEST_F(granting_node, others_arrive_together_with_an_input_that_is_always_last) {
  start(4, 0, {});
  // Each input answers its grants one after the other: 10 us each, input 3 takes 100 us.
  struct Answer {
    Instant due{};
    Granted granted;
  };
  std::vector<Answer> answers;
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
                           ByteCount(1000));
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
  EXPECT_EQ(node_->pace().slow(), 3u);
  Duration widest{};
  for (std::size_t r = rounds - 20; r < rounds - 1; ++r) {
    widest = std::max(widest, last_of[r] - first_of[r]);
  }
  EXPECT_LE(widest, Duration::microseconds(60)) << "a round of the slow one takes 100";
  EXPECT_LE(now_ - Instant{1000}, Duration::microseconds(101 * 200)) << "it was never idle";
}

TEST_F(granting_node, has_one_input_tell_what_is_agreed_on_and_keeps_to_it) {
  start(3, 1, {.min_in_flight = 1, .first_in_flight = 1});
  EXPECT_EQ(grants(), (std::vector<Granted>{{1, 101}}));
  EXPECT_EQ(tellers_, (std::vector<std::uint32_t>{1}));
  hear(1, agreed, 0, 3);
  EXPECT_EQ(grants(), (std::vector<Granted>{{2, 101}, {0, 101}}));
  EXPECT_EQ(tellers_.size(), 1u);
}

TEST_F(granting_node, asks_another_input_to_tell_when_that_one_leaves) {
  start(3, 1, {.min_in_flight = 2, .first_in_flight = 2});
  node_->on_input(now_, 1, false);
  (void)grants();
  EXPECT_EQ(tellers_, (std::vector<std::uint32_t>{2}));
}

TEST_F(granting_node, hostile_messages_change_nothing) {
  start(2, 0, {.min_in_flight = 1, .first_in_flight = 1});
  (void)grants();
  node_->on_message(now_, 7, std::vector<std::byte>(message_size));
  node_->on_message(now_, 0, std::vector<std::byte>(3));
  decline(0, 5, ended);                                                // before the grid
  decline(0, 100, 77);                                                 // no such kind
  node_->on_contribution(now_, 0, TimesliceIndex(101), ByteCount(1));  // another node's
  EXPECT_TRUE(grants().empty());
}

class Ready final : public SendState {
 public:
  Readiness answer = Readiness::sendable;
  Readiness readiness(TimesliceIndex) const override { return answer; }
};

void give(GrantInput& input, std::uint64_t timeslice, std::uint32_t from = 0,
          std::uint16_t wish = 0, bool tell = false) {
  std::byte bytes[message_size] = {};
  bytes[0] = std::byte{tell};
  std::memcpy(bytes + 1, &timeslice, 8);
  std::memcpy(bytes + 9, &wish, 2);
  input.on_message(Instant{}, from, bytes);
}

TEST(granted_input, sends_what_was_granted_and_nothing_else) {
  GrantInput input({}, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  Ready state;
  EXPECT_EQ(input.choose(Instant{}, state).kind, Choice::Kind::wait);
  give(input, 3);
  give(input, 2);
  EXPECT_EQ(input.choose(Instant{}, state).timeslice, TimesliceIndex(3));
  input.on_started(Instant{}, TimesliceIndex(3));
  EXPECT_EQ(input.choose(Instant{}, state).timeslice, TimesliceIndex(2));
}

TEST(granted_input, serves_the_node_that_is_behind_before_those_that_are_ahead) {
  GrantInput input({}, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  Ready state;
  give(input, 5);
  give(input, 2);
  EXPECT_EQ(input.choose(Instant{}, state).timeslice, TimesliceIndex(2));
}

TEST(granted_input, tells_who_wants_to_know_how_many_grants_are_agreed_on) {
  GrantInput input({}, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  give(input, 2, 0, 16 * 3);
  give(input, 3, 1, 16 * 5, true);
  MessageBox box(4);
  input.write_messages(Instant{}, box);
  ASSERT_EQ(box.size(), 1u);
  EXPECT_EQ(box[0].to, 1u);
  EXPECT_EQ(box[0].bytes[0], std::byte{agreed});
  EXPECT_EQ(box[0].bytes[9], std::byte{5});
  box.clear();
  input.write_messages(Instant{}, box);
  EXPECT_TRUE(box.empty()) << "it has been told";
}

TEST(granted_input, declines_what_is_after_its_end) {
  GrantInput input({}, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  Ready state;
  state.answer = Readiness::after_end;
  give(input, 5);
  EXPECT_EQ(input.choose(Instant{}, state).kind, Choice::Kind::wait);
  MessageBox box(4);
  input.write_messages(Instant{}, box);
  ASSERT_EQ(box.size(), 1u);
  EXPECT_EQ(box[0].to, 1u);
  EXPECT_EQ(box[0].bytes[0], std::byte{ended});
}

}  // namespace
}  // namespace weft::schedule

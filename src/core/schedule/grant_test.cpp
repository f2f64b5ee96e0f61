// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weft::schedule {
namespace {

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
      std::memcpy(&t, m.bytes.data(), sizeof t);
      list.push_back({m.to, t});
    }
    return list;
  }
  void arrive(std::uint32_t input, std::uint64_t timeslice, std::int64_t after_us = 10) {
    now_ = now_ + Duration::microseconds(after_us);
    node_->on_contribution(now_, input, TimesliceIndex(timeslice), ByteCount(1000));
  }
  void decline(std::uint32_t input, std::uint64_t timeslice, std::uint8_t kind) {
    std::byte bytes[9];
    std::memcpy(bytes, &timeslice, 8);
    bytes[8] = std::byte{kind};
    node_->on_message(now_, input, bytes);
  }

  const RoundGrid grid_{.first = TimesliceIndex(100), .computes = 4};
  std::unique_ptr<GrantCompute> node_;
  Instant now_{1000};
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
  decline(2, 100, 1);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
  decline(0, 104, 1);
  EXPECT_TRUE(grants().empty()) << "there is nobody left to ask";
}

TEST_F(granting_node, a_timeslice_that_is_done_already_is_passed_over) {
  start(1, 0, {.min_in_flight = 1, .first_in_flight = 1});
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 100}}));
  decline(0, 100, 2);
  EXPECT_EQ(grants(), (std::vector<Granted>{{0, 104}}));
}

TEST_F(granting_node, while_a_straggler_is_late_at_most_one_more_timeslice_is_begun) {
  start(4, 0, {.min_in_flight = 2, .first_in_flight = 2, .max_in_flight = 2});
  (void)grants();
  std::uint64_t t = 100;
  for (int round = 0; round < 4; ++round, t += 4) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      arrive(i, t);
      (void)grants();
    }
  }
  // Of this round input 0 does not answer for a long time; the others do, and so in the next.
  std::uint64_t newest = 0;
  for (const std::uint64_t of : {t, t + 4}) {
    for (std::uint32_t i = 1; i < 4; ++i) {
      arrive(i, of, 200);
      for (const Granted& g : grants()) newest = std::max(newest, g.timeslice);
    }
  }
  EXPECT_LE(newest, t + 4);
  EXPECT_TRUE(grants().empty());
  arrive(0, t);
  const auto after = grants();
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(after[0], (Granted{0, t + 4})) << "the straggler is asked again at once";
}

TEST_F(granting_node, hostile_messages_change_nothing) {
  start(2, 0, {.min_in_flight = 1, .first_in_flight = 1});
  (void)grants();
  node_->on_message(now_, 7, std::vector<std::byte>(9));
  node_->on_message(now_, 0, std::vector<std::byte>(3));
  decline(0, 5, 1);                                                    // before the grid
  decline(0, 100, 77);                                                 // no such kind
  node_->on_contribution(now_, 0, TimesliceIndex(101), ByteCount(1));  // another node's
  EXPECT_TRUE(grants().empty());
}

class Ready final : public SendState {
 public:
  Readiness answer = Readiness::sendable;
  Readiness readiness(TimesliceIndex) const override { return answer; }
};

void give(GrantInput& input, std::uint64_t timeslice) {
  std::byte bytes[9] = {};
  std::memcpy(bytes, &timeslice, 8);
  input.on_message(Instant{}, 0, bytes);
}

TEST(granted_input, sends_in_order_of_the_grants_and_nothing_else) {
  GrantInput input({}, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  Ready state;
  EXPECT_EQ(input.choose(Instant{}, state).kind, Choice::Kind::wait);
  give(input, 5);
  give(input, 2);
  EXPECT_EQ(input.choose(Instant{}, state).timeslice, TimesliceIndex(5));
  input.on_started(Instant{}, TimesliceIndex(5));
  EXPECT_EQ(input.choose(Instant{}, state).timeslice, TimesliceIndex(2));
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
  EXPECT_EQ(box[0].bytes[8], std::byte{1});
}

TEST(in_flight_probe, takes_more_when_more_is_faster_and_not_otherwise) {
  for (const bool faster : {true, false}) {
    InFlightProbe probe(2, 4, 64);
    probe.set_period(10);
    Instant now{};
    for (int i = 0; i < 5000; ++i) {
      // Up to 12 in flight help, or none at all beyond 4.
      const std::int64_t useful = std::min<std::int64_t>(probe.value(), faster ? 12 : 4);
      now = now + Duration(120'000 / useful);
      probe.on_arrival(now, 1000);
      probe.on_spread(Duration(100));
    }
    if (faster) {
      EXPECT_GE(probe.value(), 11u);
      EXPECT_LE(probe.value(), 20u);
    } else {
      EXPECT_GE(probe.value(), 4u);
      EXPECT_LE(probe.value(), 6u);
    }
  }
}

}  // namespace
}  // namespace weft::schedule

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/acknowledgement_tracker.hpp"

#include <gtest/gtest.h>

namespace weft::schedule::dfs {
namespace {

constexpr IntervalId id(std::uint64_t n) {
  return IntervalId(n);
}

TEST(acknowledgement_tracker, last_acknowledgement_ends_the_interval) {
  AcknowledgementTracker acks(16, 95);
  acks.reset(2, 2);
  acks.open(id(0), Instant(100), Duration(50));
  acks.all_started(id(0), 4, true);
  for (int n = 0; n < 3; ++n) acks.acknowledged(Instant(110 + n), id(0), 0, Duration(5));
  EXPECT_EQ(acks.completed(), nullptr);
  acks.acknowledged(Instant(170), id(0), 1, Duration(5));
  const CompletedInterval* done = acks.completed();
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->start, Instant(100));
  EXPECT_EQ(done->end, Instant(170));
  EXPECT_EQ(done->proposed, Duration(50));
}

TEST(acknowledgement_tracker, does_not_end_before_everything_was_started) {
  AcknowledgementTracker acks(16, 95);
  acks.reset(1, 2);
  acks.open(id(0), Instant(0), {});
  acks.acknowledged(Instant(5), id(0), 0, Duration(5));
  acks.acknowledged(Instant(9), id(0), 0, Duration(5));
  EXPECT_EQ(acks.completed(), nullptr);
  acks.all_started(id(0), 2, true);
  ASSERT_NE(acks.completed(), nullptr);
  EXPECT_EQ(acks.completed()->end, Instant(9));
}

// Known mistake of the public implementations: theta is hard-coded (0.7, 0.95, 0.995).
TEST(acknowledgement_tracker, next_interval_starts_at_the_configured_threshold) {
  for (const int threshold : {0, 25, 50, 100}) {
    AcknowledgementTracker acks(16, threshold);
    acks.reset(1, 8);
    acks.open(id(6), Instant(0), {});
    acks.all_started(id(6), 8, true);
    for (int n = 0; n < 8; ++n) {
      EXPECT_EQ(acks.may_start(id(7)), n * 100 >= threshold * 8) << threshold << " % at " << n;
      acks.acknowledged(Instant(n), id(6), 0, {});
    }
    EXPECT_TRUE(acks.may_start(id(7)));
  }
}

TEST(acknowledgement_tracker, latency_is_the_median_of_the_connection) {
  AcknowledgementTracker acks(16, 95);
  acks.reset(2, 3);
  acks.open(id(0), Instant(0), {});
  acks.all_started(id(0), 6, true);
  // To engine 0: 10, 90, 20: median 20. To engine 1: 7, 5, 6: median 6.
  const std::int64_t to_first[] = {10, 90, 20};
  const std::int64_t to_second[] = {7, 5, 6};
  for (int n = 0; n < 3; ++n) {
    acks.acknowledged(Instant(n), id(0), 0, Duration(to_first[n]));
    acks.acknowledged(Instant(n), id(0), 1, Duration(to_second[n]));
  }
  EXPECT_EQ(acks.median_latency(id(0), 0), Duration(20));
  EXPECT_EQ(acks.median_latency(id(0), 1), Duration(6));
}

TEST(acknowledgement_tracker, intervals_overlap) {
  AcknowledgementTracker acks(16, 50);
  acks.reset(1, 2);
  acks.open(id(0), Instant(0), {});
  acks.all_started(id(0), 2, true);
  acks.acknowledged(Instant(1), id(0), 0, {});
  ASSERT_TRUE(acks.may_start(id(1)));
  acks.open(id(1), Instant(2), {});
  acks.acknowledged(Instant(3), id(1), 0, {});
  acks.acknowledged(Instant(4), id(0), 0, {});
  ASSERT_NE(acks.completed(), nullptr);
  EXPECT_EQ(acks.completed()->id, id(0));
  EXPECT_EQ(acks.completed()->end, Instant(4));
}

TEST(acknowledgement_tracker, an_interval_without_a_place_must_wait) {
  AcknowledgementTracker acks(16, 0);
  acks.reset(1, 2);
  for (std::uint64_t n = 0; n < 4; ++n) {
    ASSERT_TRUE(acks.may_start(id(n)));
    acks.open(id(n), Instant(0), {});
    acks.all_started(id(n), 1, true);
  }
  EXPECT_FALSE(acks.may_start(id(4)));
  acks.acknowledged(Instant(1), id(0), 0, {});
  EXPECT_FALSE(acks.may_start(id(4)));  // not reported yet
  acks.dismiss(id(0));
  EXPECT_TRUE(acks.may_start(id(4)));
}

TEST(acknowledgement_tracker, interval_with_gaps_is_not_reported) {
  AcknowledgementTracker acks(16, 95);
  acks.reset(1, 2);
  acks.open(id(0), Instant(0), {});
  acks.all_started(id(0), 1, false);
  acks.acknowledged(Instant(1), id(0), 0, {});
  EXPECT_EQ(acks.completed(), nullptr);
  EXPECT_TRUE(acks.may_start(id(1)));
}

TEST(acknowledgement_tracker, acknowledgements_of_other_intervals_change_nothing) {
  AcknowledgementTracker acks(16, 95);
  acks.reset(1, 2);
  acks.open(id(4), Instant(0), {});
  acks.all_started(id(4), 1, true);
  acks.acknowledged(Instant(1), id(0), 0, {});  // the same place, another interval
  EXPECT_EQ(acks.completed(), nullptr);
}

}  // namespace
}  // namespace weft::schedule::dfs

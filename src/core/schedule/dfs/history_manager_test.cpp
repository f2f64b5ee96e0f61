// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/history_manager.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::schedule::dfs {
namespace {

IntervalMeta meta(std::uint64_t id, std::int64_t start, std::int64_t duration,
                  std::int64_t proposed = 0) {
  return {.id = IntervalId(id),
          .start = Instant(start),
          .duration = Duration(duration),
          .proposed = Duration(proposed)};
}

TEST(history_manager, interval_completes_when_all_inputs_have_reported) {
  HistoryManager history(3, 10, 16);
  EXPECT_EQ(history.record(0, meta(0, 100, 50)), 0u);
  EXPECT_EQ(history.record(2, meta(0, 100, 50)), 0u);
  EXPECT_EQ(history.size(), 0u);
  EXPECT_EQ(history.record(1, meta(0, 100, 50)), 1u);
  EXPECT_EQ(history.size(), 1u);
  EXPECT_EQ(history.latest().id, IntervalId(0));
  EXPECT_EQ(history.latest().inputs, 3u);
}

// Known mistake of the public implementations: (min + max) / 2, which one of them makes the
// minimum.
TEST(history_manager, average_start_weighs_every_input) {
  HistoryManager history(4, 10, 16);
  history.record(0, meta(0, 100, 50));
  history.record(1, meta(0, 100, 50));
  history.record(2, meta(0, 100, 50));
  history.record(3, meta(0, 500, 50));
  // (100 + 100 + 100 + 500) / 4 = 200, where (min + max) / 2 would be 300.
  EXPECT_EQ(history.latest().average_start, Instant(200));
}

// Known mistake of the public implementations: the mean where the paper says median.
TEST(history_manager, duration_is_the_median_of_the_inputs) {
  HistoryManager history(5, 10, 16);
  const std::int64_t durations[] = {40, 42, 41, 43, 900};
  for (std::uint32_t i = 0; i < 5; ++i) history.record(i, meta(0, 0, durations[i]));
  EXPECT_EQ(history.latest().median_duration, Duration(42));  // the mean would be 213
}

// Known mistake of a public implementation: the first interval's duration is divided by ten.
TEST(history_manager, first_interval_counts_as_measured) {
  HistoryManager history(1, 10, 16);
  history.record(0, meta(0, 0, 1'000));
  EXPECT_EQ(history.latest().median_duration, Duration(1'000));
}

// Known mistake of a public implementation: recording happens inside of assert(), which a release
// build drops. This test means something because it is built with NDEBUG too.
TEST(history_manager, intervals_are_recorded_in_every_build_type) {
  HistoryManager history(2, 3, 16);
  for (std::uint64_t j = 0; j < 5; ++j) {
    history.record(0, meta(j, 0, 10));
    history.record(1, meta(j, 0, 10));
  }
  EXPECT_EQ(history.size(), 3u);
  EXPECT_EQ(history.latest(0).id, IntervalId(4));
  EXPECT_EQ(history.latest(2).id, IntervalId(2));
}

TEST(history_manager, proposed_duration_is_the_median_of_those_who_had_one) {
  HistoryManager history(3, 10, 16);
  history.record(0, meta(0, 0, 50, 0));
  history.record(1, meta(0, 0, 50, 40));
  history.record(2, meta(0, 0, 50, 44));
  EXPECT_EQ(history.latest().median_proposed, Duration(42));
  for (std::uint32_t i = 0; i < 3; ++i) history.record(i, meta(1, 0, 50));
  EXPECT_EQ(history.latest().median_proposed, Duration{});
}

TEST(history_manager, dead_input_is_not_waited_for) {
  HistoryManager history(3, 10, 16);
  history.record(0, meta(0, 0, 50));
  history.record(1, meta(0, 0, 60));
  EXPECT_EQ(history.set_live(2, false), 1u);
  EXPECT_EQ(history.latest().inputs, 2u);
  EXPECT_EQ(history.record(0, meta(1, 0, 50)), 0u);
  EXPECT_EQ(history.record(1, meta(1, 0, 50)), 1u);
}

TEST(history_manager, what_a_dead_input_reported_before_is_left_out) {
  HistoryManager history(3, 10, 16);
  history.record(2, meta(0, 0, 9'000));
  history.set_live(2, false);
  history.record(0, meta(0, 0, 50));
  history.record(1, meta(0, 0, 50));
  EXPECT_EQ(history.latest().inputs, 2u);
  EXPECT_EQ(history.latest().median_duration, Duration(50));
}

TEST(history_manager, input_that_comes_back_is_waited_for_again) {
  HistoryManager history(2, 10, 16);
  history.set_live(1, false);
  EXPECT_EQ(history.record(0, meta(0, 0, 50)), 1u);
  history.set_live(1, true);
  EXPECT_EQ(history.record(0, meta(1, 0, 50)), 0u);
  EXPECT_EQ(history.record(1, meta(1, 0, 50)), 1u);
}

TEST(history_manager, partly_seen_interval_is_dropped_when_a_later_one_completes) {
  // A restarted engine: input 0 had reported interval 7 before it came up.
  HistoryManager history(2, 10, 16);
  history.record(1, meta(7, 0, 50));
  history.record(0, meta(8, 0, 50));
  EXPECT_EQ(history.record(1, meta(8, 0, 50)), 1u);
  EXPECT_EQ(history.size(), 1u);
  EXPECT_EQ(history.latest().id, IntervalId(8));
  EXPECT_EQ(history.record(0, meta(7, 0, 50)), 0u);  // too late
  EXPECT_EQ(history.size(), 1u);
}

TEST(history_manager, silent_input_holds_up_no_more_than_the_window) {
  HistoryManager history(3, 10, 4);
  std::uint32_t completed = 0;
  for (std::uint64_t j = 0; j < 5; ++j) {
    completed += history.record(0, meta(j, 10, 50));
    completed += history.record(1, meta(j, 20, 50));
  }
  // Interval 4 needs the room of interval 0, which completes with the two inputs it has.
  EXPECT_EQ(completed, 1u);
  EXPECT_EQ(history.latest().id, IntervalId(0));
  EXPECT_EQ(history.latest().inputs, 2u);
  EXPECT_EQ(history.latest().average_start, Instant(15));
}

TEST(history_manager, repeated_report_counts_once) {
  HistoryManager history(2, 10, 16);
  history.record(0, meta(0, 0, 50));
  EXPECT_EQ(history.record(0, meta(0, 0, 50)), 0u);
  EXPECT_EQ(history.size(), 0u);
}

TEST(history_manager, serves_192_inputs) {
  // Known mistake of the public implementations: at most 15 connections.
  HistoryManager history(192, 10, 16);
  std::uint32_t completed = 0;
  for (std::uint32_t i = 0; i < 192; ++i) completed += history.record(i, meta(0, i, 1'000 + i));
  EXPECT_EQ(completed, 1u);
  EXPECT_EQ(history.latest().average_start, Instant(95));        // 0 + … + 191 = 18336; / 192
  EXPECT_EQ(history.latest().median_duration, Duration(1'095));  // (1095 + 1096) / 2
}

TEST(history_manager, new_grid_drops_what_is_pending_only) {
  HistoryManager history(2, 10, 16);
  history.record(0, meta(0, 0, 50));
  history.record(1, meta(0, 0, 50));
  history.record(0, meta(1, 0, 50));
  history.forget_pending();
  EXPECT_EQ(history.record(1, meta(1, 0, 50)), 0u);
  EXPECT_EQ(history.size(), 1u);
  history.clear();
  EXPECT_EQ(history.size(), 0u);
}

}  // namespace
}  // namespace weft::schedule::dfs

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/proposer.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace weft::schedule::dfs {
namespace {

constexpr Duration ms(std::int64_t n) {
  return Duration::milliseconds(n);
}

// One input; pairs of measured and proposed milliseconds, oldest first, intervals 0, 1, …
HistoryManager history_of(std::initializer_list<std::pair<int, int>> intervals,
                          std::uint32_t length = 10) {
  HistoryManager history(1, length, 16);
  std::uint64_t id = 0;
  for (const auto& [measured, proposed] : intervals) {
    history.record(0, {.id = IntervalId(id),
                       .start = Instant{} + ms(1'000 * static_cast<int>(id)),
                       .duration = ms(measured),
                       .proposed = ms(proposed)});
    ++id;
  }
  return history;
}

TEST(proposer, start_is_that_of_the_papers_equation) {
  // w = 2 started at 2000 ms and took 110 ms; the median of {100, 130, 110} is 110 ms.
  const HistoryManager history = history_of({{100, 0}, {130, 0}, {110, 0}});
  const Plan plan = Proposer(DfsOptions{}).plan(history);
  EXPECT_EQ(plan.last(), IntervalId(2));
  EXPECT_EQ(plan.spacing(), ms(110));
  // tp_4 = (2000 + 110) + (4 − 2 − 1) · 110 = 2220; tp_3 = 2110; tp_7 = 2110 + 4 · 110 = 2550.
  EXPECT_EQ(plan.start_of(IntervalId(4)), Instant{} + ms(2'220));
  EXPECT_EQ(plan.start_of(IntervalId(3)), Instant{} + ms(2'110));
  EXPECT_EQ(plan.start_of(IntervalId(7)), Instant{} + ms(2'550));
}

// Known mistake of the public implementations: the mean where the paper says median.
TEST(proposer, duration_rests_on_the_median_of_the_history) {
  const HistoryManager history = history_of({{100, 0}, {100, 0}, {100, 0}, {900, 0}, {100, 0}});
  Proposer proposer{DfsOptions{}};
  EXPECT_EQ(proposer.median_duration(history), ms(100));  // the mean is 260
  EXPECT_EQ(proposer.plan(history).duration(), ms(100));
}

TEST(proposer, looks_back_no_further_than_the_history) {
  const HistoryManager history = history_of({{500, 0}, {500, 0}, {500, 0}, {90, 0}, {80, 0}}, 2);
  EXPECT_EQ(Proposer(DfsOptions{}).median_duration(history), ms(85));
}

// Known mistake of the public implementations: the "variance" is a signed mean difference.
TEST(proposer, variance_is_that_of_equation_1) {
  // |durm − durp| = 10, 20, 0, 10 ms: µ = 40 / 4 = 10 ms.
  // VAR = (0² + 10² + 10² + 0²) / 4 = 50 ms². Signed differences would cancel: −10 + 20 + 0 − 10.
  const HistoryManager history = history_of({{90, 100}, {120, 100}, {100, 100}, {90, 100}});
  const Deviation deviation = Proposer::deviation(history);
  EXPECT_EQ(deviation.intervals, 4u);
  EXPECT_EQ(deviation.mean, ms(10));
  const Wide square_millisecond = Wide{1'000'000} * 1'000'000;
  EXPECT_TRUE(deviation.variance == 50 * square_millisecond);
}

TEST(proposer, variance_leaves_out_intervals_without_a_proposal) {
  const HistoryManager history = history_of({{900, 0}, {110, 100}, {90, 100}});
  const Deviation deviation = Proposer::deviation(history);
  EXPECT_EQ(deviation.intervals, 2u);
  EXPECT_EQ(deviation.mean, ms(10));
  EXPECT_TRUE(deviation.variance == 0);
}

// Known mistake of a public implementation: the test of the speed-up is inverted.
TEST(proposer, speeds_up_when_the_variance_is_low) {
  const HistoryManager history = history_of({{100, 95}, {100, 95}, {100, 95}});
  // VAR = 0 ≤ (10 % of 100 ms)²: durp = 100 · (100 − 5) / 100 = 95 ms.
  EXPECT_EQ(Proposer(DfsOptions{}).plan(history).duration(), ms(95));
}

TEST(proposer, does_not_speed_up_when_the_variance_is_high) {
  // |differences| 0 and 40 ms: µ = 20, VAR = 400 ms², √VAR = 20 ms > 10 % of the median 120 ms.
  const HistoryManager history = history_of({{100, 100}, {140, 100}});
  EXPECT_EQ(Proposer(DfsOptions{}).plan(history).duration(), ms(120));
}

TEST(proposer, threshold_is_relative_to_the_median_and_inclusive) {
  // |differences| 0 and 20 ms: √VAR = 10 ms, median 100 ms: exactly 10 %.
  const HistoryManager history = history_of({{90, 90}, {110, 90}});
  EXPECT_EQ(Proposer(DfsOptions{}).plan(history).duration(), ms(95));
  DfsOptions stricter;
  stricter.speed_up_threshold_percent = 9.99;
  EXPECT_EQ(Proposer(stricter).plan(history).duration(), ms(100));
}

TEST(proposer, speed_up_has_the_configured_size) {
  DfsOptions options;
  options.speed_up_percent = 20;
  const HistoryManager history = history_of({{100, 100}});
  EXPECT_EQ(Proposer(options).plan(history).duration(), ms(80));
  options.speed_up_percent = 0;
  EXPECT_EQ(Proposer(options).plan(history).duration(), ms(100));
}

TEST(proposer, does_not_speed_up_before_any_proposal_was_followed) {
  const HistoryManager history = history_of({{100, 0}, {100, 0}});
  EXPECT_EQ(Proposer(DfsOptions{}).plan(history).duration(), ms(100));
}

TEST(proposer, speed_up_leaves_the_spacing_of_starts_alone) {
  const HistoryManager history = history_of({{100, 100}});
  const Plan plan = Proposer(DfsOptions{}).plan(history);
  EXPECT_EQ(plan.spacing(), ms(100));
  EXPECT_EQ(plan.duration(), ms(95));
}

TEST(proposer, longest_durations_do_not_overflow) {
  HistoryManager history(1, 1'000, 16);
  for (std::uint64_t id = 0; id < 1'000; ++id) {
    const Duration d = id % 2 == 0 ? longest_duration : Duration(1);
    history.record(0, {.id = IntervalId(id), .start = {}, .duration = d, .proposed = Duration(1)});
  }
  // Half deviates by 2^45 − 1, half by 0: VAR = ((2^45 − 1) / 2)², which is not below 10 %.
  const Deviation deviation = Proposer::deviation(history);
  const Wide half = (longest_duration.ticks() - 1) / 2;
  EXPECT_TRUE(deviation.variance >= half * half);
  EXPECT_TRUE(deviation.variance <= (half + 1) * (half + 1));
  EXPECT_FALSE(Proposer(DfsOptions{}).may_speed_up(deviation, longest_duration));
}

}  // namespace
}  // namespace weft::schedule::dfs

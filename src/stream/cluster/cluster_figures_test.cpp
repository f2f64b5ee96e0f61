// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/cluster_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::stream {
namespace {

TEST(cluster_figures, a_report_moves_to_another_clock_as_a_whole) {
  NodeReport report;
  report.started = Instant(100);
  report.ended = Instant(200);
  report.intervals.push_back(
      {.id = IntervalId(1), .start = Instant(110), .proposed = Duration(5), .actual = Duration(6)});
  report.built.push_back({.at = 120, .index = 3, .spread_us = 4});
  report.fills.push_back({.at = 130, .input = 0, .fill = 0.5});
  shift_clock(report, {Instant(100), InstantOf<LeaderClock>(50)});
  EXPECT_EQ(report.started, Instant(50));
  EXPECT_EQ(report.ended, Instant(150));
  EXPECT_EQ(report.intervals[0].start, Instant(60));
  EXPECT_EQ(report.intervals[0].actual, Duration(6));
  EXPECT_EQ(report.built[0].at, 70);
  EXPECT_EQ(report.fills[0].at, 80);
}

TEST(cluster_figures, a_report_of_nothing_stays_one) {
  NodeReport report;
  shift_clock(report, {Instant(50), InstantOf<LeaderClock>(100)});
  EXPECT_EQ(report.started, Instant::never());
  EXPECT_EQ(report.ended, Instant{});
}

TEST(cluster_figures, names_the_first_option_that_differs) {
  StreamOptions a, b;
  EXPECT_FALSE(options_differ(shared_options(a), shared_options(b)));
  b.computes = 3;
  b.schedule = "dfs";
  EXPECT_EQ(options_differ(shared_options(b), shared_options(a)),
            "--computes 3 instead of --computes 4");
  b.computes = 4;
  EXPECT_EQ(options_differ(shared_options(b), shared_options(a)),
            "--schedule dfs instead of --schedule grant");
}

TEST(cluster_figures, options_of_no_consequence_for_others_may_differ) {
  StreamOptions a, b;
  b.source = "file:other";
  b.sinks = {"tsa:out"};
  b.sink_depth = 3;
  EXPECT_FALSE(options_differ(shared_options(a), shared_options(b)));
}

TEST(cluster_figures, lists_of_different_length_differ) {
  EXPECT_TRUE(options_differ("--a 1\n--b 2\n", "--a 1\n"));
  EXPECT_TRUE(options_differ("", "--a 1\n"));
  EXPECT_FALSE(options_differ("", ""));
}

}  // namespace
}  // namespace weft::stream

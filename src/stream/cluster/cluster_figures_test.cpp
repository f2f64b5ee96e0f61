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
  shift_clock(report, Duration(-50));
  EXPECT_EQ(report.started, Instant(50));
  EXPECT_EQ(report.ended, Instant(150));
  EXPECT_EQ(report.intervals[0].start, Instant(60));
  EXPECT_EQ(report.intervals[0].actual, Duration(6));
  EXPECT_EQ(report.built[0].at, 70);
  EXPECT_EQ(report.fills[0].at, 80);
}

TEST(cluster_figures, a_report_of_nothing_stays_one) {
  NodeReport report;
  shift_clock(report, Duration(50));
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

TEST(cluster_figures, progress_adds_up_counts_and_averages_the_rest) {
  JobProgress progress((Instant(0)));
  const std::vector<StreamProgress> nodes = {
      {},
      {.timeslices = 10, .bytes = 1000, .spread_us = 4, .buffer_fill = 0.5},
      {.timeslices = 20, .bytes = 3000, .spread_us = 8, .buffer_fill = 0.1}};
  const auto total = progress.total(Instant{} + Duration::seconds(2), nodes);
  EXPECT_EQ(total.timeslices, 30u);
  EXPECT_EQ(total.bytes, 4000u);
  EXPECT_EQ(total.spread_us, 6);
  EXPECT_DOUBLE_EQ(total.buffer_fill, 0.3);
  EXPECT_EQ(total.goodput_bytes_per_s, 2000);
  const auto fewer = progress.total(Instant{} + Duration::seconds(3), {nodes[1]});
  EXPECT_EQ(fewer.goodput_bytes_per_s, 0);
}

}  // namespace
}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
#include "report/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace weft::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunRecord run(const std::string& schedule, double median_us = 8000, double share = 0.97) {
  RunRecord r;
  r.schedule = schedule;
  r.fabric = "tcp";
  r.inputs = 4;
  r.computes = 4;
  r.timeslices_complete = 1000;
  r.goodput_bytes_per_s = share * 100e6;
  r.limit_bytes_per_s = 100e6;
  r.goodput_of_limit = share;
  r.spread_us = Quantiles{median_us / 2, median_us, median_us, median_us, median_us * 2};
  r.spread_floor_us = 7500;
  return r;
}

RunRecord limit_run(const std::string& fabric, double best) {
  RunRecord r = run("limit");
  r.fabric = fabric;
  r.timeslices_complete = 0;
  r.limit = {{65536, false, 10, best / 8, best / 2}, {131072, false, 10, best / 4, best}};
  return r;
}

TEST(words, runs_are_labelled_by_what_tells_them_apart) {
  EXPECT_THAT(run_labels(std::vector{run("dfs"), run("offset")}), ElementsAre("dfs", "offset"));

  RunRecord small = run("dfs");
  RunRecord large = run("dfs");
  small.parameters = {{"link", "1Gbit"}, {"buffer", "2"}};
  large.parameters = {{"link", "1Gbit"}, {"buffer", "16"}};
  EXPECT_THAT(run_labels(std::vector{small, large, run("offset")}),
              ElementsAre("dfs, buffer 2", "dfs, buffer 16", "offset"));

  RunRecord elsewhere = run("dfs");
  elsewhere.fabric = "libfabric:shm";
  EXPECT_THAT(run_labels(std::vector{run("dfs"), elsewhere}),
              ElementsAre("dfs, tcp", "dfs, libfabric:shm"));
  EXPECT_THAT(run_labels(std::vector{run("dfs"), run("dfs")}), ElementsAre("dfs #1", "dfs #2"));
  EXPECT_THAT(run_labels(std::vector{limit_run("tcp", 1e9), limit_run("shm", 1e9)}),
              ElementsAre("tcp", "shm"));
}

TEST(words, title_says_what_the_runs_share) {
  EXPECT_EQ(title_of(std::vector{run("dfs")}), "dfs on tcp, 4 × 4");
  EXPECT_EQ(title_of(std::vector{run("dfs"), run("offset")}), "Schedules compared on tcp, 4 × 4");
  RunRecord other = run("dfs");
  other.fabric = "shm";
  other.inputs = 8;
  EXPECT_EQ(title_of(std::vector{run("dfs"), other}), "dfs compared");
  EXPECT_EQ(title_of(std::vector{limit_run("tcp", 1e9)}), "Many-to-many limit on tcp, 4 × 4");
}

TEST(words, summary_sets_the_best_against_the_worst) {
  const std::string text = summary_of(
      std::vector{run("offset", 30000, 0.8), run("best-effort", 90000, 0.5), run("dfs")});
  EXPECT_EQ(text,
            "4 input nodes streamed to 4 compute nodes over tcp, in 3 runs. With dfs, half of the "
            "timeslices were complete within 8 ms (1.07 times the floor) of their first "
            "contribution, at a goodput of 97 MB/s (97.0 % of the limit); with best-effort, within "
            "90 ms (12 times the floor), at 50 MB/s (50.0 % of the limit).");
}

TEST(words, summary_tells_of_contributions_that_arrive_at_once) {
  const std::string begin = "4 input nodes streamed to 4 compute nodes over tcp";
  const std::string grant =
      "With grant, all contributions of half of the timeslices arrived at once, at a goodput of 97 "
      "MB/s (97.0 % of the limit)";
  EXPECT_EQ(summary_of(std::vector{run("grant", 0)}), begin + ". " + grant + ".");
  EXPECT_EQ(summary_of(std::vector{run("grant", 0), run("best-effort", 90000, 0.5)}),
            begin + ", in 2 runs. " + grant +
                "; with best-effort, within 90 ms (12 times the floor), at 50 MB/s (50.0 % of the "
                "limit).");
  EXPECT_EQ(summary_of(std::vector{run("grant", 0), run("dfs", 0.0004)}),
            begin + ", in 2 runs. " + grant +
                "; with dfs, also at once, at 97 MB/s (97.0 % of the limit).")
      << "less than half a nanosecond is no time";
}

TEST(words, summary_leaves_out_what_was_not_measured) {
  RunRecord bare = run("dfs");
  bare.spread_us.reset();
  bare.goodput_of_limit.reset();
  EXPECT_EQ(summary_of(std::vector{bare}),
            "4 input nodes streamed to 4 compute nodes over tcp. The goodput was 97 MB/s.");
}

TEST(words, summary_of_limits_names_the_best_message_size) {
  EXPECT_EQ(summary_of(std::vector{limit_run("tcp", 2e9)}),
            "Without any schedule or credit, 4 senders writing to 4 receivers reached at most "
            "2 GB/s over tcp (messages of 128 KiB).");
}

TEST(words, verdict_speaks_of_checks_only_where_all_runs_have_one) {
  RunRecord checked = run("dfs");
  checked.parameters.emplace_back("sink", "check:");
  EXPECT_EQ(verdict_of(std::vector{checked, checked}).sentence,
            "All 2,000 timeslices arrived complete, and no check failed.");
  EXPECT_EQ(verdict_of(std::vector{checked, run("offset")}).sentence,
            "All 2,000 timeslices arrived complete. Contents were not checked.");
}

TEST(words, verdict_tells_of_a_run_that_a_signal_ended) {
  RunRecord cut = run("dfs");
  cut.interrupted = true;
  EXPECT_TRUE(verdict_of(std::vector{cut}).good);
  const Verdict verdict = verdict_of(std::vector{run("offset"), cut});
  EXPECT_FALSE(verdict.good) << "its figures do not compare with the others";
  EXPECT_EQ(verdict.sentence,
            "A signal ended dfs early. All 2,000 timeslices arrived complete. Contents were not "
            "checked.");
}

TEST(words, verdict_counts_what_went_wrong_in_all_runs) {
  RunRecord bad = run("dfs");
  bad.timeslices_lost = 1;
  bad.timeslices_incomplete = 1200;
  bad.checks.errors = 2;
  bad.checks.first_error = "timeslice 7: crc differs";
  const Verdict verdict = verdict_of(std::vector{run("offset"), bad});
  EXPECT_FALSE(verdict.good);
  EXPECT_EQ(verdict.sentence,
            "1 timeslice lost, 1,200 timeslices incomplete, 2 checks failed; the first error: "
            "timeslice 7: crc differs");
  EXPECT_EQ(verdict_of(std::vector{limit_run("tcp", 1e9)}).sentence, "");
}

TEST(words, verdict_tells_of_timeslices_that_arrived_and_that_nobody_took) {
  RunRecord unread = run("grant");
  unread.checks.dropped = 1000;
  const Verdict verdict = verdict_of(std::vector{unread});
  EXPECT_TRUE(verdict.good);
  EXPECT_EQ(verdict.sentence,
            "All 1,000 timeslices arrived complete. Contents were not checked. 1,000 timeslices "
            "dropped: the sink was too slow, or no consumer took them.");
}

TEST(words, figures_are_short) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(as_percent(0.9734), "97.3 %");
  EXPECT_EQ(as_times(1.041), "1.04×");
  EXPECT_EQ(as_times(13.27), "13.3×");
  EXPECT_EQ(as_time(20), "20 µs");
  EXPECT_EQ(as_time(38700), "38.7 ms");
  EXPECT_EQ(as_rate(11.9e6), "11.9 MB/s");
}

TEST(words, absurd_figures_are_still_written) {
  EXPECT_THAT(as_rate(-1), HasSubstr("B/s"));
  EXPECT_THAT(as_rate(1e300), HasSubstr("B/s"));
  EXPECT_THAT(as_time(1e300), HasSubstr("µs"));
  EXPECT_EQ(as_rate(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(as_time(std::numeric_limits<double>::infinity()), "–");
}

}  // namespace
}  // namespace weft::report

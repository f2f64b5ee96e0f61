// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_page.hpp"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

SweepRecord record() {
  SweepRecord record{.program = "hpcc",
                     .needs = "It needs 500 ns.",
                     .metric = "time",
                     .unit = "s",
                     .command = "weft sweep -- mpirun hpcc",
                     .model = [](double us, double b) { return 8 + us + 2 / b; },
                     .facts = {{"interposer", "ucx"}},
                     .rows = {{"5 %", "500 ns", "80 %"}},
                     .predictions = {{"-1 us, 200 %", "8 s"}},
                     .warnings = {"something else uses this machine"}};
  for (const double us : {0.0, 2.0, 10.0}) {
    for (const double b : {1.0, 0.1}) {
      const double value = record.model(us, b);
      record.points.push_back({.latency_us = us,
                               .bandwidth = b,
                               .median = value,
                               .low = value * 0.99,
                               .high = value * 1.02,
                               .slow_down = value / 10,
                               .runs = 7,
                               .rejected = 1});
    }
  }
  return record;
}

TEST(sweep_page, has_the_sentence_curves_map_and_tables) {
  const std::string page = sweep_page(record());
  for (const char* text :
       {"It needs 500 ns.", "Against latency", "Against bandwidth", "Slow-down on each network",
        "2.80×", "What it tolerates", "80 %", "Predictions of the model",
        "something else uses this machine", "10 % bandwidth", "stroke-dasharray"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf,"), std::string::npos);
}

TEST(sweep_page, marks_points_that_are_not_as_precise_as_requested) {
  SweepRecord noisy = record();
  EXPECT_EQ(sweep_page(noisy).find("uncertain"), std::string::npos);
  noisy.points[2].is_precise = false;
  noisy.points[2].low = 0.9 * noisy.points[2].median;
  noisy.points[2].high = 1.1 * noisy.points[2].median;
  EXPECT_NE(sweep_page(noisy).find("<td>± 10.0 % (uncertain)</td>"), std::string::npos);
}

TEST(sweep_page, keeps_a_percentage_and_its_sign_on_one_line) {
  SweepRecord wordy = record();
  wordy.needs = "It tolerates 5 % less.";
  wordy.warnings = {"known to ± 2 %"};
  const std::string page = sweep_page(wordy);
  EXPECT_NE(page.find("It tolerates 5&nbsp;% less."), std::string::npos);
  EXPECT_NE(page.find("known to ± 2&nbsp;%"), std::string::npos);
}

TEST(sweep_page, draws_intervals_at_one_place_beside_each_other) {
  const std::string page = sweep_page(record());
  // Two curves at the least latency: 2.5 to the left of it, and to the right.
  EXPECT_NE(page.find("cx=\"71.5\""), std::string::npos);
  EXPECT_NE(page.find("cx=\"76.5\""), std::string::npos);
}

TEST(sweep_page, draws_an_axis_only_when_it_was_varied) {
  SweepRecord one = record();
  std::erase_if(one.points, [](const SweepPagePoint& p) { return p.bandwidth < 1; });
  EXPECT_EQ(sweep_page(one).find("Against bandwidth"), std::string::npos);
  EXPECT_NE(sweep_page(one).find("Against latency"), std::string::npos);
  one.points.resize(1);
  EXPECT_EQ(sweep_page(one).find("nan"), std::string::npos);
}

TEST(sweep_page, escapes_what_the_record_says) {
  SweepRecord bad = record();
  bad.program = bad.needs = bad.unit = bad.warnings[0] = bad.facts[0].second =
      "<script>alert(1)</script>";
  EXPECT_EQ(sweep_page(bad).find("<script>alert"), std::string::npos);
}

}  // namespace
}  // namespace weft::report

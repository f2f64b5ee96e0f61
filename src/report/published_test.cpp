// SPDX-License-Identifier: Apache-2.0
#include "report/published.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::Not;

RunRecord run(const std::string& schedule, double goodput, double median_spread) {
  RunRecord r;
  r.schedule = schedule;
  r.fabric = "tcp";
  r.inputs = r.computes = 64;
  r.goodput_bytes_per_s = goodput;
  r.goodput_of_limit = goodput / 100;
  r.spread_us = Quantiles{1, 2, median_spread, 4, 5};
  r.buffer_fill = Quantiles{0, 0, 0.25, 0.5, 1};
  return r;
}

Reference reference(const std::string& schedule, const std::string& metric, double value) {
  return {schedule, std::nullopt, std::nullopt, {metric, "", value, "a paper", std::nullopt}};
}

TEST(published, each_metric_is_found_in_the_runs) {
  std::vector runs{run("best-effort", 40, 900), run("dfs", 60, 30)};
  std::vector<Reference> references;
  for (const std::string_view metric : published_metrics()) {
    references.push_back(reference("dfs", std::string(metric), 1));
  }
  attach_references(references, runs);
  EXPECT_TRUE(runs[0].published.empty());
  ASSERT_EQ(runs[1].published.size(), 5u);
  EXPECT_DOUBLE_EQ(*runs[1].published[0].ours, 0.6);
  EXPECT_DOUBLE_EQ(*runs[1].published[1].ours, 1.5);
  EXPECT_DOUBLE_EQ(*runs[1].published[2].ours, 30);
  EXPECT_DOUBLE_EQ(*runs[1].published[3].ours, 0.25);
  EXPECT_DOUBLE_EQ(*runs[1].published[4].ours, 0.5);
}

TEST(published, ratios_need_best_effort_of_the_same_size) {
  std::vector runs{run("best-effort", 40, 900), run("dfs", 60, 30)};
  runs[0].inputs = 32;
  attach_references(std::vector{reference("dfs", "spread_ratio", 30)}, runs);
  ASSERT_EQ(runs[1].published.size(), 1u);
  EXPECT_FALSE(runs[1].published[0].ours.has_value());
}

TEST(published, figures_of_other_sizes_are_left_out) {
  std::vector runs{run("dfs", 60, 30)};
  std::vector references{reference("dfs", "goodput_of_limit", 0.8),
                         reference("dfs", "goodput_of_limit", 0.67)};
  references[0].inputs = 64;
  references[1].inputs = 192;
  attach_references(references, runs);
  attach_references(references, runs);
  ASSERT_EQ(runs[0].published.size(), 1u);
  EXPECT_EQ(runs[0].published[0].value, 0.8);
}

TEST(published, the_report_shows_them_beside_ours) {
  std::vector runs{run("best-effort", 40, 900), run("dfs", 60, 30)};
  EXPECT_THAT(report_page(runs), Not(HasSubstr("id=\"published-title\"")));
  std::vector references{reference("dfs", "spread_ratio", 30)};
  references[0].figure.bound = "at least";
  references[0].figure.source = "<b>Fig. 6</b>";
  attach_references(references, runs);
  const std::string page = report_page(runs);
  EXPECT_THAT(page, HasSubstr("<td>30.0×</td><td>at least 30.0×</td>"));
  EXPECT_THAT(page, HasSubstr("<td>&lt;b&gt;Fig. 6"));
}

TEST(published, records_carry_them) {
  std::vector runs{run("dfs", 60, 30)};
  attach_references(
      std::vector{reference("dfs", "spread_ratio", 30), reference("dfs", "buffer_fill", 0.1)},
      runs);
  const auto read = from_json(to_json(runs[0], RecordForm::summary), "here");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->published, runs[0].published);
}

}  // namespace
}  // namespace weft::report

// SPDX-License-Identifier: Apache-2.0
#include "report/qos_page.hpp"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

QosRecord record() {
  return {.scenario = "small.toml",
          .topology = "fat-tree:64",
          .controller = "climb",
          .command = "weft qos --scenario small.toml",
          .iterations = 500,
          .placements = 2,
          .iterations_to_best = 60,
          .seed = 1,
          .jobs = {{"flood", "flood-pairs", 0, -0.2, -0.1, 0.125},
                   {"all", "all-to-all", 0, -0.1, -0.12, -0.02},
                   {"flood", "flood-pairs", 1, -0.3, -0.1, 0.28}},
          .steps = {{0, 0.0}, {1, 0.02}},
          .loads = {{"up", 2, 4, 0, 0.25}},
          .published = {{"Fig. 4: best job", "above +20 %", "+28.0 %"}}};
}

TEST(qos_page, has_the_papers_charts_and_both_sides_figures) {
  const std::string page = qos_page(record());
  for (const char* text :
       {"Work relative to isolation", "Improvement over default of each job", "Fig. 16",
        "above +20 %", "up, level 2", "25.0 %", "best +28.0 %, worst -2.0 %"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

TEST(qos_page, escapes_what_the_record_says) {
  QosRecord bad = record();
  bad.jobs[0].kind = bad.scenario = bad.command = "<script>alert(1)</script>";
  EXPECT_EQ(qos_page(bad).find("<script>alert"), std::string::npos);
}

TEST(qos_page, draws_a_single_job_without_any_difference) {
  QosRecord one = record();
  one.jobs = {{"flood", "flood-pairs", 0, 0, 0, 0}};
  EXPECT_EQ(qos_page(one).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace weft::report

// SPDX-License-Identifier: Apache-2.0
#include "report/qos_page.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
        "above +20 %", "up, level 2", ">work against isolation<", ">kind of job<",
        ">improvement over default<", ">accepted configurations<", ">jobs, the best first<",
        "25.0 %", "best +28.0 %, worst -2.0 %"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

TEST(qos_page, labels_of_the_axis_are_the_places_of_its_lines) {
  QosRecord small = record();
  small.placements = 1;
  small.jobs = {{"flood", "flood-pairs", 0, 0, 0, 0.0036}, {"all", "all-to-all", 0, 0, 0, -0.007}};
  const std::string page = qos_page(small);
  for (const char* text :
       {">-0.25 %<", ">0.75 %<", "fat-tree:64: 1 placement, 500 iterations, seed 1"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(page.find(">0.8 %<"), std::string::npos) << "0.75 %";
}

TEST(qos_page, draws_links_by_level_before_and_after_in_the_colour_of_their_load) {
  QosRecord with = record();
  with.network = {.levels = {0, 3},
                  .vertices = {{"host 0", 0}, {"host 1", 0}, {"leaf", 1}},
                  .links = {{0, 2, {0.25, 0}, {0.25, 0.75}}, {2, 1, {0, 0}, {0, 0}}}};
  const std::string page = qos_page(with);
  for (const char* text :
       {"All levels, default", "All levels, controlled", "Level 3, controlled",
        "<title>host 0 to leaf: 100.0 %</title>", "<title>host 0 to leaf: 75.0 %</title>",
        "stroke=\"#b91c1c\"", "stroke=\"#d4d4d8\""}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

TEST(qos_page, is_the_same_from_the_record_that_was_written) {
  QosRecord written = record();
  written.trade_offs = {{"default", {0.5, 0.9, 1}, true}};
  written.absent_jobs = {"late<1>"};
  written.network = {
      .levels = {0}, .vertices = {{"host 0", 0}, {"leaf", 1}}, .links = {{0, 1, {0.25}, {0.5}}}};
  const auto read = qos_from_json(to_json(written), "qos.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(qos_page(*read), qos_page(written));
  EXPECT_NE(qos_page(*read).find("after the last iteration: late&lt;1&gt;."), std::string::npos);
}

TEST(qos_page, damaged_records_are_refused_by_name_and_reason) {
  QosRecord bad = record();
  bad.network = {.levels = {0}, .vertices = {{"host 0", 0}}, .links = {{0, 1, {0}, {0}}}};
  EXPECT_EQ(qos_from_json(to_json(bad), "out/qos.json").error().message,
            "out/qos.json: has a link to no vertex; make it again with weft qos --out");
  EXPECT_EQ(qos_from_json("{}", "q").error().message,
            "q: key 'scenario' not found; make it again with weft qos --out");
  EXPECT_FALSE(qos_from_json("{", "q").ok());
  auto json = nlohmann::ordered_json::parse(to_json(record()));
  json["network"] = nullptr;
  EXPECT_EQ(qos_from_json(json.dump(), "q").error().message,
            "q: \"network\" is of a wrong type; make it again with weft qos --out");
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

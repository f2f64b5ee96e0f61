// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/assets.hpp"
#include "report/report.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::Not;

RunRecord run(const std::string& schedule) {
  RunRecord r;
  r.schedule = schedule;
  r.fabric = "tcp";
  r.inputs = 4;
  r.computes = 4;
  r.timeslices_complete = 1234;
  r.goodput_bytes_per_s = 97e6;
  r.spread_us = Quantiles{1, 2, 3, 4, 5};
  r.seed = 18446744073709551615u;
  r.version = "0.1.0";
  r.command = "weft stream local";
  r.parameters = {{"inputs", "4"}, {"schedule", schedule}};
  return r;
}

/// The text between `begin` and the next `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  const std::size_t start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

TEST(report_page, carries_its_libraries_with_their_licences) {
  if (chart_libraries().size() < 1000) GTEST_SKIP() << "built where npm could not be reached";
  EXPECT_GT(chart_libraries().size(), 500'000u);
  EXPECT_THAT(std::string(chart_libraries().substr(0, 3000)), HasSubstr("Redistribution and use"));
  const std::string page = report_page(std::vector{run("dfs")});
  EXPECT_THAT(page, HasSubstr(std::string(chart_libraries())));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(report_page, data_read_back_is_the_records) {
  const std::vector runs{run("dfs"), run("offset")};
  const std::string page = report_page(runs);
  const auto data = nlohmann::json::parse(
      between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["labels"][1], "offset");
  const Result<RunRecord> read = from_json(data["runs"][0].dump(), "page");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->parameters.size(), 2u);
  EXPECT_EQ(read->seed, runs[0].seed);
}

TEST(report_page, figures_depend_on_what_was_measured) {
  RunRecord bare = run("dfs");
  EXPECT_THAT(report_page(std::vector{bare}), Not(HasSubstr("id=\"intervals\"")));
  bare.intervals = {{0, 0, 1, 1}};
  EXPECT_THAT(report_page(std::vector{bare}), HasSubstr("id=\"intervals\""));
  EXPECT_THAT(report_page(std::vector{bare}), Not(HasSubstr("id=\"aggregate\"")));
}

TEST(report_page, fill_of_a_sample_of_rings_has_no_places) {
  RunRecord whole = run("dfs");
  for (std::uint32_t compute = 0; compute < 4; ++compute) {
    for (std::uint32_t input = 0; input < 4; ++input) {
      whole.series.buffer_fill.push_back({100, compute, input, 0.25});
    }
  }
  const std::string places = report_page(std::vector{whole});
  EXPECT_THAT(places, HasSubstr("each column shows one place"));
  EXPECT_THAT(places, HasSubstr("\"fill_is_sample\":false}"));

  RunRecord sample = whole;
  sample.schedule = "offset";
  sample.series.buffer_fill.erase(sample.series.buffer_fill.begin() + 5);
  const std::string boxes = report_page(std::vector{whole, sample});
  EXPECT_THAT(boxes, HasSubstr("the boxes show a sample of them"));
  EXPECT_THAT(boxes, Not(HasSubstr("each column shows one place")));
  EXPECT_THAT(boxes, HasSubstr("\"fill_is_sample\":true}"));
}

TEST(report_page, fill_of_whole_compute_nodes_is_a_sample_when_some_are_missing) {
  RunRecord r = run("dfs");
  for (std::uint32_t compute = 0; compute < 4; ++compute) {
    r.series.buffer_fill.push_back({100, compute, std::nullopt, 0.25});
  }
  EXPECT_THAT(report_page(std::vector{r}), HasSubstr("\"fill_is_sample\":false}"));
  r.series.buffer_fill.pop_back();
  EXPECT_THAT(report_page(std::vector{r}), HasSubstr("\"fill_is_sample\":true}"));
}

TEST(report_page, parameters_that_all_runs_share_are_said_once) {
  const std::string page = report_page(std::vector{run("dfs"), run("offset")});
  EXPECT_THAT(page, HasSubstr("inputs</th><td colspan=\"2\">4</td>"));
  EXPECT_THAT(
      page,
      HasSubstr("schedule</th><td data-run=\"dfs\">dfs</td><td data-run=\"offset\">offset</td>"));
}

TEST(report_page, says_what_was_built_where_when_a_node_died) {
  RunRecord r = run("dfs");
  EXPECT_THAT(report_page(std::vector{r}), Not(HasSubstr("What was built where")));
  r.by_compute = {{.compute = 0, .timeslices = 300, .repeated = 4},
                  {.compute = 1, .timeslices = 100, .reported = false}};
  r.faults = {{.t_us = 2e6, .what = "kill host5"}, {.t_us = 3e6, .what = "stop host50"}};
  const std::string page = report_page(std::vector{r});
  EXPECT_THAT(page, HasSubstr("compute 0, host4</th><td>300</td><td>75.0 %</td><td>4</td>"));
  EXPECT_THAT(page, HasSubstr("compute 1, host5</th><td>100</td><td>25.0 %</td><td>0</td>"
                              "<td class=\"words\">kill host5 at 2 s; gone at the end</td>"));
}

TEST(report_page, readable_without_scripts) {
  const std::string page = report_page(std::vector{run("dfs")});
  const std::string before_scripts = page.substr(0, page.find("<script"));
  for (const char* text :
       {"1,234", "97 MB/s", "<span>weft</span> <span>stream</span> <span>local</span>",
        "seed 18446744073709551615"}) {
    EXPECT_THAT(before_scripts, HasSubstr(text));
  }
}

TEST(report_page, hostile_text_stays_text) {
  const std::string attack = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"";
  RunRecord r = run(attack);
  r.fabric = r.version = r.command = r.checks.first_error = attack;
  r.checks.errors = 1;
  r.machine.host = r.machine.model = r.machine.kernel = attack;
  r.parameters = {{attack, attack}};
  const std::string page = report_page(std::vector{r, run("dfs")});
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
}

TEST(report_page, written_beside_the_records) {
  std::string dir = (std::filesystem::temp_directory_path() / "weft-report-XXXXXX").string();
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  ASSERT_FALSE(write_report(dir).ok());
  ASSERT_TRUE(write_run(dir, run("dfs")).ok());
  const Result<std::string> path = write_report(dir);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, dir + "/report.html");
  std::ostringstream text;
  text << std::ifstream(*path).rdbuf();
  EXPECT_EQ(text.str(), report_page(std::vector{run("dfs")}));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace weft::report

// SPDX-License-Identifier: Apache-2.0
// Several jobs in one scenario.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "soundness.hpp"

namespace weft::e2e {
namespace {

const std::string two_jobs = R"(seed = 3
faults = ["at=1ms stop second:host1 for=300us"]
[network]
topology = "star:10"
preset = "ib-edr"
[[levels]]
weight = 7
changes = [{at = "2ms", weight = 1}]
[[levels]]
[job]
inputs = 3
computes = 3
sink = "check:"
duration = "4ms"
[[jobs]]
name = "second"
start = "1ms"
level = 1
inputs = 2
computes = 2
schedule = "dfs"
timeslices-per-interval = 32
sink = "check:"
duration = "3ms"
peer-timeout = "5ms"
)";

TEST(several_jobs, each_has_its_figures_and_its_record) {
  ScratchDirectory directory;
  write_file(directory / "two.toml", two_jobs);
  const Ended ended = run_weft({"simulate", directory / "two.toml", "--json", "--out",
                                directory / "out", "--check-determinism"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto json = ended.json();
  ASSERT_EQ(json["jobs"].size(), 2u) << ended.describe();
  EXPECT_EQ(json["jobs"][0]["name"], "job");
  EXPECT_EQ(json["jobs"][1]["name"], "second");
  EXPECT_EQ(json["jobs"][1]["level"], 1);
  EXPECT_EQ(json["jobs"][1]["schedule"], "dfs");
  EXPECT_EQ(json["simulation"]["deterministic"], true);
  for (const auto& job : json["jobs"]) {
    EXPECT_GT(job["timeslices_complete"], 10) << ended.describe();
    EXPECT_EQ(job["timeslices_lost"], 0) << ended.describe();
    EXPECT_EQ(job["checks"]["errors"], 0) << ended.describe();
    EXPECT_TRUE(job["goodput_of_limit"].is_number()) << ended.describe();
  }
  const auto second = nlohmann::json::parse(read_file(directory / "out/second/run.json"));
  EXPECT_EQ(second["job"], "second");
  ASSERT_EQ(second["faults"].size(), 2u);
  EXPECT_EQ(second["faults"][1]["what"], "end of stop host1");
  EXPECT_NE(read_file(directory / "out/job/report.html"), "");
  const auto both = nlohmann::json::parse(read_file(directory / "out/compare.json"));
  EXPECT_EQ(both["runs"].size(), 2u);
  EXPECT_NE(read_file(directory / "out/report.html").find("Jobs side by side"), std::string::npos);
}

TEST(several_jobs, cannot_stand_behind_a_command_line) {
  ScratchDirectory directory;
  write_file(directory / "two.toml", two_jobs);
  const Ended ended = run_weft({"stream", "local", "--fabric", "sim:" + (directory / "two.toml")});
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_THAT(ended.errors, testing::HasSubstr("weft simulate"));
}

}  // namespace
}  // namespace weft::e2e

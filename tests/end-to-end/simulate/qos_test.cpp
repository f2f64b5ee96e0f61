// SPDX-License-Identifier: Apache-2.0
// weft qos: experiments with service levels, shorter than their scenarios say.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

Ended qos(std::vector<std::string> more) {
  more.insert(more.begin(), {"qos", "--scenario", WEFT_EXAMPLES "qos-small.toml", "--placements",
                             "1", "--set", "qos.period=1ms"});
  return run_weft(std::move(more), 60);
}

TEST(qos, prints_what_each_job_gained_and_leaves_a_page_beside_it) {
  const std::filesystem::path out = std::filesystem::path(testing::TempDir()) / "weft-qos";
  std::filesystem::remove_all(out);
  const Ended ended = qos({"--iterations", "2", "--json", "--out", out.string()});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto json = ended.json();
  EXPECT_EQ(json["controller"], "best");
  EXPECT_EQ(json["iterations"], 2);
  ASSERT_EQ(json["jobs"].size(), 8U);
  for (const char* key :
       {"name", "kind", "default_of_isolation", "controlled_of_isolation", "improvement"}) {
    EXPECT_TRUE(json["jobs"][0].contains(key)) << key;
  }
  for (const char* key :
       {"scenario", "placements", "seed", "wall_s", "median_improvement", "mean_improvement",
        "best_improvement", "worst_improvement", "iterations_to_best"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_TRUE(std::filesystem::exists(out / "qos.json"));
  EXPECT_TRUE(std::filesystem::remove(out / "qos.html"));
  const Ended report = run_weft({"report", out.string()}, 60);
  EXPECT_EQ(report.code, 0) << report.describe();
  EXPECT_TRUE(std::filesystem::exists(out / "qos.html")) << "from qos.json alone";
  std::filesystem::remove_all(out);
}

TEST(qos, prints_a_table_of_80_columns_into_a_pipe) {
  const Ended ended = qos({"--iterations", "2"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_NE(ended.output.find("jobs              default  controlled  median"), std::string::npos)
      << ended.describe();
  std::istringstream lines(ended.output);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(qos, runs_real_processes_and_measures_levels_set_by_hand_beside_the_controllers) {
  const Ended ended =
      run_weft({"qos", "--live", "--scenario", WEFT_EXAMPLES "qos-live.toml", "--iterations", "3",
                "--set", "qos.period=60ms", "--set", "qos.live-windows=1", "--json"},
               60);
  if (ended.errors.find("testbed: ") != std::string::npos) GTEST_SKIP() << ended.errors;
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto json = ended.json();
  EXPECT_TRUE(json["live"]);
  ASSERT_EQ(json["jobs"].size(), 2U);
  for (const auto& job : json["jobs"]) {
    EXPECT_GT(job["iteration_s"]["alone"], 0.0015) << "its computation alone takes as long";
    EXPECT_TRUE(job.contains("settled_of_isolation"));
  }
  ASSERT_EQ(json["trade_offs"].size(), 8U);
  EXPECT_EQ(json["trade_offs"][0]["levels"], "default");
  EXPECT_EQ(json["trade_offs"][1]["levels"], "controller");
  EXPECT_EQ(json["trade_offs"][7]["levels"], "job flood: weight 8");
}

TEST(qos, refuses_what_real_processes_cannot_run) {
  const auto live = [](const char* setting) {
    return run_weft(
        {"qos", "--live", "--scenario", WEFT_EXAMPLES "qos-live.toml", "--set", setting}, 60);
  };
  const Ended tree = live("network.topology=fat-tree:8,levels=2,radix=4");
  EXPECT_EQ(tree.code, 2) << tree.describe();
  EXPECT_NE(tree.errors.find("two switches with half of the hosts"), std::string::npos)
      << tree.describe();
  EXPECT_EQ(live("network.local-link.rate=1Kbit").code, 2);
  EXPECT_EQ(live("network.topology=star:7").code, 2) << "8 processes";
}

TEST(qos, refuses_controllers_and_levels_that_do_not_exist) {
  EXPECT_EQ(qos({"--controller", "worst"}).code, 2);
  EXPECT_EQ(qos({"--set", "qos.levels=17"}).code, 2);
  EXPECT_EQ(qos({"--set", "qos.colour=red"}).code, 2);
}

}  // namespace
}  // namespace weft::e2e

// SPDX-License-Identifier: Apache-2.0
// weft qos: experiments with service levels, shorter than their scenarios say.
#include <gtest/gtest.h>

#include <filesystem>

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
  EXPECT_TRUE(std::filesystem::exists(out / "qos.html"));
  std::filesystem::remove_all(out);
}

TEST(qos, refuses_controllers_and_levels_that_do_not_exist) {
  EXPECT_EQ(qos({"--controller", "worst"}).code, 2);
  EXPECT_EQ(qos({"--set", "qos.levels=17"}).code, 2);
  EXPECT_EQ(qos({"--set", "qos.colour=red"}).code, 2);
}

}  // namespace
}  // namespace weft::e2e

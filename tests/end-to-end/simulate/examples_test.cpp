// SPDX-License-Identifier: Apache-2.0
// The scenarios in examples/ run, shorter than they say.
#include <gtest/gtest.h>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

std::string example(const std::string& name) {
  return WEFT_EXAMPLES + name + ".toml";
}

Ended shortened(const std::string& name, std::vector<std::string> more) {
  more.insert(more.begin(),
              {"stream", "local", "--fabric", "sim:" + example(name), "--no-limit", "--json"});
  return run_weft(std::move(more), 200);
}

TEST(example_scenarios, star_100mbit_delivers_at_the_links_rate) {
  const Ended ended = shortened("star-100mbit", {"--timeslices", "100", "--sink", "check:"});
  expect_all_complete(ended);
  EXPECT_EQ(ended.json()["inputs"], 8);
  EXPECT_GT(ended.json()["goodput_bytes_per_s"], 50e6) << ended.describe();
  EXPECT_LT(ended.json()["goodput_bytes_per_s"], 100e6) << ended.describe();
}

TEST(example_scenarios, aries_128_runs) {
  expect_all_complete(shortened("aries-128", {"--timeslices", "70", "--buffer", "128KiB"}));
}

TEST(example_scenarios, aries_384_runs) {
  expect_all_complete(shortened("aries-384", {"--timeslices", "20", "--buffer", "128KiB"}));
}

TEST(example_scenarios, fat_tree_1024_runs) {
  const Ended ended = run_weft({"simulate", example("fat-tree-1024"), "--json"}, 200);
  ASSERT_EQ(ended.code, 0) << ended.describe();
  for (const auto& traffic : ended.json()["traffic"]) {
    EXPECT_EQ(traffic["delivered"], traffic["messages"]) << ended.describe();
  }
}

TEST(example_scenarios, faults_lose_nothing) {
  const Ended ended =
      run_weft({"simulate", example("faults"), "--check-determinism", "--json"}, 200);
  expect_nothing_lost(ended);
  EXPECT_EQ(ended.json()["simulation"]["deterministic"], true);
}

}  // namespace
}  // namespace weft::e2e

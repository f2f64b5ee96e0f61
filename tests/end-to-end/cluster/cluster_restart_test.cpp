// SPDX-License-Identifier: Apache-2.0
// Nodes that are killed and started again.
#include <csignal>
#include <nlohmann/json.hpp>

#include "cluster_fixture.hpp"

namespace weft {
namespace {

using nlohmann::json;

// Kills `victim` of 2 × 2 nodes in the middle, starts it again, lets it take part, ends.
class cluster_restart : public cluster, public testing::WithParamInterface<int> {};

TEST_P(cluster_restart, a_killed_rank_joins_again) {
  const auto victim = static_cast<std::size_t>(GetParam());
  write_cluster(4, "duration = \"10min\"");
  auto nodes = start_all(4);
  expect_all_say(nodes, "the stream has begun");
  nodes[victim].signal(SIGKILL);
  EXPECT_EQ(nodes[victim].wait(), 128 + SIGKILL);
  const std::size_t other = victim == 1 ? 2 : 1;
  ASSERT_TRUE(nodes[other].says(fmt::format("node {} is gone", victim)));
  nodes[victim] = start_rank(static_cast<int>(victim));
  ASSERT_TRUE(nodes[victim].says("the stream has begun")) << nodes[victim].errors();
  nodes[other].signal(SIGTERM);
  expect_end_by(SIGTERM, other, nodes);
  const json result = json::parse(nodes[0].output());
  EXPECT_EQ(result["checks"]["errors"], 0) << result["checks"]["first_error"];
  EXPECT_GT(result["timeslices_complete"], 0);
}

INSTANTIATE_TEST_SUITE_P(of_each_kind, cluster_restart, testing::Values(0, 1, 2, 3),
                         [](const auto& info) { return fmt::format("rank_{}", info.param); });

class cluster_clock : public cluster, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(over, cluster_clock, testing::Values("tcp", "auto", "libfabric:tcp"),
                         [](const auto& info) {
                           const std::string_view name = info.param;
                           return std::string(name.substr(0, name.find(':')));
                         });

TEST_P(cluster_clock, a_rank_is_a_later_life_although_its_clock_was_set_back) {
  write_cluster(4, fmt::format("duration = \"10min\"\nfabric = \"{}\"", GetParam()));
  auto nodes = start_all(4);
  expect_all_say(nodes, "the stream has begun");
  nodes[3].signal(SIGKILL);
  EXPECT_EQ(nodes[3].wait(), 128 + SIGKILL);
  ASSERT_TRUE(nodes[1].says("node 3 is gone"));
  // Sanitizers want to be preloaded first.
  nodes[3] = NodeProcess(
      {WEFT_PROGRAM, "stream", "node", "--config", (directory_ / "cluster.toml").string(), "--rank",
       "3", "--json"},
      {std::string("LD_PRELOAD=") + WEFT_SET_BACK_CLOCK, "ASAN_OPTIONS=verify_asan_link_order=0"});
  ASSERT_TRUE(nodes[3].says("the stream has begun")) << nodes[3].errors();
  nodes[1].signal(SIGTERM);
  expect_end_by(SIGTERM, 1, nodes);
}

TEST(clock, that_says_a_time_before_the_machine_was_started_does_no_harm) {
  NodeProcess stream({WEFT_PROGRAM, "stream", "local", "--inputs", "2", "--computes", "2",
                      "--no-limit", "--timeslices", "20", "--sink", "check:"},
                     {std::string("LD_PRELOAD=") + WEFT_SET_BACK_MONOTONIC_CLOCK,
                      "ASAN_OPTIONS=verify_asan_link_order=0"});
  EXPECT_EQ(stream.wait(), 0) << stream.errors();
}

// Input 1 of 2 × 2 nodes alone is no majority: without input 0 nothing is built and no end agreed
// on.
class cluster_without_majority : public cluster {
 protected:
  std::vector<NodeProcess> nodes_that_wait() {
    write_cluster(4, "duration = \"10min\"");
    auto nodes = start_all(4);
    expect_all_say(nodes, "the stream has begun");
    nodes[0].signal(SIGKILL);
    EXPECT_EQ(nodes[0].wait(), 128 + SIGKILL);
    EXPECT_TRUE(nodes[1].says("no majority")) << nodes[1].errors();
    nodes[1].signal(SIGTERM);
    EXPECT_TRUE(nodes[1].says("a second signal ends this one at once")) << nodes[1].errors();
    return nodes;
  }
};

TEST_F(cluster_without_majority, a_first_signal_ends_the_stream_when_an_input_comes_back) {
  auto nodes = nodes_that_wait();
  nodes[0] = start_rank(0);
  expect_end_by(SIGTERM, 1, nodes);
  const json result = json::parse(nodes[0].output());
  EXPECT_EQ(result["checks"]["errors"], 0) << result["checks"]["first_error"];
  EXPECT_EQ(result["timeslices_lost"], 0);
}

TEST_F(cluster_without_majority, a_second_signal_ends_a_node_at_once) {
  auto nodes = nodes_that_wait();
  nodes[1].signal(SIGTERM);
  EXPECT_EQ(nodes[1].wait(), 128 + SIGTERM);
  for (const std::size_t compute : {2u, 3u}) {
    nodes[compute].signal(SIGTERM);
    ASSERT_TRUE(nodes[compute].says("a second signal ends this one at once"));
    nodes[compute].signal(SIGTERM);
    EXPECT_EQ(nodes[compute].wait(), 128 + SIGTERM) << nodes[compute].errors();
    EXPECT_EQ(nodes[compute].output(), "");
  }
}

TEST_F(cluster, a_killed_ranks_archive_is_named_with_the_command_that_recovers_it) {
  write_cluster(4, "duration = \"10min\"");
  const std::vector<std::string> sink{"--sink",
                                      fmt::format("tsa:{}/run_%n.tsa", directory_.string()),
                                      "--source", "pattern:?rate=1000Hz"};
  std::vector<NodeProcess> nodes;
  for (int rank = 0; rank < 4; ++rank) nodes.push_back(start_rank(rank, sink));
  expect_all_say(nodes, "the stream has begun");
  const std::string left = fmt::format("{}/run_1.tsa.part-{}", directory_.string(), nodes[3].pid());
  while (std::filesystem::file_size(left) < 1 << 20) {
  }
  nodes[3].signal(SIGKILL);
  EXPECT_EQ(nodes[3].wait(), 128 + SIGKILL);
  ASSERT_TRUE(nodes[1].says("node 3 is gone"));
  nodes[3] = start_rank(3, sink);
  const std::string free_name =
      fmt::format("{}/run_1-{}.tsa", directory_.string(), left.substr(left.rfind('-') + 1));
  EXPECT_TRUE(nodes[3].says(fmt::format("weft archive recover '{}' --out '{}'", left, free_name)));
  ASSERT_TRUE(nodes[3].says("the stream has begun")) << nodes[3].errors();
  nodes[1].signal(SIGTERM);
  expect_end_by(SIGTERM, 1, nodes);
  NodeProcess recover({WEFT_PROGRAM, "archive", "recover", left, "--out", free_name});
  EXPECT_EQ(recover.wait(), 0) << recover.errors();
  NodeProcess check({WEFT_PROGRAM, "archive", "check", free_name,
                     (directory_ / "run_0.tsa").string(), (directory_ / "run_1.tsa").string()});
  EXPECT_EQ(check.wait(), 0) << check.errors();
  EXPECT_FALSE(std::filesystem::exists(left));
}

}  // namespace
}  // namespace weft

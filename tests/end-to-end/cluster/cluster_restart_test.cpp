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
  expect_success(nodes);
  const json result = json::parse(nodes[0].output());
  EXPECT_EQ(result["checks"]["errors"], 0) << result["checks"]["first_error"];
  EXPECT_GT(result["timeslices_complete"], 0);
}

INSTANTIATE_TEST_SUITE_P(of_each_kind, cluster_restart, testing::Values(0, 1, 2, 3),
                         [](const auto& info) { return fmt::format("rank_{}", info.param); });

}  // namespace
}  // namespace weft

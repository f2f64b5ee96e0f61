// SPDX-License-Identifier: Apache-2.0
// Contract: sleeping until there is something to do.
#include <algorithm>
#include <array>

#include "cluster.hpp"

namespace weft::contract {
namespace {

const NodeId kA(0);
const NodeId kB(1);

// Polls until the endpoint says that it has nothing to do.
::testing::AssertionResult comes_to_rest(Node& node) {
  for (int i = 0; i < 100'000; ++i) {
    node.step(Cluster::now());
    if (!node.fabric().prepare_wait(Cluster::now()).ready) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "always ready: a driver would never sleep";
}

TEST_P(FabricContract, an_idle_endpoint_lets_its_driver_sleep) {
  Cluster cluster(factory(), 2);
  ASSERT_TRUE(cluster.settle());
  for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(comes_to_rest(cluster[i]));
  // A sleep of 200 ms in total needs few wake-ups: no polling at full rate.
  const Instant until = Cluster::now() + Duration::milliseconds(200);
  int wakeups = 0;
  while (Cluster::now() < until) {
    std::array<Node*, 2> nodes = {&cluster[0], &cluster[1]};
    Cluster::sleep(nodes, until - Cluster::now());
    for (Node* node : nodes) node->step(Cluster::now());
    ++wakeups;
  }
  EXPECT_LT(wakeups, 4000);
}

TEST_P(FabricContract, a_message_wakes_a_sleeping_endpoint) {
  Cluster cluster(factory(), 2);
  for (std::size_t round = 0; round < 20; ++round) {
    ASSERT_TRUE(comes_to_rest(cluster[1]));
    cluster[0].send(kB, bytes_of("wake up"));
    // Only the sender is driven until its operation has left it; then only the receiver, which
    // sleeps. If a message needs the sender's help to arrive, both take turns.
    while (cluster[0].queued() + cluster[0].outstanding() > 0) cluster[0].step(Cluster::now());
    std::array<Node*, 1> sleeper = {&cluster[1]};
    const Instant give_up = Cluster::now() + Duration::seconds(20);
    while (cluster[1].messages.size() <= round && Cluster::now() < give_up) {
      ASSERT_TRUE(Cluster::sleep(sleeper, Duration::seconds(10))) << "nobody woke the sleeper";
      cluster[1].step(Cluster::now());
      cluster[0].step(Cluster::now());
    }
    ASSERT_EQ(cluster[1].messages.size(), round + 1);
  }
}

TEST_P(FabricContract, traffic_flows_when_drivers_sleep_between_events) {
  Cluster cluster(factory(), 3);
  Bytes memory(1 << 20);
  const auto region = cluster[1].fabric().expose(memory);
  ASSERT_TRUE(region.ok());
  for (std::uint64_t i = 0; i < 30; ++i) {
    cluster[0].write(kB, region->remote, 0, pattern(1 << 20, i));
    cluster[0].send(kB, pattern(1000, i));
    cluster[2].send(kB, pattern(3000, i));
    cluster[1].send(kA, pattern(3000, i));
  }
  ASSERT_TRUE(cluster.drive(
      [&] { return cluster[1].messages.size() == 60 && cluster[0].messages.size() == 30; }, true));
}

TEST_P(FabricContract, the_death_and_return_of_a_peer_wake_a_sleeping_endpoint) {
  Cluster cluster(factory(), 2);
  ASSERT_TRUE(comes_to_rest(cluster[0]));
  cluster.kill(1);
  ASSERT_TRUE(cluster.drive([&] { return !cluster[0].is_up(kB); }, true));
  cluster.revive(1);
  ASSERT_TRUE(cluster.drive([&] { return cluster[0].is_up(kB) && cluster[1].is_up(kA); }, true));
}

}  // namespace
}  // namespace weft::contract

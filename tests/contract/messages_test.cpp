// SPDX-License-Identifier: Apache-2.0
// Contract: messages, their order, limits and completions.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/rng.hpp"
#include "cluster.hpp"

namespace weft::contract {
namespace {

const NodeId kA(0);
const NodeId kB(1);

std::uint64_t number_in(const Bytes& data) {
  std::uint64_t number = 0;
  std::memcpy(&number, data.data(), sizeof number);
  return number;
}

Bytes numbered(std::uint64_t number, std::size_t size) {
  Bytes data = pattern(std::max(size, sizeof number), number);
  std::memcpy(data.data(), &number, sizeof number);
  return data;
}

TEST_P(FabricContract, states_its_limits_and_a_usable_address) {
  Cluster cluster(factory(), 2);
  const FabricLimits& limits = cluster[0].fabric().limits();
  EXPECT_GE(limits.max_message, 4096u);
  EXPECT_GE(limits.max_write, limits.max_message);
  EXPECT_GE(limits.max_outstanding, 1u);
  EXPECT_FALSE(cluster[0].fabric().name().empty());
  const std::string address = cluster[0].fabric().address();
  EXPECT_FALSE(address.empty());
  EXPECT_EQ(address.find(' '), std::string::npos);
  EXPECT_NE(address, cluster[1].fabric().address());
}

TEST_P(FabricContract, reports_peer_up_once_with_its_incarnation) {
  Cluster cluster(factory(), 3);
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    std::set<NodeId> seen;
    for (const PeerEvent& event : cluster[i].events) {
      EXPECT_EQ(event.kind, CompletionKind::peer_up);
      EXPECT_EQ(event.incarnation, Incarnation(1));
      EXPECT_TRUE(seen.insert(event.peer).second);
    }
    EXPECT_EQ(seen.size(), cluster.size() - 1);
  }
}

TEST_P(FabricContract, delivers_messages_once_and_in_order_both_ways) {
  Cluster cluster(factory(), 2);
  constexpr std::uint64_t kCount = 3000;
  Rng rng(announced_seed());
  std::vector<std::size_t> sizes(kCount);
  for (auto& size : sizes) size = 8 + rng.below(rng.below(10) == 0 ? 4088 : 120);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    cluster[0].send(kB, numbered(i, sizes[i]));
    cluster[1].send(kA, numbered(i, sizes[kCount - 1 - i]));
  }
  ASSERT_TRUE(cluster.drive([&] {
    return cluster[0].messages.size() >= kCount && cluster[1].messages.size() >= kCount;
  }));
  ASSERT_TRUE(cluster.settle());
  ASSERT_EQ(cluster[0].messages.size(), kCount);
  ASSERT_EQ(cluster[1].messages.size(), kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(cluster[1].messages[i].from, kA);
    ASSERT_EQ(number_in(cluster[1].messages[i].data), i);
    ASSERT_EQ(cluster[1].messages[i].data, numbered(i, sizes[i]));
    ASSERT_EQ(cluster[0].messages[i].data, numbered(i, sizes[kCount - 1 - i]));
  }
}

TEST_P(FabricContract, delivers_what_goes_by_a_lane_in_order_with_what_was_posted) {
  Cluster cluster(factory(), 2);
  SendLane* const lane = cluster[0].fabric().lane(kB);
  if (lane == nullptr) GTEST_SKIP() << "this fabric has none";
  constexpr std::uint64_t kCount = 3000;
  Rng rng(announced_seed());
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Bytes data = numbered(i, 8 + rng.below(rng.below(10) == 0 ? 4088 : 120));
    std::byte* const place = rng.below(3) > 0 ? lane->reserve(data.size()) : nullptr;
    if (place != nullptr) {
      std::copy(data.begin(), data.end(), place);
      lane->send();
    } else {
      // Nothing overtakes it.
      const std::uint64_t context = cluster[0].send(kB, data);
      ASSERT_TRUE(cluster.drive([&] { return cluster[0].completed.contains(context); }));
    }
  }
  ASSERT_TRUE(cluster.drive([&] { return cluster[1].messages.size() >= kCount; }));
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(number_in(cluster[1].messages[i].data), i);
  }
}

TEST_P(FabricContract, delivers_an_empty_message) {
  Cluster cluster(factory(), 2);
  cluster[0].send(kB, {});
  cluster[0].send(kB, bytes_of("after"));
  ASSERT_TRUE(cluster.drive([&] { return cluster[1].messages.size() == 2; }));
  EXPECT_TRUE(cluster[1].messages[0].data.empty());
  EXPECT_EQ(cluster[1].messages[1].data, bytes_of("after"));
}

TEST_P(FabricContract, gathers_the_two_segments_of_a_message) {
  Cluster cluster(factory(), 2);
  cluster[0].send(kB, bytes_of("head|tail"), 5);
  cluster[0].send(kB, bytes_of("tail"), 0);
  cluster[0].send(kB, bytes_of("head|"), 5);
  ASSERT_TRUE(cluster.drive([&] { return cluster[1].messages.size() == 3; }));
  EXPECT_EQ(cluster[1].messages[0].data, bytes_of("head|tail"));
  EXPECT_EQ(cluster[1].messages[1].data, bytes_of("tail"));
  EXPECT_EQ(cluster[1].messages[2].data, bytes_of("head|"));
}

TEST_P(FabricContract, delivers_a_message_of_the_maximal_size) {
  Cluster cluster(factory(), 2);
  const std::size_t size = cluster[0].fabric().limits().max_message;
  for (std::uint64_t i = 0; i < 5; ++i) cluster[0].send(kB, pattern(size, i));
  ASSERT_TRUE(cluster.drive([&] { return cluster[1].messages.size() == 5; }));
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(cluster[1].messages[i].data, pattern(size, i));
}

TEST_P(FabricContract, aborts_when_a_message_is_larger_than_the_limit) {
  // Some fabrics have threads, of which a fork would keep the locks without their holders.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Cluster cluster(factory(), 2);
  const Bytes data(cluster[0].fabric().limits().max_message + 1);
  TxOp op;
  op.peer = kB;
  op.segments[0] = data;
  EXPECT_DEATH(cluster[0].fabric().post({&op, 1}), "");
}

TEST_P(FabricContract, completes_each_operation_once_with_its_context) {
  Cluster cluster(factory(), 3);
  Bytes memory(1 << 16);
  const auto region = cluster[2].fabric().expose(memory);
  ASSERT_TRUE(region.ok());
  std::set<std::uint64_t> contexts;
  for (std::uint64_t i = 0; i < 500; ++i) {
    contexts.insert(cluster[0].send(NodeId(1 + i % 2), numbered(i, 64)));
    contexts.insert(cluster[0].write(NodeId(2), region->remote, i * 8, pattern(8, i)));
  }
  ASSERT_TRUE(cluster.settle());
  // Node checks kinds, contexts and that nothing completes twice.
  ASSERT_EQ(cluster[0].completed.size(), contexts.size());
  for (const auto& [context, kind] : cluster[0].completed) {
    EXPECT_TRUE(contexts.contains(context));
    EXPECT_NE(kind, CompletionKind::failed);
  }
}

TEST_P(FabricContract, yields_completions_one_at_a_time_when_asked_so) {
  Cluster cluster(factory(), 2);
  cluster[0].completions_per_poll = 1;
  cluster[1].completions_per_poll = 1;
  for (std::uint64_t i = 0; i < 300; ++i) {
    cluster[0].send(kB, numbered(i, 100));
    cluster[1].send(kA, numbered(i, 2000));
  }
  ASSERT_TRUE(cluster.drive(
      [&] { return cluster[0].messages.size() == 300 && cluster[1].messages.size() == 300; }));
  ASSERT_TRUE(cluster.settle());
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(number_in(cluster[0].messages[i].data), i);
    ASSERT_EQ(number_in(cluster[1].messages[i].data), i);
  }
}

TEST_P(FabricContract, takes_a_prefix_under_back_pressure_and_never_exceeds_max_outstanding) {
  Cluster cluster(factory(), 2);
  const FabricLimits limits = cluster[0].fabric().limits();
  const std::uint64_t count = limits.max_outstanding * 2 + 10;
  for (std::uint64_t i = 0; i < count; ++i) cluster[0].send(kB, numbered(i, 256));
  // Without a poll nothing completes, so no more than the limit is taken.
  while (cluster[0].offer() > 0) {
  }
  EXPECT_LE(cluster[0].outstanding(), limits.max_outstanding);
  EXPECT_GT(cluster[0].queued(), 0u);
  // The receiver is not polled for a while: taking a prefix bounds the operations in flight.
  for (int i = 0; i < 1000; ++i) cluster[0].step(Cluster::now());
  ASSERT_TRUE(cluster.drive([&] { return cluster[1].messages.size() >= count; }));
  ASSERT_TRUE(cluster.settle());
  EXPECT_LE(cluster[0].most_outstanding, limits.max_outstanding);
  ASSERT_EQ(cluster[1].messages.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(cluster[1].messages[i].data, numbered(i, 256));
  }
}

TEST_P(FabricContract, does_not_hold_up_one_peer_because_another_does_not_poll) {
  Cluster cluster(factory(), 3);
  const FabricLimits limits = cluster[0].fabric().limits();
  const std::size_t burst = std::min<std::size_t>(limits.max_outstanding / 2, 64);
  if (burst == 0) GTEST_SKIP() << "one operation at a time";
  for (std::uint64_t i = 0; i < burst; ++i) {
    cluster[0].send(NodeId(1), numbered(i, limits.max_message));
  }
  for (std::uint64_t i = 0; i < 20; ++i) cluster[0].send(NodeId(2), numbered(i, 64));
  // Node 1 does not poll until node 2 has everything.
  const Instant give_up = Cluster::now() + Duration::seconds(60);
  while (cluster[2].messages.size() < 20 && Cluster::now() < give_up) {
    cluster[0].step(Cluster::now());
    cluster[2].step(Cluster::now());
  }
  EXPECT_EQ(cluster[2].messages.size(), 20u);
  ASSERT_TRUE(cluster.drive([&] { return cluster[1].messages.size() == burst; }));
}

TEST_P(FabricContract, reaches_itself_when_it_says_so) {
  if (!factory().reaches_itself()) GTEST_SKIP() << "not offered by this fabric";
  Cluster cluster(factory(), 1);
  Fabric& fabric = cluster[0].fabric();
  ASSERT_TRUE(fabric.add_peer(kA, Incarnation(1), fabric.address()).ok());
  ASSERT_TRUE(cluster.drive([&] { return cluster[0].is_up(kA); }));
  Bytes memory(4096);
  const auto region = fabric.expose(memory);
  ASSERT_TRUE(region.ok());
  cluster[0].write(kA, region->remote, 100, pattern(1000, 1));
  cluster[0].send(kA, bytes_of("to myself"));
  ASSERT_TRUE(cluster.drive([&] { return !cluster[0].messages.empty(); }));
  EXPECT_EQ(cluster[0].messages[0].data, bytes_of("to myself"));
  EXPECT_EQ(Bytes(memory.begin() + 100, memory.begin() + 1100), pattern(1000, 1));
}

}  // namespace
}  // namespace weft::contract

// SPDX-License-Identifier: Apache-2.0
// Tests beyond the contract of fabrics: ends of processes at exact simulated times.
#include "sim/fabric/sim_hub.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

class sim_hub : public testing::Test {
 protected:
  explicit sim_hub(const SimFabricOptions& options = {}, std::vector<std::uint32_t> hosts = {0, 1})
      : topology_(make_topology("star:2").value()),
        router_(make_router("d-mod-k", topology_).value()),
        engine_(topology_.vertices()),
        agents_(engine_),
        network_(topology_, *router_, NetworkOptions{}, engine_, 1),
        hub_(options, std::move(hosts), network_, agents_) {
    for (std::uint32_t n = 0; n < 2; ++n) {
      nodes_.push_back(hub_.open(NodeId(n), Incarnation(1), [] {}));
    }
    for (std::uint32_t n = 0; n < 2; ++n) {
      EXPECT_TRUE(
          nodes_[n]->add_peer(NodeId(1 - n), Incarnation(1), nodes_[1 - n]->address()).ok());
    }
    run_for(PicoDuration::microseconds(10));
    EXPECT_EQ(poll(0), std::vector{CompletionKind::peer_up});
    EXPECT_EQ(poll(1), std::vector{CompletionKind::peer_up});
  }
  void run_for(PicoDuration d) { engine_.run_until(engine_.now() + d); }
  std::vector<CompletionKind> poll(std::uint32_t node) {
    Completion completions[16];
    const std::size_t n = nodes_[node]->poll({}, completions);
    std::vector<CompletionKind> kinds;
    for (std::size_t i = 0; i < n; ++i) kinds.push_back(completions[i].kind);
    return kinds;
  }

  Topology topology_;
  std::unique_ptr<Router> router_;
  Engine engine_;
  Agents agents_;
  Network network_;
  SimHub hub_;
  std::vector<std::unique_ptr<Fabric>> nodes_;
};

TEST_F(sim_hub, what_a_killed_process_had_not_got_across_is_lost_with_its_memory) {
  std::vector<std::byte> there(4096, std::byte{1});
  const auto region = nodes_[1]->expose(there);
  ASSERT_TRUE(region.ok());
  auto mine = std::make_unique<std::vector<std::byte>>(4096, std::byte{2});
  TxOp write;
  write.kind = OpKind::write;
  write.peer = NodeId(1);
  write.segments[0] = *mine;
  write.region = region->remote;
  TxOp send;
  send.kind = OpKind::send;
  send.peer = NodeId(1);
  send.segments[0] = std::span(*mine).first(8);
  const TxOp both[] = {write, send};
  ASSERT_EQ(nodes_[0]->post(both), 2u);
  nodes_[0].reset();
  mine.reset();
  run_for(PicoDuration::milliseconds(2));
  EXPECT_EQ(poll(1), std::vector{CompletionKind::peer_down});
  EXPECT_EQ(std::count(there.begin(), there.end(), std::byte{1}), 4096);
  EXPECT_TRUE(network_.at_rest());
}

/// Both nodes run on one host.
class sim_hub_of_one_host : public sim_hub {
 protected:
  sim_hub_of_one_host() : sim_hub({}, {0, 0}) {}
};

TEST_F(sim_hub_of_one_host, has_a_link_of_500_ns_and_10_gb_per_s_for_each_process) {
  // With its header of 32 bytes each write takes 100 us, and an acknowledgement 1 us.
  constexpr std::size_t bytes = 1'000'000 - 32;
  std::vector<std::byte> there(bytes);
  const std::vector<std::byte> mine(bytes, std::byte{2});
  const auto region = nodes_[1]->expose(there);
  ASSERT_TRUE(region.ok());
  TxOp write;
  write.kind = OpKind::write;
  write.peer = NodeId(1);
  write.segments[0] = mine;
  write.region = region->remote;
  const std::vector<TxOp> ten(10, write);
  ASSERT_EQ(nodes_[0]->post(ten), 10u);
  run_for(PicoDuration::nanoseconds(1'000'000 + 500 + 1'000) - PicoDuration(1));
  EXPECT_EQ(poll(0).size(), 9u);
  run_for(PicoDuration(1));
  EXPECT_EQ(poll(0), std::vector{CompletionKind::written});
}

/// Each of the two nodes notices an outage at a time of its own.
class sim_hub_that_notices_late : public sim_hub {
 protected:
  sim_hub_that_notices_late() : sim_hub(options()) {}

  static SimFabricOptions options() {
    SimFabricOptions options;
    options.peer_timeout = timeout;
    options.notice_spread = timeout * 2;
    return options;
  }
  /// The time after which the node loses the other one, which is out of reach from now on.
  PicoDuration notices_after(std::uint32_t node) {
    const PicoInstant begin = engine_.now();
    while (poll(node).empty() && engine_.now() - begin < timeout * 4) run_for(step);
    return engine_.now() - begin;
  }

  static constexpr PicoDuration timeout = PicoDuration::milliseconds(10);
  static constexpr PicoDuration step = PicoDuration::microseconds(100);
};

TEST_F(sim_hub_that_notices_late, has_an_outage_that_each_end_notices_at_its_own_time) {
  hub_.set_reachable(NodeId(1), false);
  const PicoDuration first = notices_after(1);
  const PicoDuration second = first + notices_after(0);
  EXPECT_GE(first, timeout);
  EXPECT_LE(second, timeout * 3 + step * 2);
  EXPECT_NE(first, second);
}

TEST_F(sim_hub_that_notices_late, connects_anew_after_an_outage_that_only_one_end_noticed) {
  hub_.set_reachable(NodeId(1), false);
  notices_after(1);
  EXPECT_TRUE(poll(0).empty());
  hub_.set_reachable(NodeId(1), true);
  run_for(timeout);
  EXPECT_EQ(poll(1), std::vector{CompletionKind::peer_up});
  EXPECT_EQ(poll(0), (std::vector{CompletionKind::peer_down, CompletionKind::peer_up}));
}

}  // namespace
}  // namespace weft::sim

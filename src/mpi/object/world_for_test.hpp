// SPDX-License-Identifier: Apache-2.0
// Processes on the loopback fabric that one thread turns.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fabric/loopback/loopback.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi::testing {

/// Time that passes only while nothing else happens.
class TestWaiter final : public Waiter {
 public:
  Instant now() override { return now_; }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override {
    now_ = now_ + Duration::milliseconds(1);
    if (on_idle) on_idle();
  }
  void miss(Instant, NodeId peer) override { missed.insert(peer.value()); }
  std::function<void()> on_idle;
  std::set<std::uint32_t> missed;

 private:
  Instant now_{};
};

struct Member {
  Member(LoopbackHub& hub, std::uint32_t self, std::uint32_t nodes)
      : fabric(std::move(hub.open(NodeId(self), Incarnation(1))).value()),
        messenger(*fabric, waiter, {.self = NodeId(self), .nodes = nodes}),
        group(world_group(nodes, NodeId(self))),
        transfer(messenger) {}
  TestWaiter waiter;
  std::unique_ptr<Fabric> fabric;
  Messenger messenger;
  Group group;
  Transfer transfer;
};

struct World {
  explicit World(std::uint32_t nodes) {
    for (std::uint32_t i = 0; i < nodes; ++i) {
      members.push_back(std::make_unique<Member>(hub, i, nodes));
    }
    for (auto& member : members) {
      for (std::uint32_t i = 0; i < nodes; ++i) {
        if (NodeId(i) == member->messenger.machine().self()) continue;
        const std::string address = members[i]->fabric->address();
        EXPECT_TRUE(member->fabric->add_peer(NodeId(i), Incarnation(1), address).ok());
      }
      member->transfer.open(member->group);
    }
  }
  Transfer& operator[](std::size_t i) { return members[i]->transfer; }
  const Group& group(std::size_t i) { return members[i]->group; }
  void turn(int times = 50) {
    for (int i = 0; i < times; ++i) {
      for (auto& member : members) member->transfer.turn();
    }
  }
  LoopbackHub hub;
  std::vector<std::unique_ptr<Member>> members;
};

}  // namespace weft::mpi::testing

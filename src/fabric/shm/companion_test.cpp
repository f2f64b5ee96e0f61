// SPDX-License-Identifier: Apache-2.0
// Which peers find that they exchange long writes with each other alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "fabric/shm/endpoint_for_test.hpp"

namespace weft::shm {
namespace {

constexpr std::uint64_t kMany = 600'000;  // bytes

/// Every node knows every other, and has memory that they write to.
struct Node {
  explicit Node(std::uint32_t n, std::size_t pull_from) : id(n), memory(std::size_t{1} << 20) {
    fabric = open_for_test(id, {.pull_from = pull_from});
    auto exposed = fabric->expose(memory);
    WEFT_CHECK(exposed.ok());
    region = *exposed;
  }
  void poll() {
    std::array<Completion, 16> completions;
    const std::size_t n = fabric->poll(test_now(), completions);
    for (const Completion& c : std::span(completions).first(n)) {
      if (c.kind == CompletionKind::peer_up) ++up;
      if (c.kind == CompletionKind::peer_down) --up;
      if (c.kind == CompletionKind::written) ++written;
    }
  }
  std::optional<NodeId> companion() {
    const auto companion = fabric->take_companion(kMany);
    return companion ? std::optional(companion->peer) : std::nullopt;
  }

  NodeId id;
  std::vector<std::byte> memory;
  std::unique_ptr<ShmFabric> fabric;
  Region region;
  std::uint32_t up = 0;
  std::uint32_t written = 0;
};

/// Whether writes are fetched by their receiver, or go through the ring.
class Companions : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (std::uint32_t n = 0; n < 4; ++n) {
      nodes_.push_back(std::make_unique<Node>(n, GetParam() ? 4096 : 0));
    }
    for (auto& node : nodes_) {
      for (auto& other : nodes_) {
        if (node == other) continue;
        const auto address = other->fabric->address();
        ASSERT_TRUE(node->fabric->add_peer(other->id, Incarnation(1), address).ok());
      }
    }
    ASSERT_TRUE(until([&] {
      return std::ranges::all_of(nodes_, [&](auto& node) { return node->up == nodes_.size() - 1; });
    }));
  }
  template <typename Done>
  bool until(Done done) {
    const Instant give_up = test_now() + Duration::seconds(60);
    while (!done() && test_now() < give_up) {
      for (auto& node : nodes_) node->poll();
    }
    return done();
  }
  void write(std::uint32_t from, std::uint32_t to, std::size_t bytes) {
    Node& sender = *nodes_[from];
    TxOp op;
    op.kind = OpKind::write;
    op.peer = NodeId(to);
    op.segments[0] = std::span(sender.memory).first(bytes);
    op.region = nodes_[to]->region.remote;
    const std::uint32_t before = sender.written;
    ASSERT_EQ(sender.fabric->post({&op, 1}), 1U);
    ASSERT_TRUE(until([&] { return sender.written == before + 1; }));
    for (auto& node : nodes_) node->poll();
  }
  std::vector<std::optional<NodeId>> companions() {
    std::vector<std::optional<NodeId>> found;
    for (auto& node : nodes_) found.push_back(node->companion());
    return found;
  }

  std::vector<std::unique_ptr<Node>> nodes_;
};

constexpr auto nobody = std::nullopt;
using Found = std::vector<std::optional<NodeId>>;

TEST_P(Companions, know_each_other_once_both_have_said_so) {
  write(0, 1, kMany);
  write(3, 2, kMany);
  EXPECT_EQ(companions(), (Found{nobody, NodeId(0), nobody, NodeId(2)}));  // the first say it only
  write(0, 1, kMany);
  write(2, 3, kMany);
  EXPECT_EQ(companions(), (Found{NodeId(1), NodeId(0), NodeId(3), NodeId(2)}));
}

TEST_P(Companions, part_when_they_write_less) {
  write(0, 1, kMany);
  companions();
  write(0, 1, kMany - 1);
  EXPECT_EQ(companions(), (Found{nobody, nobody, nobody, nobody}));
  write(0, 1, kMany);
  EXPECT_EQ(nodes_[1]->companion(), nobody);  // node 0 has not found it again
}

TEST_P(Companions, are_not_a_writer_to_several_and_those) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t to = 1; to < 4; ++to) write(0, to, kMany);
    EXPECT_EQ(companions(), (Found{nobody, nobody, nobody, nobody}));
  }
}

TEST_P(Companions, are_not_several_that_write_to_one) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t from = 1; from < 4; ++from) write(from, 0, kMany);
    EXPECT_EQ(companions(), (Found{nobody, nobody, nobody, nobody}));
  }
}

TEST_P(Companions, are_not_two_that_exchange_short_writes) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 12; ++i) write(0, 1, kMany / 10);
    EXPECT_EQ(companions(), (Found{nobody, nobody, nobody, nobody}));
  }
}

TEST_P(Companions, may_write_a_little_to_others) {
  for (int round = 0; round < 2; ++round) {
    write(0, 1, kMany);
    write(0, 2, kMany / 20);
    companions();
  }
  write(0, 1, kMany);
  write(0, 2, kMany / 20);
  EXPECT_EQ(companions(), (Found{NodeId(1), NodeId(0), nobody, nobody}));
}

TEST_P(Companions, are_forgotten_when_they_leave) {
  write(0, 1, kMany);
  companions();
  write(0, 1, kMany);
  nodes_.erase(nodes_.begin() + 1);
  ASSERT_TRUE(until([&] { return nodes_[0]->up == 2; }));
  EXPECT_EQ(nodes_[0]->companion(), nobody);
}

INSTANTIATE_TEST_SUITE_P(both_ways, Companions, testing::Bool(), [](const auto& way) {
  return way.param ? "fetched" : "through_the_ring";
});

}  // namespace
}  // namespace weft::shm

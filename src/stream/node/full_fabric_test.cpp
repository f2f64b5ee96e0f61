// SPDX-License-Identifier: Apache-2.0
// Nodes on a fabric whose network registers no more memory, as where too much is locked.
#include <gtest/gtest.h>

#include <string>

#include "stream/node/limit_node.hpp"
#include "stream/node/stream_node.hpp"

namespace weft::stream {
namespace {

/// Exposes `room` regions and no more.
class FullFabric final : public Fabric {
 public:
  explicit FullFabric(int room) : room_(room) {}
  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "full"; }
  std::string address() const override { return ""; }
  Result<void> add_peer(NodeId, Incarnation, std::string_view) override { return {}; }
  void remove_peer(NodeId) override {}
  Result<Region> expose(std::span<std::byte> memory) override {
    if (room_-- > 0) return Region{memory, {}};
    return Error{ErrorCode::exhausted, "cannot register memory"};
  }
  void retract(const Region&) override {}
  std::size_t post(std::span<const TxOp>) override { return 0; }
  std::size_t poll(Instant, std::span<Completion>) override { return 0; }
  WaitHint prepare_wait(Instant) override { return {}; }

 private:
  int room_;
  FabricLimits limits_;
};

TEST(full_fabric, a_compute_node_whose_rings_cannot_be_registered_is_an_error_and_no_abort) {
  StreamOptions options;
  options.inputs = 2;
  options.computes = 1;
  options.sinks = {"null:"};
  // Ring and descriptors of two pairs.
  for (int room = 0; room < 4; ++room) {
    FullFabric fabric(room);
    const auto node = make_compute_node(options, 0, false, fabric);
    ASSERT_FALSE(node.ok()) << room;
    EXPECT_EQ(node.error().code, ErrorCode::exhausted);
    EXPECT_EQ(node.error().message, "cannot register memory");
  }
  FullFabric fabric(4);
  EXPECT_TRUE(make_compute_node(options, 0, false, fabric).ok());
}

TEST(full_fabric, a_receiver_of_the_limit_without_registered_memory_is_an_error_and_no_abort) {
  FullFabric fabric(0);
  LimitConfig config;
  config.roster = {1, 1};
  const auto node = make_limit_receiver(config, fabric);
  ASSERT_FALSE(node.ok());
  EXPECT_EQ(node.error().code, ErrorCode::exhausted);
}

}  // namespace
}  // namespace weft::stream

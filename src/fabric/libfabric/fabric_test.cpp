// SPDX-License-Identifier: Apache-2.0
// What the contract suite does not cover: options, addresses, secrets, farewells, providers whose
// abilities differ.
#include "fabric/libfabric/fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LibfabricOptions options_for(std::uint32_t node) {
  LibfabricOptions options;
  options.bind_address = "127.0.0.1";
  options.self = NodeId(node);
  options.incarnation = Incarnation(1);
  options.job_secret = "a secret";
  options.heartbeat_interval = Duration::milliseconds(100);
  return options;
}

Instant now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}

// Endpoints that are driven together; every completion is kept.
class Group {
 public:
  Fabric& open(const LibfabricOptions& options, std::size_t segments = 0) {
    auto fabric = ofi::LibfabricFabric::open(options, segments);
    EXPECT_TRUE(fabric.ok()) << (fabric.ok() ? "" : fabric.error().message);
    fabrics_.push_back(std::move(*fabric));
    seen.emplace_back();
    return *fabrics_.back();
  }
  void introduce(std::size_t a, std::size_t b) {
    const auto id = [](std::size_t i) { return NodeId(static_cast<std::uint32_t>(i)); };
    ASSERT_TRUE(fabrics_[a]->add_peer(id(b), Incarnation(1), fabrics_[b]->address()).ok());
    ASSERT_TRUE(fabrics_[b]->add_peer(id(a), Incarnation(1), fabrics_[a]->address()).ok());
  }
  bool drive(const std::function<bool()>& done, Duration limit = Duration::seconds(30)) {
    const Instant give_up = now() + limit;
    while (!done()) {
      if (now() > give_up) return false;
      for (std::size_t i = 0; i < fabrics_.size(); ++i) {
        if (fabrics_[i] == nullptr) continue;
        std::array<Completion, 16> completions;
        const std::size_t n = fabrics_[i]->poll(now(), completions);
        for (std::size_t j = 0; j < n; ++j) seen[i].push_back(completions[j]);
      }
    }
    return true;
  }
  std::size_t count(std::size_t node, CompletionKind kind) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(seen[node], [&](const Completion& c) { return c.kind == kind; }));
  }
  void close(std::size_t i) { fabrics_[i].reset(); }

  std::vector<std::vector<Completion>> seen;

 private:
  std::vector<std::unique_ptr<Fabric>> fabrics_;
};

TEST(open_libfabric, names_the_available_providers_when_one_is_unknown) {
  LibfabricOptions options = options_for(0);
  options.provider = "infinihand";
  const auto fabric = open_libfabric(options);
  ASSERT_FALSE(fabric.ok());
  EXPECT_EQ(fabric.error().code, ErrorCode::not_found);
  EXPECT_THAT(fabric.error().message, HasSubstr("\"infinihand\""));
  EXPECT_THAT(fabric.error().message, HasSubstr("tcp"));
  EXPECT_THAT(fabric.error().message, HasSubstr("shm"));
  EXPECT_THAT(fabric.error().message, Not(HasSubstr("\n")));
}

TEST(open_libfabric, names_an_option_that_is_out_of_range) {
  LibfabricOptions options = options_for(0);
  options.max_message = 1;
  EXPECT_THAT(open_libfabric(options).error().message, HasSubstr("max_message = 1"));
  options = options_for(0);
  options.peer_timeout = options.heartbeat_interval;
  EXPECT_THAT(open_libfabric(options).error().message, HasSubstr("peer_timeout"));
  options = options_for(0);
  options.job_secret.clear();
  EXPECT_THAT(open_libfabric(options).error().message, HasSubstr("job_secret"));
}

TEST(open_libfabric, names_the_address_that_no_provider_has) {
  LibfabricOptions options = options_for(0);
  options.bind_address = "203.0.113.77";
  const auto fabric = open_libfabric(options);
  ASSERT_FALSE(fabric.ok());
  EXPECT_THAT(fabric.error().message, HasSubstr("203.0.113.77"));
}

TEST(open_libfabric, allows_one_endpoint_of_shared_memory_per_process) {
  LibfabricOptions options = options_for(0);
  options.provider = "shm";
  options.job_secret = "one per process";
  auto first = open_libfabric(options);
  ASSERT_TRUE(first.ok()) << first.error().message;
  options.self = NodeId(1);
  const auto second = open_libfabric(options);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("one endpoint per process"));
  first->reset();
  EXPECT_TRUE(open_libfabric(options).ok());
}

TEST(add_peer, refuses_addresses_that_are_not_of_this_fabric) {
  auto opened = open_libfabric(options_for(0));
  ASSERT_TRUE(opened.ok());
  const std::unique_ptr<Fabric> fabric = std::move(*opened);
  const std::string good = fabric->address();
  EXPECT_THAT(good, ::testing::StartsWith("tcp/"));
  for (const std::string& bad : {std::string("shm/00"), std::string("tcp/"), std::string("tcp/0g"),
                                 std::string("tcp/123"), "tcp/" + std::string(2000, '0')}) {
    const auto added = fabric->add_peer(NodeId(1), Incarnation(1), bad);
    ASSERT_FALSE(added.ok()) << bad;
    EXPECT_THAT(added.error().message, HasSubstr("node 1"));
  }
  EXPECT_FALSE(fabric->add_peer(NodeId(0), Incarnation(1), good).ok());
  // An address of the wrong length never connects and harms nothing.
  EXPECT_TRUE(fabric->add_peer(NodeId(1), Incarnation(1), "tcp/0200").ok());
  std::array<Completion, 4> completions;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(fabric->poll(now(), completions), 0u);
}

TEST(link, a_peer_with_another_secret_never_comes_up) {
  Group group;
  group.open(options_for(0));
  group.open(options_for(1));
  LibfabricOptions stranger = options_for(2);
  stranger.job_secret = "another secret";
  group.open(stranger);
  group.introduce(0, 2);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] { return group.count(0, CompletionKind::peer_up) == 1; }));
  EXPECT_EQ(group.seen[0][0].peer, NodeId(1));
  // The honest pair exchanges plenty; by then the stranger had its chances.
  EXPECT_FALSE(group.drive([&] { return group.count(2, CompletionKind::peer_up) > 0; },
                           Duration::milliseconds(300)));
  EXPECT_EQ(group.count(0, CompletionKind::peer_up), 1u);
}

TEST(link, a_peer_that_closes_says_goodbye_and_is_down_without_a_timeout) {
  Group group;
  LibfabricOptions patient = options_for(0);
  patient.heartbeat_interval = Duration::seconds(600);
  patient.peer_timeout = Duration::seconds(3600);
  group.open(patient);
  patient.self = NodeId(1);
  group.open(patient);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  group.close(1);
  EXPECT_TRUE(group.drive([&] { return group.count(0, CompletionKind::peer_down) == 1; }));
}

TEST(link, a_silent_peer_is_down_after_the_timeout) {
  Group group;
  LibfabricOptions hasty = options_for(0);
  hasty.peer_timeout = Duration::milliseconds(300);
  Fabric& fabric = group.open(hasty);
  hasty.self = NodeId(1);
  group.open(hasty);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] { return group.count(0, CompletionKind::peer_up) == 1; }));
  // Node 1 is no longer polled. Time is what the caller says it is.
  std::array<Completion, 16> completions;
  Instant clock = now();
  bool down = false;
  for (int i = 0; i < 100 && !down; ++i) {
    clock = clock + Duration::milliseconds(10);
    const std::size_t n = fabric.poll(clock, completions);
    for (std::size_t j = 0; j < n; ++j) {
      down = down || completions[j].kind == CompletionKind::peer_down;
    }
  }
  EXPECT_TRUE(down);
}

TEST(link, a_pause_of_ones_own_is_not_silence_of_the_peers) {
  Group group;
  LibfabricOptions hasty = options_for(0);
  hasty.peer_timeout = Duration::milliseconds(300);
  Fabric& fabric = group.open(hasty);
  hasty.self = NodeId(1);
  group.open(hasty);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  std::array<Completion, 16> completions;
  const std::size_t n = fabric.poll(now() + Duration::seconds(3600), completions);
  for (std::size_t j = 0; j < n; ++j) {
    EXPECT_NE(completions[j].kind, CompletionKind::peer_down);
  }
}

TEST(wait, spinning_never_lets_the_driver_sleep) {
  LibfabricOptions options = options_for(0);
  options.spin = true;
  auto opened = open_libfabric(options);
  ASSERT_TRUE(opened.ok());
  const std::unique_ptr<Fabric> fabric = std::move(*opened);
  std::array<Completion, 4> completions;
  fabric->poll(now(), completions);
  EXPECT_TRUE(fabric->prepare_wait(now()).ready);
}

TEST(write, two_segments_arrive_where_the_provider_takes_one_at_a_time) {
  Group group;
  Fabric& writer = group.open(options_for(0), 1);
  Fabric& target = group.open(options_for(1));
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  std::vector<std::byte> memory(100'000), first(30'000, std::byte{1}), second(50'000, std::byte{2});
  const auto region = target.expose(memory);
  ASSERT_TRUE(region.ok());
  TxOp op;
  op.kind = OpKind::write;
  op.peer = NodeId(1);
  op.context = 77;
  op.segments = {std::span<const std::byte>(first), std::span<const std::byte>(second)};
  op.region = region->remote;
  op.region_offset = 10;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(writer.post({&op, 1}), 1u);
  TxOp done;
  done.peer = NodeId(1);
  ASSERT_EQ(writer.post({&done, 1}), 1u);
  ASSERT_TRUE(group.drive([&] { return group.count(1, CompletionKind::received) == 1; }));
  EXPECT_EQ(memory[9], std::byte{0});
  EXPECT_EQ(memory[10], std::byte{1});
  EXPECT_EQ(memory[30'009], std::byte{1});
  EXPECT_EQ(memory[30'010], std::byte{2});
  EXPECT_EQ(memory[80'009], std::byte{2});
  EXPECT_EQ(memory[80'010], std::byte{0});
  ASSERT_TRUE(group.drive([&] { return group.count(0, CompletionKind::written) == 20; }));
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Tests that the contract suite does not cover: options, addresses, providers whose abilities
// differ.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "fabric/libfabric/test_support.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  options.job_secret = fmt::format("one per process {}", ::getpid());
  auto first = open_libfabric(options);
  ASSERT_TRUE(first.ok()) << first.error().message;
  options.self = NodeId(1);
  const auto second = open_libfabric(options);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("one endpoint per process"));
  first->reset();
  EXPECT_TRUE(open_libfabric(options).ok());
}

TEST(open_libfabric, takes_a_service_level_whether_or_not_the_provider_obeys) {
  LibfabricOptions options = options_for(0);
  options.service_level = ServiceLevel(9);
  EXPECT_TRUE(open_libfabric(options).ok());
}

TEST(open_libfabric, works_with_addresses_of_ip_version_6) {
  Group group;
  LibfabricOptions options = options_for(0);
  options.bind_address = "[::1]";
  group.open(options);
  options.self = NodeId(1);
  group.open(options);
  group.introduce(0, 1);
  EXPECT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
}

TEST(add_peer, refuses_addresses_that_are_not_of_this_fabric) {
  auto opened = open_libfabric(options_for(0));
  ASSERT_TRUE(opened.ok());
  const std::unique_ptr<Fabric> fabric = std::move(*opened);
  const std::string good = fabric->address();
  EXPECT_THAT(good, ::testing::StartsWith("tcp/"));
  for (const std::string& bad :
       {std::string("shm/00"), std::string("tcp/"), std::string("tcp/0g"), std::string("tcp/123"),
        std::string("tcp/0200"), std::string("tcp/0200/00"), "tcp/" + std::string(2000, '0')}) {
    const auto added = fabric->add_peer(NodeId(1), Incarnation(1), bad);
    ASSERT_FALSE(added.ok()) << bad;
    EXPECT_THAT(added.error().message, HasSubstr("node 1"));
  }
  EXPECT_FALSE(fabric->add_peer(NodeId(0), Incarnation(1), good).ok());
  // An address of the wrong length never connects and harms nothing.
  EXPECT_TRUE(fabric->add_peer(NodeId(1), Incarnation(1), "tcp/0200/" + std::string(32, '0')).ok());
  std::array<Completion, 4> completions;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(fabric->poll(now(), completions), 0u);
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

// The provider sockets moves written bytes only while its target looks, and cannot wake it.
TEST(wait, a_target_that_only_writes_arrive_at_does_not_nod_off) {
  Group group;
  LibfabricOptions quiet = options_for(0);
  quiet.provider = "sockets";
  quiet.heartbeat_interval = Duration::seconds(600);
  quiet.peer_timeout = Duration::seconds(3600);
  Fabric& writer = group.open(quiet);
  quiet.self = NodeId(1);
  Fabric& target = group.open(quiet);
  group.introduce(0, 1);
  std::vector<std::byte> memory(4096), bytes(4096, std::byte{1});
  const auto region = target.expose(memory);
  ASSERT_TRUE(region.ok());
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  TxOp op;
  op.kind = OpKind::write;
  op.peer = NodeId(1);
  op.segments[0] = bytes;
  op.region = region->remote;
  ASSERT_EQ(writer.post({&op, 1}), 1u);
  ASSERT_TRUE(group.drive([&] { return group.count(0, CompletionKind::written) == 1; }));
  // The target has long been silent when the next write is on its way for a while.
  ASSERT_EQ(writer.post({&op, 1}), 1u);
  std::array<Completion, 4> completions;
  const Instant later = now() + Duration::seconds(1);
  for (int i = 0; i < 10; ++i) writer.poll(later + Duration::milliseconds(i), completions);
  const auto nap = [&] {
    const WaitHint hint = target.prepare_wait(later);
    return hint.ready ? Duration::seconds(1) : hint.poll_by - later;
  };
  const Instant give_up = now() + Duration::seconds(30);
  do {
    target.poll(later, completions);
  } while (nap() > Duration::microseconds(100) && now() < give_up);
  EXPECT_LE(nap(), Duration::microseconds(100));
  // And sleeps when it has been left alone.
  const Instant much_later = later + Duration::seconds(1);
  target.poll(much_later, completions);
  const WaitHint hint = target.prepare_wait(much_later);
  EXPECT_FALSE(hint.ready);
  EXPECT_GE(hint.poll_by - much_later, Duration::milliseconds(1));
}

// ---- how often a writer has to hear from its target before its bytes leave

class permission : public ::testing::Test {
 protected:
  void SetUp() override {
    group_.open(options_for(0));
    group_.open(options_for(1));
    group_.introduce(0, 1);
    ASSERT_TRUE(group_.drive([&] {
      return group_.count(0, CompletionKind::peer_up) + group_.count(1, CompletionKind::peer_up) ==
             2;
    }));
  }
  void write(const RemoteRegion& region) {
    TxOp op;
    op.kind = OpKind::write;
    op.peer = NodeId(1);
    op.segments[0] = bytes_;
    op.region = region;
    ASSERT_EQ(group_.fabric(0).post({&op, 1}), 1u);
  }
  /// Gives one endpoint turns, and not the other, until nothing more can come of it.
  void only(std::size_t node) {
    std::array<Completion, 16> completions;
    for (int i = 0; i < 2'000; ++i) group_.fabric(node).poll(now(), completions);
  }

  Group group_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4096, std::byte{1});
  std::vector<std::byte> memory_[2] = {std::vector<std::byte>(4096), std::vector<std::byte>(4096)};
};

TEST_F(permission, of_several_regions_is_asked_for_at_once) {
  for (auto& memory : memory_) {
    const auto region = group_.fabric(1).expose(memory);
    ASSERT_TRUE(region.ok());
    write(region->remote);
  }
  only(0);  // asks
  only(1);  // answers
  only(0);  // writes
  only(1);
  EXPECT_EQ(memory_[0][0], std::byte{1});
  EXPECT_EQ(memory_[1][0], std::byte{1});
}

TEST_F(permission, comes_with_the_message_that_tells_of_the_region) {
  const auto region = group_.fabric(1).expose(memory_[0]);
  ASSERT_TRUE(region.ok());
  TxOp invitation;
  invitation.peer = NodeId(0);
  invitation.segments[0] = bytes_;
  ASSERT_EQ(group_.fabric(1).post({&invitation, 1}), 1u);
  ASSERT_TRUE(group_.drive([&] { return group_.count(0, CompletionKind::received) == 1; }));
  write(region->remote);
  only(0);
  only(1);
  EXPECT_EQ(memory_[0][0], std::byte{1});
}

TEST(write, two_segments_arrive_where_the_provider_takes_one_at_a_time) {
  Group group;
  Fabric& writer = group.open(options_for(0), {.one_segment = true});
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

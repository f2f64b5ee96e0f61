// SPDX-License-Identifier: Apache-2.0
#include "core/message/outstanding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/message/machine.hpp"

namespace weft::message {
namespace {

TEST(outstanding, one_peer_may_have_a_quarter_of_all_and_leaves_the_rest_to_others) {
  OutstandingOperations all(100, 2);
  EXPECT_EQ(all.room(0), 25u);
  all.begin(25);
  EXPECT_EQ(all.room(25), 0u);
  EXPECT_EQ(all.room(0), 25u);
  all.begin(25);  // the other peer
  EXPECT_EQ(all.room(0), 25u) << "what is reserved for a third";
  EXPECT_EQ(OutstandingOperations(100, 1).room(0), 50u);
}

TEST(outstanding, peers_that_take_nothing_never_have_all) {
  for (const std::uint32_t peers : {1u, 2u, 3u, 7u, 31u}) {
    constexpr std::size_t most = 128;
    OutstandingOperations operations(most, peers);
    std::size_t all = 0;
    for (std::uint32_t i = 0; i < peers; ++i) {
      ASSERT_GE(operations.room(0), 2u) << "peer " << i << " of " << peers;
      for (std::size_t own = 0; operations.room(own) > 0; ++own, ++all) operations.begin(1);
    }
    EXPECT_LE(all, most) << peers;
    operations.end(all);
    EXPECT_EQ(operations.room(0), OutstandingOperations(most, peers).room(0));
  }
}

TEST(outstanding, without_a_limit_there_is_room) {
  OutstandingOperations all(0, 1000);
  all.begin(1'000'000'000);
  EXPECT_GT(all.room(1'000'000'000), 1'000'000'000u);
}

TEST(outstanding, a_peer_that_takes_nothing_holds_up_no_messages_to_another) {
  constexpr std::size_t most = 16;
  MessageMachine machine({.self = NodeId(0), .nodes = 3, .fabric = {.max_outstanding = most}},
                         Instant());
  TransmitQueue out;
  std::vector<NodeId> posted;
  const auto post = [&] {
    machine.pump(out);
    for (const TxOp& op : out.tx) posted.push_back(op.peer);
    out.posted(out.tx.size());
  };
  const auto posted_to = [&](std::uint32_t peer) {
    return std::ranges::count(posted, NodeId(peer));
  };
  const auto hear = [&](CompletionKind kind, std::uint32_t peer) {
    machine.on_completion(Instant(), {.kind = kind, .peer = NodeId(peer)}, out);
  };
  for (const std::uint32_t peer : {1u, 2u}) {
    hear(CompletionKind::peer_up, peer);
    std::vector<std::byte> bytes(longest_control_frame);
    wire::Writer writer(bytes);
    encode(writer, {.kind = FrameKind::hello, .version = protocol_version, .granted = 1 << 20});
    bytes.resize(writer.size());
    machine.on_completion(Instant(), {.peer = NodeId(peer), .data = bytes}, out);
  }
  post();
  for (int i = 0; i < 100; ++i) (void)machine.send(NodeId(1), {}, {});
  post();
  const auto held = posted_to(1);
  EXPECT_LE(held, 6);
  for (int i = 0; i < 100; ++i) {
    (void)machine.send(NodeId(2), {}, {});
    post();
    while (posted_to(2) > 0) {  // this one takes them
      posted.erase(std::ranges::find(posted, NodeId(2)));
      hear(CompletionKind::sent, 2);
    }
    EXPECT_EQ(machine.queued_to(NodeId(2)), 0u) << i;
  }
  EXPECT_EQ(posted_to(1), held);
  // It takes one, and there is room for another.
  hear(CompletionKind::sent, 1);
  post();
  EXPECT_EQ(posted_to(1), held + 1);
  // Its connection begins anew.
  hear(CompletionKind::failed, 1);
  hear(CompletionKind::peer_down, 1);
  hear(CompletionKind::peer_up, 1);
  post();
  EXPECT_EQ(posted_to(1), held + 2) << "a hello";
}

}  // namespace
}  // namespace weft::message

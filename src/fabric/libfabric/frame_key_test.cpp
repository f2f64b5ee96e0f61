// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/frame_key.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::ofi {
namespace {

const std::vector<std::byte> kPart(50, std::byte{7});

TEST(frame_key, accepts_a_proof_by_the_same_secret) {
  const FrameKey one("secret"), other("secret");
  const Proof proof = one.prove(FrameKind::hello, NodeId(3), kPart);
  EXPECT_TRUE(other.verify(FrameKind::hello, NodeId(3), kPart, proof));
  EXPECT_EQ(one.tag(), other.tag());
}

TEST(frame_key, refuses_another_secret_node_kind_or_content) {
  const FrameKey one("secret"), other("Secret");
  const Proof proof = one.prove(FrameKind::hello, NodeId(3), kPart);
  EXPECT_FALSE(other.verify(FrameKind::hello, NodeId(3), kPart, proof));
  EXPECT_FALSE(one.verify(FrameKind::hello, NodeId(4), kPart, proof));
  EXPECT_FALSE(one.verify(FrameKind::welcome, NodeId(3), kPart, proof));
  auto changed = kPart;
  changed[49] = std::byte{8};
  EXPECT_FALSE(one.verify(FrameKind::hello, NodeId(3), changed, proof));
  Proof flipped = proof;
  flipped[31] ^= std::byte{1};
  EXPECT_FALSE(one.verify(FrameKind::hello, NodeId(3), kPart, flipped));
  EXPECT_NE(one.tag(), other.tag());
}

TEST(frame_key, both_sides_agree_on_tokens_that_differ_per_direction_and_session) {
  const FrameKey a("secret"), b("secret");
  const Nonce first = fresh_nonce(), second = fresh_nonce(), third = fresh_nonce();
  const std::uint64_t there = a.token(NodeId(1), NodeId(2), first, second);
  EXPECT_EQ(there, b.token(NodeId(1), NodeId(2), first, second));
  EXPECT_NE(there, a.token(NodeId(2), NodeId(1), second, first));
  EXPECT_NE(there, a.token(NodeId(1), NodeId(2), first, third));
  EXPECT_NE(there, a.token(NodeId(1), NodeId(3), first, second));
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace weft::ofi

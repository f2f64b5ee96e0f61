// SPDX-License-Identifier: Apache-2.0
#include "core/message/history.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace weft::message {
namespace {

constexpr std::array<std::byte, 3> content = {std::byte{7}, std::byte{8}, std::byte{9}};

History example() {
  const FlowKey flow{.generation = Generation(0x0102030405060708), .tag = Tag(5)};
  return {.run = "run 1",
          .self = NodeId(2),
          .nodes = 3,
          .pairs = {{.peer = NodeId(1),
                     .sends = {{.flow = flow,
                                .first = 40,
                                .digest_before = 3,
                                .digest = 4,
                                .kept = {{.is_gone = true}, {.bytes = content}}}},
                     .receives = {{.flow = flow, .next = 77, .digest = 5}}}}};
}

TEST(history, survives_its_bytes) {
  const std::vector<std::byte> bytes = encode(example());
  // Magic, run, self, nodes, pairs; peer, counts; flow, first, digests, count; two messages; flow,
  // next, digest; checksum.
  EXPECT_EQ(bytes.size(), 8u + 9 + 12 + 12 + (13 + 32) + (9 + 12) + (13 + 16) + 4);
  const auto read = decode_history(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->run, "run 1");
  EXPECT_EQ(read->self, NodeId(2));
  EXPECT_EQ(read->nodes, 3u);
  ASSERT_EQ(read->pairs.size(), 1u);
  const StoredPair& pair = read->pairs[0];
  EXPECT_EQ(pair.peer, NodeId(1));
  ASSERT_EQ(pair.sends.size(), 1u);
  EXPECT_EQ(pair.sends[0].flow, example().pairs[0].sends[0].flow);
  EXPECT_EQ(pair.sends[0].first, 40u);
  ASSERT_EQ(pair.sends[0].kept.size(), 2u);
  EXPECT_TRUE(pair.sends[0].kept[0].is_gone);
  EXPECT_EQ(pair.sends[0].digest_before, 3u);
  EXPECT_EQ(pair.sends[0].digest, 4u);
  EXPECT_TRUE(std::ranges::equal(pair.sends[0].kept[1].bytes, content));
  ASSERT_EQ(pair.receives.size(), 1u);
  EXPECT_EQ(pair.receives[0].next, 77u);
  EXPECT_EQ(pair.receives[0].digest, 5u);
}

TEST(history, that_is_damaged_anywhere_or_cut_short_is_refused) {
  const std::vector<std::byte> bytes = encode(example());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> other = bytes;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(decode_history(other).ok()) << "byte " << i;
    EXPECT_FALSE(decode_history(std::span(bytes).first(i)).ok()) << "first " << i;
  }
}

}  // namespace
}  // namespace weft::message

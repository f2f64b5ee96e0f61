// SPDX-License-Identifier: Apache-2.0
#include "stream/local/life_histories.hpp"

#include <gtest/gtest.h>

namespace weft::stream {
namespace {

constexpr Roster roster{1, 2};
constexpr Duration told_every = Duration::milliseconds(500);
constexpr Duration bucket = Duration::milliseconds(100);

Instant at_ms(std::int64_t ms) {
  return Instant(ms * 1'000'000);
}

/// Timeslices of 10 bytes.
StreamProgress told(std::uint64_t bytes) {
  return {.timeslices = bytes / 10, .bytes = bytes};
}

TEST(life_histories, keep_lives_that_ended_without_a_report) {
  LifeHistories histories(roster, told_every);
  histories.hear(NodeId(0), told(9), at_ms(1500));  // an input node
  histories.hear(NodeId(1), told(100), at_ms(1500));
  histories.hear(NodeId(2), told(50), at_ms(1500));
  histories.hear(NodeId(2), told(80), at_ms(2000));
  histories.hear(NodeId(2), told(10), at_ms(3000));  // less than before: another life
  NodeReport first, second;
  first.node = NodeId(1);
  second.node = NodeId(2);
  const auto remains = histories.remains({first, second}, bucket);
  ASSERT_EQ(remains.size(), 1u);
  EXPECT_EQ(remains[0].node, NodeId(2));
  EXPECT_EQ(remains[0].started, at_ms(1000));
  EXPECT_EQ(remains[0].bytes, 80u);
  EXPECT_EQ(remains[0].complete, 8u);
  EXPECT_EQ(histories.remains({first}, bucket).size(), 2u) << "its last life did not report either";
}

TEST(life_histories, stay_bounded_and_true) {
  LifeHistories histories(roster, told_every);
  for (std::int64_t i = 1; i <= 100'000; ++i) {
    histories.hear(NodeId(1), told(static_cast<std::uint64_t>(i)), at_ms(500 * i));
  }
  const auto remains = histories.remains({}, bucket);
  ASSERT_EQ(remains.size(), 1u);
  EXPECT_EQ(remains[0].bytes, 100'000u);
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : remains[0].bytes_buckets) sum += bytes;
  EXPECT_EQ(sum, 100'000u);
}

}  // namespace
}  // namespace weft::stream

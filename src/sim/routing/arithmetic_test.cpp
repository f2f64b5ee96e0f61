// SPDX-License-Identifier: Apache-2.0
#include "sim/routing/arithmetic.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace weft::sim {
namespace {

TEST(divisor, divides_like_the_processor) {
  const std::uint64_t seed = 3;
  Rng rng(seed);
  for (int i = 0; i < 200'000; ++i) {
    const auto shift = rng.below(31);
    const auto d = static_cast<std::uint32_t>(1 + (rng.next() >> 33 >> shift));
    const Divisor divisor(d);
    for (const std::uint32_t n : {static_cast<std::uint32_t>(rng.next()), 0u, d - 1, d, 2 * d - 1,
                                  0xffffffffu, 0xffffffffu / d * d, 0xffffffffu / d * d - 1}) {
      ASSERT_EQ(divisor.quotient(n), n / d) << n << " / " << d << ", seed " << seed;
      ASSERT_EQ(divisor.remainder(n), n % d) << n << " % " << d << ", seed " << seed;
    }
  }
}

TEST(hashed_choice, spreads_flows_evenly_and_independently_over_places) {
  int both[3][3] = {};
  for (std::uint32_t flow = 0; flow < 9000; ++flow) {
    const std::uint32_t hash = flow_hash(1, 2, flow);
    ++both[hashed_choice(hash, 7, 3)][hashed_choice(hash, 8, 3)];
  }
  for (const auto& row : both) {
    for (const int count : row) EXPECT_NEAR(count, 1000, 120);
  }
}

}  // namespace
}  // namespace weft::sim

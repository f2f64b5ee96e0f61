// SPDX-License-Identifier: Apache-2.0
#include "sim/network/flow_table.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.hpp"

namespace weft::sim {
namespace {

TEST(flow_table, holds_what_a_map_holds_when_flows_come_and_go) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    FlowTable table;
    std::map<std::uint32_t, std::uint32_t> expected;
    const std::uint32_t destinations = 1 + static_cast<std::uint32_t>(rng.below(300));
    for (std::uint32_t step = 0; step < 5'000; ++step) {
      const auto destination = static_cast<std::uint32_t>(rng.below(destinations));
      const auto known = expected.find(destination);
      if (known != expected.end() && rng.below(2) == 0) {
        table.erase(destination);
        expected.erase(known);
      } else {
        Flow& flow = table.at(destination);
        ASSERT_EQ(flow.destination, destination);
        ASSERT_EQ(flow.tail, known == expected.end() ? kNone : known->second);
        flow.tail = expected[destination] = step;
      }
      ASSERT_EQ(table.size(), expected.size());
    }
    for (const auto& [destination, tail] : expected) EXPECT_EQ(table.at(destination).tail, tail);
  }
}

}  // namespace
}  // namespace weft::sim

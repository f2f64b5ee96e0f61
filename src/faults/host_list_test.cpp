// SPDX-License-Identifier: Apache-2.0
#include "faults/host_list.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weft::faults {
namespace {

TEST(host_list, takes_hosts_and_ranges_in_order) {
  EXPECT_EQ(parse_hosts("host2", 4).value(), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(parse_hosts("host3,host0-1", 4).value(), (std::vector<std::uint32_t>{3, 0, 1}));
  EXPECT_EQ(parse_hosts("host1-host3", 4).value(), (std::vector<std::uint32_t>{1, 2, 3}));
  for (const char* wrong : {"", "host4", "host", "3", "host0,", "host2-1", "host0,host0", "host0-9",
                            "host 0", "host0-", "host99999999999"}) {
    EXPECT_FALSE(parse_hosts(wrong, 4).ok()) << wrong;
  }
}

}  // namespace
}  // namespace weft::faults

// SPDX-License-Identifier: Apache-2.0
#include "base/host_port.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(host_port, is_taken_apart_at_the_last_colon) {
  for (const auto& [text, host, port] : {std::tuple{"host7:7000", "host7", 7000},
                                         {"10.0.0.7:1", "10.0.0.7", 1},
                                         {"[fd00::7]:65535", "fd00::7", 65535},
                                         {":9100", "", 9100},
                                         {"h:0", "h", 0}}) {
    const auto split = split_host_port(text);
    ASSERT_TRUE(split) << text;
    EXPECT_EQ(split->host, host);
    EXPECT_EQ(split->port, port);
    if (split->host.empty()) continue;
    EXPECT_EQ(join_host_port(split->host, split->port), text);
  }
}

TEST(host_port, refuses_what_could_be_read_in_two_ways) {
  for (const char* text : {"", "7000", "host7", "host7:", "host7:x", "host7:65536", "host7:-1",
                           "host7:+1", "host7: 1", "fd00::7:7000", "[]:1", "[host7]:1", "[fd00::7]",
                           "[fd00::7]7000", "a]:1", "host7:70000000000000000000"}) {
    EXPECT_FALSE(split_host_port(text)) << text;
  }
}

}  // namespace
}  // namespace weft

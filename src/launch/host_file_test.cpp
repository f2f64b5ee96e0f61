// SPDX-License-Identifier: Apache-2.0
#include "launch/host_file.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::string complaint(std::string_view text) {
  const auto hosts = parse_host_file(text, "hosts");
  return hosts ? "none" : hosts.error().message;
}

TEST(host_file, has_slots_in_our_words_and_in_those_of_open_mpi) {
  const auto hosts = parse_host_file(
      "# the rack\nnode1 4\nnode2 slots=2  # two\n\nroot@10.0.0.3\nnode1\n", "hosts");
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ((*hosts)[0].host, "node1");
  EXPECT_EQ((*hosts)[0].slots, 5u);
  EXPECT_EQ((*hosts)[1].slots, 2u);
  EXPECT_EQ((*hosts)[2].host, "root@10.0.0.3");
  EXPECT_EQ((*hosts)[2].slots, 1u);
}

TEST(host_file, names_the_line_that_is_wrong) {
  EXPECT_EQ(complaint("a\n-oProxyCommand=x\n"),
            "hosts:2: '-oProxyCommand=x' is no name of a host; write HOST, HOST 4 or HOST slots=4");
  EXPECT_EQ(complaint("a;b\n"),
            "hosts:1: 'a;b' is no name of a host; write HOST, HOST 4 or HOST slots=4");
  EXPECT_EQ(complaint("a 0\n"),
            "hosts:1: '0' is no number of slots; write HOST, HOST 4 or HOST slots=4");
  EXPECT_EQ(complaint("a 1 2\n"), "hosts:1: '2' is too much; write HOST, HOST 4 or HOST slots=4");
  EXPECT_EQ(complaint("# none\n"), "hosts: names no host; write a line for each, such as: node1 4");
  EXPECT_EQ(complaint(std::string_view("\x7f"
                                       "ELF\0\xff",
                                       6)),
            "hosts: is not a text file; name one with a line for each host, such as: node1 4");
  EXPECT_NE(read_host_file("/nowhere/hosts").error().message.find("/nowhere/hosts"),
            std::string::npos);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/host_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(host_names, reads_names_and_both_kinds_of_addresses_with_a_port) {
  const auto name = parse_host_port("host7:7000");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "host7");
  EXPECT_EQ(name->port, 7000);
  EXPECT_EQ(parse_host_port("10.0.0.7:1")->host, "10.0.0.7");
  EXPECT_EQ(parse_host_port("[fd00::7]:65535")->host, "fd00::7");
}

TEST(host_names, refuses_what_is_no_host_and_port_by_name) {
  for (const char* text : {"", "host", "host:", ":7000", "host:0", "host:65536", "host:-1",
                           "host:70x", "fd00::7:7000", "[host]:7000", "[fd00::7]7000"}) {
    const auto wrong = parse_host_port(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_THAT(wrong.error().message, HasSubstr(text));
  }
}

TEST(host_names, writes_addresses_as_it_reads_them) {
  EXPECT_EQ(join_host_port("10.0.0.7", 7000), "10.0.0.7:7000");
  EXPECT_EQ(join_host_port("fd00::7", 7000), "[fd00::7]:7000");
}

TEST(host_names, finds_the_address_of_localhost_and_says_when_a_host_is_unknown) {
  const auto here = resolve_host("127.0.0.1");
  ASSERT_TRUE(here);
  EXPECT_EQ(*here, "127.0.0.1");
  const auto unknown = resolve_host("no-such-host.invalid");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("no-such-host.invalid"));
}

TEST(host_names, this_machine_has_a_loopback_address) {
  EXPECT_THAT(local_addresses(), Contains("127.0.0.1"));
  EXPECT_TRUE(is_loopback("127.0.1.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("10.0.0.1"));
}

TEST(host_names, chooses_the_address_in_a_network) {
  const std::vector<std::string> addresses = {"127.0.0.1", "10.1.2.3", "10.2.2.3", "fd00::3"};
  EXPECT_EQ(*address_in_network("10.2.0.0/16", addresses), "10.2.2.3");
  EXPECT_EQ(*address_in_network("10.0.0.0/8", addresses), "10.1.2.3");
  EXPECT_EQ(*address_in_network("10.2.2.3", addresses), "10.2.2.3");
  EXPECT_EQ(*address_in_network("10.2.2.2/31", addresses), "10.2.2.3");
  EXPECT_EQ(*address_in_network("fd00::/8", addresses), "fd00::3");
  EXPECT_EQ(*address_in_network("0.0.0.0/0", addresses), "127.0.0.1");
  const auto none = address_in_network("192.168.0.0/16", addresses);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("10.1.2.3"));
  for (const char* text : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "eth0", "10.0.0/8"}) {
    EXPECT_FALSE(address_in_network(text, addresses)) << text;
  }
}

TEST(host_names, knows_which_hosts_are_this_machine) {
  const std::vector<std::string> hosts = {"10.0.0.1", "10.0.0.2", "127.0.1.1", "10.0.0.2"};
  EXPECT_THAT(hosts_here(hosts, std::vector<std::string>{"127.0.0.1", "10.0.0.2"}),
              ElementsAre(1, 2, 3));
}

TEST(host_names, a_machine_is_always_itself) {
  EXPECT_FALSE(machine_identity().empty());
  EXPECT_EQ(machine_identity(), machine_identity());
}

}  // namespace
}  // namespace weft

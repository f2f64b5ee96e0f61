// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/address.hpp"

#include <gtest/gtest.h>

namespace weft::tcp {
namespace {

TEST(address, reads_what_it_writes) {
  for (const char* text : {"127.0.0.1:4000", "0.0.0.0:0", "[::1]:65535", "unix:@weft-1",
                           "unix:/tmp/weft.sock", "unix:@"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(to_text(*address), text);
  }
}

TEST(address, refuses_everything_else_with_the_forms_that_work) {
  for (const char* text :
       {"", ":", "localhost:1", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "::1:80",
        "[1.2.3.4]:80", "unix:", "unix:a b", "1.2.3:x", "1.2.3.4:4000000000"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_NE(address.error().message.find("10.0.0.1:4000"), std::string::npos) << text;
  }
}

TEST(address, refuses_a_unix_name_that_does_not_fit) {
  EXPECT_TRUE(parse_address("unix:/" + std::string(106, 'x')).ok());
  EXPECT_FALSE(parse_address("unix:/" + std::string(107, 'x')).ok());
}

TEST(address, tells_paths_from_abstract_names) {
  EXPECT_EQ(parse_address("unix:/run/weft")->path(), "/run/weft");
  EXPECT_EQ(parse_address("unix:@run")->path(), "");
  EXPECT_EQ(parse_address("1.2.3.4:5")->path(), "");
}

TEST(address, knows_what_never_leaves_this_host) {
  for (const char* text : {"127.0.0.1:1", "127.200.0.9:1", "[::1]:1"}) {
    EXPECT_TRUE(parse_address(text)->is_loopback()) << text;
  }
  for (const char* text : {"10.0.0.1:1", "128.0.0.1:1", "0.0.0.0:1", "[fe80::1]:1", "unix:/a"}) {
    EXPECT_FALSE(parse_address(text)->is_loopback()) << text;
  }
}

TEST(address, advertises_the_given_host_with_the_bound_port) {
  const auto bound = parse_address("0.0.0.0:4711");
  EXPECT_EQ(to_text(*advertised_address(*bound, "10.1.2.3")), "10.1.2.3:4711");
  const auto bound6 = parse_address("[::]:4711");
  EXPECT_EQ(to_text(*advertised_address(*bound6, "fd00::7")), "[fd00::7]:4711");
  EXPECT_FALSE(advertised_address(*bound, "node7").ok());
}

TEST(address, advertises_a_real_address_for_a_wildcard) {
  const auto address = advertised_address(*parse_address("0.0.0.0:4711"), "");
  ASSERT_TRUE(address.ok());
  EXPECT_FALSE(address->is_wildcard());
  EXPECT_TRUE(to_text(*address).ends_with(":4711"));
}

TEST(address, advertises_what_it_is_bound_to_otherwise) {
  EXPECT_EQ(to_text(*advertised_address(*parse_address("127.0.0.1:9"), "")), "127.0.0.1:9");
  EXPECT_EQ(to_text(*advertised_address(*parse_address("unix:@a"), "10.0.0.1")), "unix:@a");
}

}  // namespace
}  // namespace weft::tcp

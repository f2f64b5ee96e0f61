// SPDX-License-Identifier: Apache-2.0
#include "fabric/choice/fabric_choice.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fabric/hybrid/hybrid.hpp"

namespace weft {
namespace {

/// No other test's.
std::string address(const char* name) {
  return "unix:@weft-choice-" + std::to_string(::getpid()) + name;
}

Result<OpenedFabric> open_at(const std::string& listen, const std::string& known_as,
                             const JobSecret& job, const char* fabric = "auto") {
  return open_fabric(
      {.name = fabric},
      {.self = NodeId(0), .incarnation = Incarnation(1), .listen = listen, .known_as = known_as},
      job);
}

TEST(fabric_choice, works_out_where_the_shared_memory_of_a_known_address_is) {
  const JobSecret job = make_job_secret();
  const auto a = open_at(address("a"), address("a"), job);
  const auto b = open_at(address("b"), address("b"), job);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(address_here(a->fabric->address(), address("b"), job), b->fabric->address());
  EXPECT_NE(address_here(a->fabric->address(), address("b"), make_job_secret()),
            b->fabric->address());
}

TEST(fabric_choice, leaves_addresses_alone_where_no_memory_is_shared) {
  const JobSecret job = make_job_secret();
  const auto a = open_at(address("a"), address("a"), job, "tcp");
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(address_here(a->fabric->address(), address("b"), job), address("b"));
}

// Nobody on the network can knock where nobody of the job is.
TEST(fabric_choice, a_job_on_one_machine_listens_on_loopback) {
  for (const char* fabric : {"libfabric:tcp", "libfabric:sockets"}) {
    const auto opened = open_at("", "", make_job_secret(), fabric);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    // PROVIDER/sockaddr_in/…: family, port, address.
    const std::string text = opened->fabric->address();
    EXPECT_EQ(text.substr(text.find('/') + 9, 8), "7f000001") << text;
  }
}

TEST(fabric_choice, knows_which_fabrics_listen_at_an_address) {
  for (const char* yes : {"tcp", "auto", "libfabric:tcp", "libfabric:tcp;ofi_rxm",
                          "libfabric:sockets", "libfabric:net", "libfabric:udp;ofi_rxd"}) {
    EXPECT_TRUE(listens_at_address(yes)) << yes;
  }
  for (const char* no : {"tcp:unix", "shm", "libfabric:shm", "libfabric:verbs"}) {
    EXPECT_FALSE(listens_at_address(no)) << no;
  }
}

TEST(fabric_choice, does_not_go_without_the_shared_memory_that_others_look_for) {
  const JobSecret job = make_job_secret();
  const auto a = open_at(address("a"), address("a"), job);
  ASSERT_TRUE(a.ok());
  const auto same = open_at(address("b"), address("a"), job);
  ASSERT_FALSE(same.ok());
  EXPECT_EQ(same.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weft

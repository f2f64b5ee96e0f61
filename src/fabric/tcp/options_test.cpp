// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fabric/tcp/tcp_test_support.hpp"

namespace weft::tcp {
namespace {

std::string complaint(const TcpOptions& options) {
  const auto opened = open_tcp(options);
  return opened.ok() ? "" : opened.error().message;
}

TEST(tcp_options, wrong_values_are_named) {
  TcpOptions options = options_for(0);
  options.secret.resize(15);
  EXPECT_EQ(complaint(options), "job secret of 15 bytes: give at least 16 random bytes");
  options = options_for(0);
  options.listen = "localhost:0";
  EXPECT_NE(complaint(options).find("'localhost:0'"), std::string::npos);
  options = options_for(0);
  options.max_message = 100;
  EXPECT_NE(complaint(options).find("max_message 100"), std::string::npos);
  options = options_for(0);
  options.advertise = "nowhere";
  EXPECT_NE(complaint(options).find("advertise 'nowhere'"), std::string::npos);
}

TEST(tcp_options, a_taken_port_and_a_foreign_address_are_named_with_the_fix) {
  const Party first(options_for(0));
  TcpOptions options = options_for(1);
  const auto opened = open_tcp(options_for(2));
  ASSERT_TRUE(opened.ok());
  options.listen = (*opened)->address();
  EXPECT_NE(complaint(options).find("choose another port, or 0 for any"), std::string::npos);
  options.listen = "192.0.2.1:0";
  EXPECT_NE(complaint(options).find("choose an address of this host"), std::string::npos);
}

TEST(tcp_options, a_unix_path_is_taken_over_from_the_dead_only_and_removed_in_the_end) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("weft-test-" + std::to_string(::getpid())))
          .string();
  TcpOptions options = options_for(0);
  options.listen = "unix:" + path;
  {
    const Party alive(options);
    EXPECT_NE(complaint(options).find(path), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    // What a killed process leaves behind.
    auto address = parse_address(options.listen);
    const auto left_behind = listen_on(*address, {});
    ASSERT_TRUE(left_behind.ok());
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(complaint(options), "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(tcp_options, a_node_is_not_its_own_peer) {
  Party party(options_for(0));
  const auto added = party.fabric().add_peer(NodeId(0), Incarnation(1), party.fabric().address());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, ErrorCode::invalid_argument);
}

TEST(tcp_options, service_levels_mark_packets_and_change_nothing_else) {
  Party a(options_for(0)), b(options_for(1));
  std::array<Party*, 2> all = {&a, &b};
  introduce(a, b);
  ASSERT_TRUE(drive(all, [&] { return a.is_up(b.id()) && b.is_up(a.id()); }));
  std::vector<TxOp> ops(64);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ops[i].peer = b.id();
    ops[i].service_level = ServiceLevel(static_cast<std::uint8_t>(i / 2 % 16));
  }
  a.outstanding += a.fabric().post(ops);
  EXPECT_TRUE(drive(all, [&] { return b.messages.size() == ops.size(); }));
}

}  // namespace
}  // namespace weft::tcp

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

int number_of(const Descriptor& socket, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(::getsockopt(socket.get(), IPPROTO_TCP, option, &value, &length), 0);
  return value;
}

struct Probing {
  int idle, interval, probes;  // seconds, seconds
  bool operator==(const Probing&) const = default;
};
// The kernel's settings of both ends of a connection, which must be the same.
Probing probing(Duration peer_timeout, Duration heartbeat) {
  const SocketSettings settings{.keepalive = peer_timeout, .heartbeat = heartbeat};
  auto address = parse_address("127.0.0.1:0");
  const auto listener = listen_on(*address, settings);
  Descriptor connecting;
  EXPECT_NE(start_connect(*address, settings, connecting), ConnectState::failed);
  pollfd wait{.fd = listener->get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&wait, 1, 10'000), 1);
  int error = 0;
  const Descriptor accepted = accept_from(listener->get(), settings, error);
  const auto read = [](const Descriptor& socket) {
    return Probing{number_of(socket, TCP_KEEPIDLE), number_of(socket, TCP_KEEPINTVL),
                   number_of(socket, TCP_KEEPCNT)};
  };
  EXPECT_EQ(read(connecting), read(accepted));
  return read(accepted);
}

TEST(tcp_options, silent_connections_are_probed_after_the_heartbeat) {
  const auto seconds = [](std::int64_t n) { return Duration::seconds(n); };
  EXPECT_EQ(probing(seconds(10), {}), (Probing{5, 1, 4}));
  EXPECT_EQ(probing(seconds(10), seconds(1)), (Probing{1, 1, 9}));
  EXPECT_EQ(probing(seconds(10), seconds(3)), (Probing{3, 3, 3}));
  EXPECT_EQ(probing(seconds(10), seconds(9)), (Probing{9, 1, 1}));
  EXPECT_EQ(probing(seconds(1), Duration::milliseconds(100)), (Probing{1, 1, 1}));
  // The kernel sends no more than 127.
  EXPECT_EQ(probing(seconds(3600), seconds(2)), (Probing{2, 29, 125}));
}

TEST(tcp_options, a_heartbeat_is_shorter_than_the_time_for_it) {
  TcpOptions options = options_for(0);
  options.heartbeat = options.peer_timeout;
  EXPECT_EQ(complaint(options), "heartbeat: choose less than peer_timeout");
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
    // A socket file such as a killed process leaves behind.
    auto address = parse_address(options.listen);
    const auto left_behind = listen_on(*address, {});
    ASSERT_TRUE(left_behind.ok());
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(complaint(options), "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(tcp_options, a_unix_path_that_is_no_socket_is_refused_and_left_alone) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weft-test-file-" + std::to_string(::getpid()));
  TcpOptions options = options_for(0);
  options.listen = "unix:" + path.string();
  std::ofstream(path) << "somebody's results";
  EXPECT_NE(complaint(options).find(path.string()), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), 18u);
  std::filesystem::remove(path);
  {
    const Party listener(options);
    // Somebody put a file of that name where the socket was.
    std::filesystem::remove(path);
    std::ofstream(path) << "somebody's results";
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
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

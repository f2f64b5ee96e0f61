// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "rdma/verbs/hello.hpp"

namespace weft::rdma {
namespace {

constexpr Duration limit = Duration::seconds(30);
const StopCheck never = [] { return false; };

struct Ends {
  ControlConnection ours;
  Descriptor theirs;
};
Ends a_connection() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  return {ControlConnection(Descriptor(fds[0])), Descriptor(fds[1])};
}

void write_raw(const Descriptor& to, const void* bytes, std::size_t size) {
  ASSERT_EQ(::write(to.get(), bytes, size), static_cast<ssize_t>(size));
}

TEST(control, the_longest_message_arrives_whole_over_tcp) {
  const auto listener = ControlListener::open({"127.0.0.1", 0});
  ASSERT_TRUE(listener.ok()) << listener.error().message;
  const std::vector<std::byte> sent(longest_message, std::byte{0x5A});
  std::thread client([&, port = listener->port()] {
    auto connection = ControlConnection::connect({"127.0.0.1", port}, limit, never);
    ASSERT_TRUE(connection.ok()) << connection.error().message;
    EXPECT_TRUE(connection->send(sent, limit, never).ok());
  });
  auto accepted = listener->accept(never);
  ASSERT_TRUE(accepted.ok());
  const auto received = accepted->first.receive(limit, never);
  client.join();
  ASSERT_TRUE(received.ok()) << received.error().message;
  EXPECT_EQ(*received, sent);
  EXPECT_TRUE(accepted->first.wait_for_end(never).ok());
}

TEST(control, a_message_that_comes_byte_by_byte_is_put_together) {
  Ends ends = a_connection();
  const unsigned char raw[] = {3, 0, 0, 0, 7, 8, 9};
  std::thread peer([&] {
    for (const unsigned char byte : raw) write_raw(ends.theirs, &byte, 1);
  });
  const auto received = ends.ours.receive(limit, never);
  peer.join();
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(*received, (std::vector{std::byte{7}, std::byte{8}, std::byte{9}}));
}

TEST(control, a_length_that_no_message_has_is_refused_before_memory_is_taken) {
  for (const std::uint32_t length : {0U, static_cast<std::uint32_t>(longest_message) + 1, ~0U}) {
    Ends ends = a_connection();
    write_raw(ends.theirs, &length, sizeof length);
    const auto received = ends.ours.receive(limit, never);
    ASSERT_FALSE(received.ok()) << length;
    EXPECT_EQ(received.error().code, ErrorCode::corrupt);
  }
}

TEST(control, a_peer_that_closes_in_a_message_is_noticed) {
  Ends ends = a_connection();
  write_raw(ends.theirs, "\x09\0\0\0abc", 7);
  ends.theirs = Descriptor();
  const auto received = ends.ours.receive(limit, never);
  ASSERT_FALSE(received.ok());
}

TEST(control, a_silent_peer_ends_the_wait_by_its_limit_or_by_a_signal) {
  Ends ends = a_connection();
  EXPECT_FALSE(ends.ours.has_ended());
  EXPECT_EQ(ends.ours.receive(Duration(), never).error().code, ErrorCode::timed_out);
  EXPECT_EQ(ends.ours.receive(limit, [] { return true; }).error().code, ErrorCode::cancelled);
  EXPECT_EQ(ends.ours.wait_for_end([] { return true; }).error().code, ErrorCode::cancelled);
}

TEST(control, a_port_where_nobody_listens_says_what_to_start_there) {
  std::uint16_t port = 0;
  {
    const auto listener = ControlListener::open({"127.0.0.1", 0});
    port = listener->port();
  }
  const auto connection = ControlConnection::connect({"127.0.0.1", port}, limit, never);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.error().code, ErrorCode::unavailable);
  EXPECT_THAT(connection.error().message,
              testing::HasSubstr("weft odp bench --listen " + std::to_string(port)));
}

TEST(control, places_are_hosts_and_ports) {
  const auto as_text = [](const std::string& text) {
    const auto place = parse_place(text);
    return place ? place->host + "|" + std::to_string(place->port) : "wrong";
  };
  EXPECT_EQ(as_text("node7:7471"), "node7|7471");
  EXPECT_EQ(as_text("[fd00::1]:7471"), "fd00::1|7471");
  EXPECT_EQ(as_text("7471"), "|7471");
  for (const char* text : {"", "node7", "node7:", "node7:65536", "fd00::1:7471", "[]:1", "a:b"}) {
    EXPECT_EQ(as_text(text), "wrong") << text;
  }
}

}  // namespace
}  // namespace weft::rdma

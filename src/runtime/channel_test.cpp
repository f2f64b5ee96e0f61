// SPDX-License-Identifier: Apache-2.0
#include "runtime/channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

namespace weft {
namespace {

TEST(channel, messages_arrive_whole_and_in_order) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends);
  auto& [a, b] = *ends;
  const std::string large(3 << 20, 'x');
  std::thread writer([&a = a, &large] {
    ASSERT_TRUE(a.send('1', "first"));
    ASSERT_TRUE(a.send('2', large));
    ASSERT_TRUE(a.send('3', ""));
  });
  const auto first = b.wait();
  const auto second = b.wait();
  const auto third = b.wait();
  writer.join();
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->text, "first");
  EXPECT_EQ(second->text, large);
  EXPECT_EQ(third->kind, '3');
}

TEST(channel, the_end_of_the_other_process_is_an_error_after_its_last_message) {
  auto ends = Channel::pair();
  auto& [a, b] = *ends;
  ASSERT_TRUE(a.send('r', "report"));
  a.close();
  EXPECT_EQ(b.wait()->text, "report");
  EXPECT_FALSE(b.wait());
  EXPECT_FALSE(b.send('x', "anybody there?"));
}

TEST(channel, a_length_that_cannot_be_closes_it) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  Channel channel(sockets[0]);
  Channel liar(sockets[1]);
  ASSERT_EQ(::send(liar.descriptor(), "\xff\xff\xff\xff!", 5, 0), 5);
  EXPECT_FALSE(channel.wait());
  EXPECT_FALSE(channel.open());
}

}  // namespace
}  // namespace weft

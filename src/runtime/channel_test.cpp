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

TEST(channel, messages_to_an_end_that_does_not_read_wait_in_a_queue) {
  auto ends = Channel::pair();
  auto& [a, b] = *ends;
  // The kernel keeps fewer than three hundred small messages of a Unix socket.
  constexpr int many = 10'000;
  for (int i = 0; i < many; ++i) a.post('p', std::to_string(i));
  EXPECT_GT(a.queued(), 0u);
  for (int i = 0; i < many;) {
    a.flush();
    while (const auto message = b.receive()) EXPECT_EQ(message->text, std::to_string(i++));
  }
  EXPECT_EQ(a.queued(), 0u);
}

TEST(channel, a_blocking_send_goes_behind_what_is_queued) {
  auto ends = Channel::pair();
  auto& [a, b] = *ends;
  const std::string large(3 << 20, 'x');
  a.post('1', large);
  std::thread writer([&a = a] { EXPECT_TRUE(a.send('2', "second")); });
  EXPECT_EQ(b.wait()->text, large);
  EXPECT_EQ(b.wait()->text, "second");
  writer.join();
}

TEST(channel, an_end_that_leaves_too_much_unread_loses_the_channel) {
  auto ends = Channel::pair();
  auto& [a, b] = *ends;
  const std::string large(Channel::most_queued / 2, 'x');
  for (int i = 0; i < 3; ++i) a.post('1', large);
  EXPECT_FALSE(a.open());
  EXPECT_EQ(a.queued(), 0u);
}

TEST(channel, messages_for_an_end_that_is_gone_are_lost_and_its_last_words_are_not) {
  auto ends = Channel::pair();
  auto& [a, b] = *ends;
  ASSERT_TRUE(b.send('r', "report"));
  b.close();
  a.post('1', "anybody there?");
  EXPECT_EQ(a.queued(), 0u);
  EXPECT_EQ(a.receive()->text, "report");
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

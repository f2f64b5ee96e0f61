// SPDX-License-Identifier: Apache-2.0
#include "launch/frame_pipe.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

namespace weft {
namespace {

struct Ends {
  Ends() {
    ::signal(SIGPIPE, SIG_IGN);
    ::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
  }
  int sockets[2];
};

TEST(frame_pipe, frames_arrive_whole_in_order_and_never_block) {
  Ends ends;
  FramePipe a(ends.sockets[0], ends.sockets[0]), b(ends.sockets[1], ends.sockets[1]);
  EXPECT_FALSE(b.receive());
  const std::string large(3 << 20, 'x');
  a.send('1', 7, "first");
  a.send('2', 8, large);
  a.send('3', 9, "");
  EXPECT_GT(a.queued(), 0u);
  std::vector<FramePipe::Frame> got;
  while (got.size() < 3) {
    a.flush();
    while (auto frame = b.receive()) got.push_back(*frame);
  }
  EXPECT_EQ(got[0].kind, '1');
  EXPECT_EQ(got[0].rank, 7u);
  EXPECT_EQ(got[0].text, "first");
  EXPECT_EQ(got[1].text, large);
  EXPECT_EQ(got[2].rank, 9u);
}

TEST(frame_pipe, what_was_sent_before_the_end_still_arrives) {
  Ends ends;
  FramePipe b(ends.sockets[1], ends.sockets[1]);
  {
    FramePipe a(ends.sockets[0], ends.sockets[0]);
    a.send('1', 0, "last");
  }
  EXPECT_EQ(b.receive()->text, "last");
  EXPECT_FALSE(b.receive());
  EXPECT_FALSE(b.open());
}

TEST(frame_pipe, nonsense_closes_it_without_taking_memory) {
  Ends ends;
  FramePipe b(ends.sockets[1], ends.sockets[1]);
  const std::string text = "Welcome to this machine, which has been up for 3 days.\n";
  ASSERT_EQ(::write(ends.sockets[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_FALSE(b.receive());
  EXPECT_FALSE(b.open());
  EXPECT_TRUE(b.heard_nonsense());
  ::close(ends.sockets[0]);
}

TEST(frame_pipe, too_much_that_nobody_takes_closes_it) {
  Ends ends;
  FramePipe a(ends.sockets[0], ends.sockets[0]);
  const std::string large(FramePipe::longest, 'x');
  for (int i = 0; i < 5; ++i) a.send('1', 0, large);
  EXPECT_FALSE(a.open());
  ::close(ends.sockets[1]);
}

}  // namespace
}  // namespace weft

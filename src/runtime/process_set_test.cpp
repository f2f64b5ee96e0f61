// SPDX-License-Identifier: Apache-2.0
#include "runtime/process_set.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "base/process_end.hpp"

namespace weft {
namespace {

std::vector<ProcessSet::Ended> wait_for_all(ProcessSet& set) {
  std::vector<ProcessSet::Ended> all;
  while (set.running() > 0) {
    for (const auto& ended : set.reap()) all.push_back(ended);
  }
  return all;
}

TEST(process_set, hears_what_a_process_said_before_it_ended) {
  ProcessSet set(2);
  ASSERT_TRUE(set.start(1, [](Channel channel) {
    (void)channel.send('x', "last words");
    return 3;
  }));
  EXPECT_FALSE(set.runs(0));
  EXPECT_TRUE(set.runs(1));
  const auto ended = wait_for_all(set);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].place, 1u);
  EXPECT_EQ(describe_end(ended[0].status), "ended with code 3");
  std::string heard;
  set.hear(1, [&](Channel::Message m) { heard = m.text; });
  EXPECT_EQ(heard, "last words");
  EXPECT_FALSE(set.channel(1).open());
}

TEST(process_set, says_by_which_signal_a_process_ended) {
  ProcessSet set(1);
  ASSERT_TRUE(set.start(0, [](Channel channel) {
    (void)channel.wait();
    return 0;
  }));
  set.signal_all(SIGTERM);
  const auto ended = wait_for_all(set);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(describe_end(ended[0].status), "was ended by signal 15 (Terminated)");
  EXPECT_EQ(code_of_end(ended[0].status), 143);
}

TEST(process_set, a_process_that_throws_ends_and_the_others_go_on) {
  ProcessSet set(2);
  ASSERT_TRUE(set.start(0, [](Channel channel) { return channel.wait() ? 0 : 2; }));
  ASSERT_TRUE(set.start(1, [](Channel) -> int { throw std::bad_alloc(); }));
  while (set.runs(1)) {
    for (const auto& ended : set.reap()) {
      EXPECT_EQ(ended.place, 1u);
      EXPECT_EQ(describe_end(ended.status), "ended with code 1");
    }
  }
  set.channel(0).post('x', "");
  const auto ended = wait_for_all(set);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(describe_end(ended[0].status), "ended with code 0");
}

TEST(process_set, leaves_no_process_behind) {
  pid_t pid = -1;
  {
    ProcessSet set(1);
    ASSERT_TRUE(set.start(0, [](Channel channel) {
      (void)channel.wait();
      return 0;
    }));
    pid = set.pid(0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(process_set, processes_do_not_hold_each_others_channels) {
  ProcessSet set(2);
  const auto until_its_channel_ends = [](Channel channel) {
    (void)channel.wait();
    return 0;
  };
  ASSERT_TRUE(set.start(0, until_its_channel_ends));
  ASSERT_TRUE(set.start(1, until_its_channel_ends));
  set.channel(0).close();
  while (set.runs(0)) (void)set.reap();
  EXPECT_TRUE(set.runs(1));
}

}  // namespace
}  // namespace weft

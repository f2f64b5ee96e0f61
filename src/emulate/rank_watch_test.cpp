// SPDX-License-Identifier: Apache-2.0
#include "emulate/rank_watch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <memory>

namespace weft::emulate {
namespace {

pid_t start_sleeper() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  return child;
}

TEST(rank_watch, processes_are_told_in_the_order_in_which_they_ended) {
  const auto block = std::make_unique<ControlBlock>();
  const pid_t children[] = {start_sleeper(), start_sleeper(), start_sleeper()};
  for (const pid_t child : children) block->enrol()->pid = child;
  RankWatch watch(*block);
  for (const int which : {1, 0, 2}) {
    std::vector<pollfd> polled{{-1, 0, 0}};  // of somebody else
    watch.add_to(polled);
    ::kill(children[which], SIGKILL);
    while (::poll(polled.data(), polled.size(), -1) < 0) {
    }
    watch.take(polled);
  }
  EXPECT_EQ(watch.ended(), (std::vector<std::int32_t>{children[1], children[0], children[2]}));
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
}

TEST(rank_watch, a_record_that_another_process_took_over_is_watched_anew) {
  const auto block = std::make_unique<ControlBlock>();
  const pid_t children[] = {start_sleeper(), start_sleeper()};
  ProcessRecord* record = block->enrol();
  RankWatch watch(*block);
  for (const pid_t child : children) {
    record->pid = child;
    std::vector<pollfd> polled;
    watch.add_to(polled);
    ASSERT_EQ(polled.size(), 1U);
    EXPECT_EQ(watch.running(), std::vector<std::int32_t>{child});
    ::kill(child, SIGKILL);
    while (::poll(polled.data(), polled.size(), -1) < 0) {
    }
    EXPECT_TRUE(watch.running().empty());
    watch.take(polled);
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(watch.ended(), std::vector<std::int32_t>(std::begin(children), std::end(children)));
}

TEST(rank_watch, a_process_with_two_records_ends_once) {
  const auto block = std::make_unique<ControlBlock>();
  const pid_t child = start_sleeper();
  for (int i = 0; i < 2; ++i) block->enrol()->pid = child;
  RankWatch watch(*block);
  std::vector<pollfd> polled;
  watch.add_to(polled);
  ASSERT_EQ(polled.size(), 1U);
  ::kill(child, SIGKILL);
  while (::poll(polled.data(), polled.size(), -1) < 0) {
  }
  watch.take(polled);
  EXPECT_EQ(watch.ended(), std::vector<std::int32_t>{child});
  ::waitpid(child, nullptr, 0);
}

TEST(rank_watch, nobody_is_the_first_of_processes_that_end_between_two_polls) {
  const auto block = std::make_unique<ControlBlock>();
  const pid_t children[] = {start_sleeper(), start_sleeper()};
  for (const pid_t child : children) block->enrol()->pid = child;
  RankWatch watch(*block);
  EXPECT_FALSE(watch.knows_any());
  std::vector<pollfd> polled;
  watch.add_to(polled);
  ASSERT_EQ(polled.size(), 2U);
  EXPECT_TRUE(watch.knows_any());
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  ASSERT_EQ(::poll(polled.data(), polled.size(), -1), 2);
  watch.take(polled);
  EXPECT_TRUE(watch.ended().empty());
}

}  // namespace
}  // namespace weft::emulate

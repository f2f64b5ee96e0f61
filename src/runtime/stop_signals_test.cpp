// SPDX-License-Identifier: Apache-2.0
#include "runtime/stop_signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace weft {
namespace {

TEST(stop_signals, are_noted_and_forgotten_by_the_next_watch) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const StopSignals signals;
    EXPECT_FALSE(signals.came());
    EXPECT_EQ(signals.number(), 0);
    std::raise(number);
    EXPECT_TRUE(signals.came());
    EXPECT_EQ(signals.number(), number);
  }
}

TEST(stop_signals, the_first_one_is_told_and_all_are_counted) {
  const StopSignals signals;
  std::raise(SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(signals.count(), 2);
  EXPECT_EQ(signals.number(), SIGTERM);
}

TEST(stop_signals, an_inner_watch_goes_on_with_the_outer_one_s_count) {
  const StopSignals outer;
  std::raise(SIGTERM);
  {
    const StopSignals inner;
    EXPECT_EQ(inner.count(), 1);
  }
  std::raise(SIGTERM);  // would end the process if the inner one had restored anything
  EXPECT_EQ(outer.count(), 2);
}

TEST(stop_signals, a_second_one_ends_the_process_where_nobody_can_look) {
  for (const int number : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const StopSignals outer;
          const StopSignals signals(StopSignals::Second::kills);
          std::raise(number);
          std::raise(number);
        },
        testing::KilledBySignal(number), "");
  }
}

TEST(stop_signals, the_first_one_says_what_happens_and_no_later_one) {
  const StopSignals outer;
  testing::internal::CaptureStderr();
  {
    const StopSignals signals(StopSignals::Second::is_counted, "ending soon\n");
    std::raise(SIGINT);
    std::raise(SIGTERM);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ending soon\n");
}

TEST(stop_signals, the_first_one_says_nothing_to_a_pipe_that_nobody_reads) {
  EXPECT_EXIT(
      {
        int ends[2];
        if (::pipe(ends) != 0) std::exit(1);
        ::dup2(ends[1], STDERR_FILENO);
        ::close(ends[0]);
        const StopSignals signals(StopSignals::Second::is_counted, "ending soon\n");
        std::raise(SIGINT);
        std::exit(signals.count() == 1 ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

TEST(stop_signals, a_terminal_that_is_closed_counts_once) {
  const StopSignals signals(StopSignals::Second::kills);
  std::raise(SIGHUP);
  std::raise(SIGHUP);
  EXPECT_EQ(signals.count(), 1);
}

TEST(stop_signals, a_process_that_ignores_hang_ups_goes_on_to) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    std::raise(SIGHUP);
    EXPECT_EQ(signals.count(), 0);
  }
  std::raise(SIGHUP);  // would end the process
  std::signal(SIGHUP, SIG_DFL);
}

TEST(stop_signals, a_child_that_ignores_them_lives_on) {
  EXPECT_EXIT(
      {
        const StopSignals signals;
        StopSignals::ignore();
        std::raise(SIGTERM);
        std::raise(SIGINT);
        std::raise(SIGHUP);
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace weft

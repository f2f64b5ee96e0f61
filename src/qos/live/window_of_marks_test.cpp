// SPDX-License-Identifier: Apache-2.0
#include "qos/live/window_of_marks.hpp"

#include <gtest/gtest.h>

namespace weft::qos {
namespace {

JobProgress mark(std::uint64_t iterations, int waited_ms, int elapsed_ms) {
  return {.iterations = iterations,
          .waited = Duration::milliseconds(waited_ms),
          .elapsed = Duration::milliseconds(elapsed_ms)};
}

TEST(window_of_marks, counts_from_mark_to_mark_and_not_from_one_end_of_the_window_to_the_other) {
  // An iteration takes 30 ms, of which it waits 12: four marks in a window of 100 ms, or three.
  const std::vector<JobProgress> before = {mark(10, 120, 299), mark(10, 120, 270)};
  const std::vector<JobProgress> after = {mark(13, 156, 389), mark(14, 168, 390)};
  const auto window = window_of_marks(before, after, Duration::milliseconds(100));
  EXPECT_EQ(window.iterations, (std::vector<std::uint64_t>{3333, 3333}));
  EXPECT_DOUBLE_EQ(window.waited[0], 0.4);
  EXPECT_DOUBLE_EQ(window.waited[1], 0.4);
}

TEST(window_of_marks, a_process_without_an_iteration_did_nothing_but_wait) {
  const std::vector<JobProgress> same = {mark(10, 120, 299)};
  const auto window = window_of_marks(same, same, Duration::milliseconds(100));
  EXPECT_EQ(window.iterations[0], 0U);
  EXPECT_EQ(window.waited[0], 1);
}

}  // namespace
}  // namespace weft::qos

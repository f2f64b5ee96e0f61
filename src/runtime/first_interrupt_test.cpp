// SPDX-License-Identifier: Apache-2.0
#include "runtime/first_interrupt.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(first_interrupt, is_noted_and_forgotten_by_the_next_one) {
  {
    const FirstInterrupt first;
    EXPECT_FALSE(first.came());
    std::raise(SIGINT);
    EXPECT_TRUE(first.came());
  }
  const FirstInterrupt next;
  EXPECT_FALSE(next.came());
}

TEST(first_interrupt, a_second_one_ends_the_process) {
  EXPECT_EXIT(
      {
        const FirstInterrupt first;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "net/job_levels.hpp"

#include <gtest/gtest.h>

namespace weft::net {
namespace {

TEST(job_levels, sender_then_receiver_then_job_then_what_was_asked_for) {
  JobLevels levels(3, 8);
  EXPECT_EQ(levels.of(0, 1, 5), 5);
  levels.set_job(4);
  EXPECT_EQ(levels.of(0, 1, 5), 4);
  levels.set(1, 3);
  EXPECT_EQ(levels.of(0, 1, 5), 3);
  levels.set(0, 2);
  EXPECT_EQ(levels.of(0, 1, 5), 2);
  EXPECT_EQ(levels.of(2, 0, 5), 2);
  EXPECT_EQ(levels.of(1, 0, 5), 3);
  levels.set(0, std::nullopt);
  levels.set(1, std::nullopt);
  levels.set_job(std::nullopt);
  EXPECT_EQ(levels.of(0, 1, 5), 5);
}

TEST(job_levels, what_is_asked_for_beyond_the_last_level_is_the_last_one) {
  EXPECT_EQ(JobLevels(2, 4).of(0, 1, 7), 3);
}

}  // namespace
}  // namespace weft::net

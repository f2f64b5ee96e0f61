// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/schedule/dfs/dfs.hpp"

namespace weft::schedule {
namespace {

TEST(dfs_options, defaults_are_those_of_table_1) {
  const DfsOptions options;
  EXPECT_EQ(options.timeslices_per_interval, 10'000u);
  EXPECT_EQ(options.history_length, 10u);
  EXPECT_EQ(options.speed_up_threshold_percent, 10.0);
  EXPECT_EQ(options.speed_up_percent, 5.0);
  EXPECT_TRUE(check_dfs_options(options).ok());
}

TEST(dfs_options, what_is_out_of_range_is_named_with_its_value_and_the_range) {
  DfsOptions options;
  options.request_distance = 1;
  const auto result = check_dfs_options(options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "--request-distance 1: schedule dfs takes 2 to 1000");
}

TEST(dfs_options, not_a_number_is_refused) {
  DfsOptions options;
  options.speed_up_percent = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check_dfs_options(options).ok());
  options.speed_up_percent = 100;
  EXPECT_FALSE(check_dfs_options(options).ok());
}

}  // namespace
}  // namespace weft::schedule

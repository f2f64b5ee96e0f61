// SPDX-License-Identifier: Apache-2.0
#include "runtime/switch_time.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(switch_time, grows_with_system_calls_and_has_bounds) {
  EXPECT_EQ(switch_time_of(Duration::nanoseconds(60)), usual_switch);
  EXPECT_EQ(switch_time_of(Duration::nanoseconds(150)), usual_switch);
  EXPECT_EQ(switch_time_of(Duration::nanoseconds(300)), usual_switch * 2);
  EXPECT_EQ(switch_time_of(Duration::nanoseconds(1160)), usual_switch * 8);
  EXPECT_EQ(switch_time_of(Duration::nanoseconds(1250)), usual_switch * 8);
  EXPECT_EQ(switch_time_of(Duration::milliseconds(1)), longest_switch);
}

TEST(switch_time, of_this_machine_is_measured_once) {
  const Duration measured = time_of_switch();
  EXPECT_GE(measured, usual_switch);
  EXPECT_LE(measured, longest_switch);
  EXPECT_EQ(time_of_switch(), measured);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "weft/time.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace weft {
namespace {

TEST(time, arithmetic_is_exact) {
  const Instant t(5);
  EXPECT_EQ((t + Duration::microseconds(2)).ticks(), 2005);
  EXPECT_EQ(((t + Duration::seconds(1)) - t), Duration::milliseconds(1000));
  EXPECT_EQ(Duration::seconds(3) / Duration::milliseconds(7), 428);
}

TEST(time, picoseconds_round_up_to_nanoseconds) {
  EXPECT_EQ(to_nano(PicoDuration(1001)).ticks(), 2);
  EXPECT_EQ(to_nano(PicoDuration(1000)).ticks(), 1);
  EXPECT_EQ(to_pico(Duration(3)).ticks(), 3000);
}

TEST(time, units_do_not_mix) {
  static_assert(!std::is_convertible_v<Duration, PicoDuration>);
  static_assert(!std::is_convertible_v<Instant, Duration>);
  static_assert(!std::is_convertible_v<std::int64_t, Duration>);
}

}  // namespace
}  // namespace weft

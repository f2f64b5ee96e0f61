// SPDX-License-Identifier: Apache-2.0
#include "base/clocks.hpp"

#include <gtest/gtest.h>

#include <concepts>

namespace weft {
namespace {

template <class A, class B>
concept Mixes = requires(A a, B b) {
  a - b;
}
|| requires(A a, B b) {
  a < b;
}
|| requires(A a, B b) {
  a == b;
}
|| requires(A a, B b) {
  a = b;
}
|| std::constructible_from<A, B>;

using LeaderInstant = InstantOf<LeaderClock>;

// A time stamp of one clock must not compile as one of another.
static_assert(Mixes<Instant, Instant> && Mixes<HostInstant, HostInstant>);
static_assert(!Mixes<Instant, HostInstant> && !Mixes<HostInstant, Instant>);
static_assert(!Mixes<Instant, LeaderInstant> && !Mixes<LeaderInstant, Instant>);
static_assert(!Mixes<HostInstant, LeaderInstant> && !Mixes<LeaderInstant, HostInstant>);
static_assert(!Mixes<Instant, PicoInstant> && !Mixes<HostInstant, PicoInstant>);
static_assert(!std::convertible_to<std::int64_t, HostInstant>);
static_assert(!std::constructible_from<ClockOffset<LeaderClock>, Instant, HostInstant>);

TEST(clocks, an_offset_leads_from_one_clock_to_the_other) {
  const ClockOffset<LeaderClock> offset(Instant(100), LeaderInstant(40));
  EXPECT_EQ(offset.ahead(), Duration(-60));
  EXPECT_EQ(offset.at(Instant(150)), LeaderInstant(90));
}

TEST(clocks, of_one_clock_calculate_as_instants_do) {
  EXPECT_EQ(HostInstant(5) + Duration(3) - HostInstant(6), Duration(2));
  EXPECT_LT(HostInstant(5) - Duration(1), HostInstant(5));
  EXPECT_EQ(as_own(own_as<HostClock>(Instant(7))), Instant(7));
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/clock_synchronizer.hpp"

#include <gtest/gtest.h>

namespace weft::schedule::dfs {
namespace {

constexpr Duration ms(std::int64_t n) {
  return Duration::milliseconds(n);
}
constexpr Duration us(std::int64_t n) {
  return Duration::microseconds(n);
}
constexpr Instant at(Duration since_epoch) {
  return Instant{} + since_epoch;
}

TEST(clock_synchronizer, offset_is_that_of_equation_2) {
  ClockSynchronizer clocks(1, 10, 10, 500);
  // The interval started at 100 ms and took 40 ms: tmend = 140 ms. The report came at 153 ms of the
  // engine's clock after 3 ms under way: toffset = 153 − 140 − 3 = 10 ms.
  clocks.record(0, at(ms(153)), at(ms(100)) + ms(40), ms(3));
  EXPECT_EQ(clocks.latest_offset(0), ms(10));
  EXPECT_EQ(clocks.to_engine(0, at(ms(200))), at(ms(210)));
  EXPECT_EQ(clocks.to_input(0, at(ms(210))), at(ms(200)));
}

TEST(clock_synchronizer, initial_offset_is_the_difference_of_barrier_times) {
  ClockSynchronizer clocks(2, 10, 10, 500);
  clocks.set_initial(1, at(ms(1'000)), at(ms(1'250)));
  EXPECT_EQ(clocks.latest_offset(1), ms(250));
  EXPECT_EQ(clocks.to_engine(1, at(ms(2'000))), at(ms(2'250)));
  EXPECT_EQ(clocks.to_engine(0, at(ms(2'000))), at(ms(2'000)));  // nothing known of input 0
}

TEST(clock_synchronizer, initial_offset_gives_way_to_measured_ones) {
  ClockSynchronizer clocks(1, 10, 10, 500);
  clocks.set_initial(0, at(ms(0)), at(ms(300)));
  clocks.record(0, at(ms(112)), at(ms(100)), ms(2));
  EXPECT_EQ(clocks.to_engine(0, at(ms(100))), at(ms(110)));
  clocks.set_initial(0, at(ms(0)), at(ms(300)));  // a later hello does not undo it
  EXPECT_EQ(clocks.to_engine(0, at(ms(100))), at(ms(110)));
}

// Known mistake of the public implementations: they know offsets only, no drift.
TEST(clock_synchronizer, drift_is_that_of_equation_3) {
  ClockSynchronizer clocks(1, 10, 10, 500);
  // Offsets 10 ms, 10.1 ms, 10.2 ms, one second apart: 100 µs / 1 s = 100 ppm each.
  for (int j = 0; j < 3; ++j) {
    const Instant end = at(ms(1'000 * j));
    clocks.record(0, end + ms(10) + us(100 * j) + us(20), end, us(20));
  }
  EXPECT_EQ(clocks.drift_ppb(0), 100'000);
  // 5 s after the last report the clocks are another 500 µs apart: 10.2 + 0.5 ms.
  EXPECT_EQ(clocks.to_engine(0, at(ms(7'000))), at(ms(7'000)) + ms(10) + us(700));
  EXPECT_EQ(clocks.to_input(0, at(ms(7'000)) + ms(10) + us(700)), at(ms(7'000)));
}

TEST(clock_synchronizer, drift_is_the_median_over_the_history) {
  ClockSynchronizer clocks(1, 3, 1, 500);
  // Offsets in µs at seconds 0…4: 0, 100, 100, 400, 410. Drifts in ppm: 100, 0, 300, 10.
  const std::int64_t offsets[] = {0, 100, 100, 400, 410};
  const std::int64_t expected_ppm[] = {0, 100, 50, 100, 10};
  // Medians: {100}; {100, 0} → 50; {100, 0, 300} → 100; the last three {0, 300, 10} → 10.
  for (int j = 0; j < 5; ++j) {
    const Instant end = at(ms(1'000 * j));
    clocks.record(0, end + us(offsets[j]), end, Duration{});
    EXPECT_EQ(clocks.drift_ppb(0), expected_ppm[j] * 1'000) << j;
  }
}

// Known mistake of the public implementations: each message sets the offset to the time elapsed.
TEST(clock_synchronizer, offset_stays_when_time_passes_between_messages) {
  ClockSynchronizer clocks(1, 10, 10, 500);
  clocks.set_initial(0, at(ms(5)), at(ms(15)));
  for (int j = 1; j <= 20; ++j) {
    const Instant end = at(ms(500 * j));
    clocks.record(0, end + ms(10) + us(30), end, us(30));
    EXPECT_EQ(clocks.latest_offset(0), ms(10));
    EXPECT_EQ(clocks.to_engine(0, end), end + ms(10));
  }
  EXPECT_EQ(clocks.drift_ppb(0), 0);
}

TEST(clock_synchronizer, one_delayed_report_does_not_move_the_clock) {
  ClockSynchronizer clocks(1, 10, 10, 500);
  for (int j = 0; j < 10; ++j) {
    const Instant end = at(ms(1'000 * j));
    const Duration delay = j == 8 ? ms(900) : Duration{};
    clocks.record(0, end + ms(10) + delay, end, Duration{});
  }
  EXPECT_EQ(clocks.drift_ppb(0), 0);
  EXPECT_EQ(clocks.to_engine(0, at(ms(9'000))), at(ms(9'010)));
}

TEST(clock_synchronizer, no_clock_drifts_beyond_the_limit) {
  ClockSynchronizer clocks(1, 10, 1, 500);
  clocks.record(0, at(ms(10)), at(ms(0)), Duration{});
  clocks.record(0, at(ms(1'020)), at(ms(1'000)), Duration{});  // 10 ms in 1 s: 10'000 ppm
  EXPECT_EQ(clocks.drift_ppb(0), 500'000);
}

TEST(clock_synchronizer, forgets_a_process_that_is_gone) {
  ClockSynchronizer clocks(2, 10, 10, 500);
  clocks.record(0, at(ms(10)), at(ms(0)), Duration{});
  clocks.record(1, at(ms(10)), at(ms(0)), Duration{});
  clocks.forget(0);
  EXPECT_EQ(clocks.latest_offset(0), Duration{});
  EXPECT_EQ(clocks.latest_offset(1), ms(10));
  clocks.set_initial(0, at(ms(7'000)), at(ms(20)));
  EXPECT_EQ(clocks.latest_offset(0), ms(-6'980));
}

TEST(clock_synchronizer, a_repeated_report_is_no_news) {
  ClockSynchronizer clocks(1, 10, 1, 500);
  clocks.record(0, at(ms(10)), at(ms(0)), Duration{});
  clocks.record(0, at(ms(90)), at(ms(0)), Duration{});
  EXPECT_EQ(clocks.latest_offset(0), ms(10));
}

}  // namespace
}  // namespace weft::schedule::dfs

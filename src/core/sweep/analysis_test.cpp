// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/analysis.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/sweep/grid_for_test.hpp"

namespace weft::sweep {
namespace {

TEST(sweep_analysis, of_a_ping_pong_by_hand) {
  // 100,000 round trips of 1 us each way: 0.2 s, and 0.2 s more with every microsecond.
  const Analysis a = analyse(grid(usual_latencies, usual_bandwidths,
                                  [](double l, double) { return 200'000 * (1 * us + l); }));
  EXPECT_NEAR(*a.slope, 200'000, 1);
  EXPECT_NEAR(*a.slope_at_baseline, 200'000, 1);
  EXPECT_NEAR(*a.tolerance_s[0], 0.01 * us, 1e-12);
  EXPECT_NEAR(*a.tolerance_s[1], 0.05 * us, 1e-12);
  EXPECT_NEAR(*a.tolerance_s[2], 0.10 * us, 1e-12);
  for (const auto& headroom : a.headroom) EXPECT_FALSE(headroom);
  EXPECT_TRUE(a.latency_knees_s.empty());
  EXPECT_TRUE(a.bandwidth_knees.empty());
}

TEST(sweep_analysis, of_hidden_latency_by_hand) {
  // Flat at 10 s up to 2 us, then 1 s for each microsecond: 13 s at 5 us.
  const Analysis a = analyse(
      grid(usual_latencies, {1}, [](double l, double) { return std::max(10.0, 8 + 1e6 * l); }));
  EXPECT_NEAR(*a.slope_at_baseline, 0, 1);
  EXPECT_NEAR(*a.slope, 1e6, 1);
  ASSERT_EQ(a.latency_knees_s.size(), 1U);
  EXPECT_NEAR(a.latency_knees_s[0], 2 * us, 1e-10);
  EXPECT_NEAR(*a.tolerance_s[0], 2.1 * us, 1e-12);
  EXPECT_NEAR(*a.tolerance_s[2], 3 * us, 1e-12);
  EXPECT_FALSE(a.transfer_s);
}

TEST(sweep_analysis, of_transfers_by_hand) {
  // 8 s of computation, then a transfer of 2 s at the full bandwidth: 10, 12, 18, 28, 48 s.
  const Analysis a =
      analyse(grid({0}, usual_bandwidths, [](double, double g) { return 8 + 2 * g; }));
  EXPECT_NEAR(*a.transfer_s, 2, 1e-9);
  EXPECT_NEAR(*a.headroom[0], 1 / 1.05, 1e-9);  // 10.1 s = 8 + 2 g
  EXPECT_NEAR(*a.headroom[1], 1 / 1.25, 1e-9);
  EXPECT_NEAR(*a.headroom[2], 1 / 1.5, 1e-9);
  EXPECT_FALSE(a.slope);
}

TEST(sweep_analysis, of_overlapped_transfers_by_hand) {
  // Computation of 10 s hides a transfer of 1 s until the bandwidth is a tenth.
  const Analysis a = analyse(grid({0}, {1, 0.5, 0.2, 0.1, 0.05, 0.04},
                                  [](double, double g) { return std::max(10.0, g); }));
  ASSERT_EQ(a.bandwidth_knees.size(), 1U);
  EXPECT_NEAR(a.bandwidth_knees[0], 0.1, 1e-6);
  EXPECT_NEAR(*a.headroom[2], 1.0 / 11, 1e-9);
}

TEST(sweep_analysis, takes_a_point_that_beats_a_faster_network_for_noise) {
  std::vector<Observation> observations =
      grid({0, 1 * us, 2 * us}, {1}, [](double, double) { return 10.0; });
  observations[1].time_s = 9.8;
  observations[2].time_s = 11.5;
  // 10 and 9.8 become 9.9; 10 % more is 10.89, which lies between 9.9 and 11.5.
  const Analysis a = analyse(observations);
  EXPECT_NEAR(*a.tolerance_s[2], (1 + (10.89 - 9.9) / 1.6) * us, 1e-12);
}

TEST(sweep_analysis, does_not_depend_on_the_order_of_points) {
  auto observations = with_noise(grid(usual_latencies, usual_bandwidths,
                                      [](double l, double g) { return 1 + 1e5 * l + 0.1 * g; }),
                                 0.01, 3);
  const Analysis a = analyse(observations);
  std::reverse(observations.begin(), observations.end());
  const Analysis b = analyse(observations);
  EXPECT_EQ(a.baseline, b.baseline);
  EXPECT_EQ(a.tolerance_s, b.tolerance_s);
}

}  // namespace
}  // namespace weft::sweep

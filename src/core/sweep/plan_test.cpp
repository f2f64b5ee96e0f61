// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/plan.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft::sweep {
namespace {

constexpr Duration no_time{};

/// Runs a plan to its end; `sample_of` says what the n-th run of a point is.
template <class SampleOf>
std::vector<std::size_t> run(SweepPlan& plan, std::size_t points, SampleOf sample_of) {
  std::vector<std::size_t> order;
  std::vector<int> runs(points, 0);
  while (const auto point = plan.next(no_time)) {
    plan.add(*point, sample_of(*point, runs[*point]++));
    order.push_back(*point);
  }
  return order;
}

TEST(sweep_plan, runs_every_point_once_a_round_in_changing_order) {
  SweepPlan plan({.points = 8});
  const auto order = run(plan, 8, [](std::size_t, int) { return Sample{.value = 1, .wall_s = 1}; });
  ASSERT_EQ(order.size(), 8U * 6);
  bool changes = false;
  for (std::size_t round = 0; round < 6; ++round) {
    const auto* const first = order.data() + round * 8;
    EXPECT_EQ(std::set<std::size_t>(first, first + 8).size(), 8U) << round;
    changes |= !std::equal(first, first + 8, order.data());
  }
  EXPECT_TRUE(changes);
  EXPECT_EQ(plan.settled(), 8U);
}

TEST(sweep_plan, repeats_a_noisy_point_until_its_interval_is_narrow) {
  // Point 1 alternates between 1 and 1.1: no interval but a degenerate one is within 2 %.
  SweepPlan plan({.points = 2, .precision = 0.02, .most_runs = 20});
  run(plan, 2, [](std::size_t point, int n) {
    return Sample{.value = point == 1 && n % 2 == 1 ? 1.1 : 1.0, .wall_s = 1};
  });
  EXPECT_EQ(plan.state(0).runs, 6U);
  EXPECT_EQ(plan.state(1).runs, 20U);
}

TEST(sweep_plan, rejects_and_repeats_runs_whose_processors_were_taken_away) {
  SweepPlan plan({.points = 1});
  run(plan, 1, [](std::size_t, int n) {
    return n == 2 ? Sample{.value = 1.5, .wall_s = 1, .stolen = 0.2}
                  : Sample{.value = 1, .wall_s = 1, .stolen = 0.01};
  });
  EXPECT_EQ(plan.state(0).runs, 7U);
  EXPECT_EQ(plan.state(0).rejected, 1U);
  EXPECT_DOUBLE_EQ(plan.state(0).interval->high, 1);
}

TEST(sweep_plan, accepts_runs_that_are_stolen_from_as_much_as_all_others) {
  SweepPlan plan({.points = 1});
  run(plan, 1, [](std::size_t, int) { return Sample{.value = 1, .wall_s = 1, .stolen = 0.3}; });
  EXPECT_EQ(plan.state(0).rejected, 0U);
}

TEST(sweep_plan, rejects_runs_beside_which_other_processes_wanted_the_processors) {
  SweepPlan plan({.points = 1});
  run(plan, 1, [](std::size_t, int n) {
    return n % 2 == 0 ? Sample{.value = 1.5, .wall_s = 1, .waiting = 0.8}
                      : Sample{.value = 1, .wall_s = 1, .waiting = 0.02};
  });
  EXPECT_EQ(plan.state(0).accepted.size(), 6U);
  EXPECT_DOUBLE_EQ(plan.state(0).interval->median, 1);
}

TEST(sweep_plan, accepts_short_runs_of_which_a_launcher_takes_a_larger_share_than_of_long_ones) {
  SweepPlan plan({.points = 2});
  run(plan, 2, [](std::size_t point, int) {
    return point == 0 ? Sample{.value = 0.01, .wall_s = 0.05, .waiting = 0.25}
                      : Sample{.value = 0.4, .wall_s = 0.45, .waiting = 0.03};
  });
  EXPECT_EQ(plan.state(0).rejected, 0U);
  EXPECT_EQ(plan.state(0).runs, 6U);
}

TEST(sweep_plan, rejects_no_run_for_its_value_and_goes_on_until_slow_ones_are_few) {
  SweepPlan plan({.points = 1});
  run(plan, 1, [](std::size_t, int n) {
    return Sample{.value = n == 3 ? 2.0 : 1.0 + 0.001 * n, .wall_s = 1};
  });
  // Ten runs: the interval leaves out the slowest one, and the fastest one.
  EXPECT_EQ(plan.state(0).rejected, 0U);
  EXPECT_EQ(plan.state(0).accepted.size(), 10U);
  EXPECT_LT(plan.state(0).interval->high, 1.01);
}

TEST(sweep_plan, starts_no_run_that_would_not_end_within_the_budget) {
  SweepPlan plan({.points = 2, .budget = Duration::seconds(10)});
  const auto first = plan.next(no_time);
  ASSERT_TRUE(first);
  plan.add(*first, {.value = 3, .wall_s = 3});
  const auto second = plan.next(Duration::seconds(8));
  ASSERT_TRUE(second) << "a first run of unknown length";
  EXPECT_NE(*second, *first);
  EXPECT_FALSE(plan.next(Duration::seconds(10)));
  EXPECT_EQ(plan.missing(), 1U);
  plan.add(*second, {.value = 3, .wall_s = 3});
  EXPECT_TRUE(plan.next(Duration::seconds(7)));
  EXPECT_FALSE(plan.next(Duration::seconds(8)));
}

TEST(sweep_plan, goes_on_after_an_interruption_with_the_points_that_ran_least) {
  SweepPlan plan({.points = 3});
  plan.add(0, {.value = 1, .wall_s = 1});
  plan.add(2, {.value = 1, .wall_s = 1});
  EXPECT_EQ(plan.next(no_time), 1U);
}

TEST(sweep_plan, says_how_far_it_is_by_work_or_by_budget) {
  SweepPlan plan({.points = 2, .budget = Duration::seconds(100)});
  EXPECT_DOUBLE_EQ(plan.progress(no_time), 0);
  for (int i = 0; i < 6; ++i) plan.add(0, {.value = 1, .wall_s = 1});
  EXPECT_DOUBLE_EQ(plan.progress(Duration::seconds(6)), 0.5);
  EXPECT_DOUBLE_EQ(plan.progress(Duration::seconds(80)), 0.8);
}

}  // namespace
}  // namespace weft::sweep

// SPDX-License-Identifier: Apache-2.0
#include "core/qos/climb.hpp"

#include <gtest/gtest.h>

#include "core/qos/controllers.hpp"

namespace weft::qos {
namespace {

using Iterations = std::vector<std::vector<std::uint64_t>>;
using Waits = std::vector<std::vector<double>>;

void tell(Climb& climb, const Iterations& iterations, const Waits& waited) {
  std::vector<JobWindow> windows;
  for (std::size_t j = 0; j < iterations.size(); ++j) {
    windows.push_back({.iterations = iterations[j], .waited = waited[j]});
  }
  climb.on_window(windows);
}

/// Two coupled jobs of four. Processes 1 and 4 are those that the others wait for.
const Waits waits = {{.5, .1, .6, .4}, {.1, .5, .6, .7}};

/// The jobs' progress: raising process 1 helps job 0, raising any other process of it costs job 1.
Iterations jobs_with(const Configuration& c, bool helps = true) {
  const auto weight = [&](std::size_t p) { return c.weight_of[c.level_of[p]]; };
  std::uint64_t first = 1000, second = 1000;
  if (helps && weight(1) > 2) first = 1100;
  for (const std::size_t p : {0U, 2U, 3U}) second -= weight(p) > 2 ? 60 : 0;
  for (std::size_t p = 4; p < 8; ++p) second -= weight(p) != 2 ? 30 : 0;
  return {std::vector<std::uint64_t>(4, first), std::vector<std::uint64_t>(4, second)};
}

Climb climb_of(ClimbOptions options = {}) {
  Climb climb(options);
  const std::vector<JobFacts> jobs = {{.processes = 4, .message_bytes = 1000},
                                      {.processes = 4, .message_bytes = 9000}};
  climb.on_jobs(jobs);
  return climb;
}

TEST(climb, raises_the_process_that_others_wait_for_and_leaves_alone_what_does_not_help) {
  Climb climb = climb_of();
  int windows = 0;
  for (; !climb.is_settled() && windows < 200; ++windows) {
    tell(climb, jobs_with(climb.configuration()), waits);
  }
  EXPECT_LT(windows, 125);
  const Configuration& found = climb.configuration();
  EXPECT_GT(found.weight_of[found.level_of[1]], 2);
  for (const std::size_t p : {0U, 2U, 3U}) EXPECT_LE(found.weight_of[found.level_of[p]], 2) << p;
  EXPECT_EQ(jobs_with(found), (Iterations{{1100, 1100, 1100, 1100}, {1000, 1000, 1000, 1000}}));
  EXPECT_GE(climb.accepted(), 1U);
}

TEST(climb, stays_on_default_when_nothing_helps) {
  Climb climb = climb_of();
  for (int i = 0; !climb.is_settled() && i < 200; ++i) {
    tell(climb, jobs_with(climb.configuration(), false), waits);
  }
  ASSERT_TRUE(climb.is_settled());
  EXPECT_EQ(climb.configuration().level_of, std::vector<Level>(8, default_level));
  EXPECT_EQ(climb.accepted(), 0U);
}

TEST(climb, goes_back_to_default_when_what_helped_does_harm) {
  Climb climb = climb_of();
  while (!climb.is_settled()) tell(climb, jobs_with(climb.configuration()), waits);
  ASSERT_NE(climb.configuration().level_of, std::vector<Level>(8, default_level));
  for (int i = 0; i < 16; ++i) {
    tell(climb, Iterations(2, std::vector<std::uint64_t>(4, 950)), waits);
  }
  EXPECT_EQ(climb.configuration().level_of, std::vector<Level>(8, default_level));
}

TEST(climb, ends_with_its_budget) {
  Climb climb = climb_of({.budget = 10});
  for (int i = 0; i < 12; ++i) tell(climb, jobs_with(climb.configuration()), waits);
  EXPECT_TRUE(climb.is_settled());
}

TEST(climb, starts_anew_when_the_mix_of_jobs_changes) {
  Climb climb = climb_of();
  while (!climb.is_settled()) tell(climb, jobs_with(climb.configuration()), waits);
  const std::vector<JobFacts> one = {{.processes = 3, .message_bytes = 1000}};
  climb.on_jobs(one);
  EXPECT_FALSE(climb.is_settled());
  EXPECT_EQ(climb.configuration().level_of, std::vector<Level>(3, default_level));
}

TEST(climb, is_refused_for_a_network_with_too_few_levels) {
  for (const char* name : {"climb", "best"}) {
    const auto refused = make_controller(name, {.levels = 3}, 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message,
              std::string(name) +
                  " needs 4 levels and the network has 3: use qos.levels = 4 or the "
                  "controller algorithm-1");
    EXPECT_TRUE(make_controller(name, {.levels = 4}, 1).ok());
  }
}

}  // namespace
}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "core/qos/algorithm_1.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft::qos {
namespace {

using Work = std::vector<std::vector<std::uint64_t>>;  // by job and process

void tell(Controller& controller, const Work& work) {
  std::vector<JobWindow> windows;
  for (const auto& job : work) windows.push_back({job});
  controller.on_window(windows);
}

std::vector<JobFacts> jobs_of(const std::vector<std::uint32_t>& processes) {
  std::vector<JobFacts> jobs;
  for (const std::uint32_t count : processes) jobs.push_back({.processes = count});
  return jobs;
}

Algorithm1 controller_of(const std::vector<std::uint32_t>& processes,
                         Algorithm1Options options = {}, std::uint64_t seed = 1) {
  Algorithm1 controller(options, seed);
  controller.on_jobs(jobs_of(processes));
  return controller;
}

/// The only process that is not on the default level.
std::size_t raised(const Configuration& configuration) {
  std::size_t found = configuration.level_of.size();
  for (std::size_t i = 0; i < configuration.level_of.size(); ++i) {
    if (configuration.level_of[i] == default_level) continue;
    EXPECT_EQ(found, configuration.level_of.size()) << "two are raised";
    found = i;
  }
  return found;
}

TEST(improvement, is_the_mean_of_each_jobs_share_of_its_default) {
  const std::uint64_t on_default[] = {100, 10};
  const std::uint64_t work[] = {110, 9};
  EXPECT_DOUBLE_EQ(improvement(work, on_default), 0.0);
  const std::uint64_t better[] = {130, 10};
  EXPECT_DOUBLE_EQ(improvement(better, on_default), 0.15);
}

TEST(improvement, of_a_job_that_stood_still_counts_whole_iterations) {
  const std::uint64_t on_default[] = {0};
  const std::uint64_t work[] = {3};
  EXPECT_DOUBLE_EQ(improvement(work, on_default), 3.0);
}

TEST(algorithm_1, begins_with_one_level_for_all) {
  const auto controller = controller_of({2, 3});
  EXPECT_EQ(controller.configuration().level_of, std::vector<Level>(5, default_level));
  EXPECT_EQ(controller.configuration().weight_of, std::vector<std::uint8_t>{1});
}

TEST(algorithm_1, raises_only_processes_about_as_slow_as_the_slowest_of_their_job) {
  // T = 0.9: 100 / 0.9 = 111.1. In the second job the slowest has 50: only that one is raised.
  const Work work = {{100, 111, 112, 200}, {50, 60}};
  std::set<std::size_t> seen;
  auto controller = controller_of({4, 2});
  tell(controller, work);
  for (int i = 0; i < 3; ++i) {
    seen.insert(raised(controller.configuration()));
    tell(controller, work);  // no better: the next candidate
  }
  EXPECT_EQ(seen, (std::set<std::size_t>{0, 1, 4}));
  EXPECT_TRUE(controller.is_settled());
}

TEST(algorithm_1, with_a_threshold_of_one_raises_the_slowest_alone) {
  auto controller = controller_of({3}, {.threshold = 1});
  tell(controller, {{10, 11, 12}});
  EXPECT_EQ(raised(controller.configuration()), 0U);
}

TEST(algorithm_1, keeps_what_helps_and_takes_back_what_does_not) {
  auto controller = controller_of({2}, {.threshold = 0.5});
  tell(controller, {{100, 100}});
  const std::size_t first = raised(controller.configuration());
  tell(controller, {{110, 110}});  // better: both are candidates again, from here on
  EXPECT_EQ(controller.accepted(), 1U);
  const Configuration kept = controller.configuration();
  EXPECT_NE(kept.level_of[first], default_level);
  // Two tries that do not help, one for each process.
  tell(controller, {{105, 105}});
  tell(controller, {{105, 105}});
  EXPECT_TRUE(controller.is_settled());
  EXPECT_EQ(raised(controller.configuration()), first);
  EXPECT_EQ(controller.configuration().weight_of, (std::vector<std::uint8_t>{1, 2}));
}

TEST(algorithm_1, doubles_the_weight_of_a_process_that_is_raised_again) {
  auto controller = controller_of({1});
  std::vector<std::uint8_t> weights;
  for (std::uint64_t work = 100; !controller.is_settled(); ++work) {
    tell(controller, {{work}});
    weights.push_back(controller.configuration().weight_of.back());
  }
  // Raised three times, each time better; then its weight is the largest and nobody is left.
  EXPECT_EQ(weights, (std::vector<std::uint8_t>{2, 4, 8, 8}));
}

TEST(algorithm_1, stops_when_all_levels_are_taken) {
  auto controller = controller_of({64}, {.levels = 3});
  for (std::uint64_t work = 100; !controller.is_settled() && work < 200; ++work) {
    tell(controller, {std::vector<std::uint64_t>(64, work)});
  }
  EXPECT_TRUE(controller.is_settled());
  EXPECT_EQ(controller.configuration().weight_of.size(), 3U);
}

TEST(algorithm_1, starts_anew_when_it_is_worse_than_the_default) {
  auto controller = controller_of({1});
  tell(controller, {{100}});
  tell(controller, {{100}});  // raising it did not help, and there is nobody else
  ASSERT_TRUE(controller.is_settled());
  tell(controller, {{100}});
  EXPECT_TRUE(controller.is_settled()) << "as good as the default";
  tell(controller, {{99}});
  EXPECT_FALSE(controller.is_settled());
  EXPECT_EQ(controller.configuration().weight_of, std::vector<std::uint8_t>{1});
}

TEST(algorithm_1, starts_anew_when_the_mix_of_jobs_changes) {
  auto controller = controller_of({2});
  tell(controller, {{100, 100}});
  controller.on_jobs(jobs_of({2, 1}));
  EXPECT_EQ(controller.configuration().level_of, std::vector<Level>(3, default_level));
}

TEST(algorithm_1, observes_the_default_for_as_many_windows_as_it_is_told) {
  auto controller = controller_of({1}, {.default_windows = 3});
  tell(controller, {{90}});
  tell(controller, {{100}});
  EXPECT_EQ(controller.configuration().weight_of.size(), 1U);
  tell(controller, {{110}});
  EXPECT_EQ(controller.configuration().weight_of.size(), 2U);
  tell(controller, {{100}});  // the mean of the three: no better
  EXPECT_EQ(controller.accepted(), 0U);
}

TEST(algorithm_1, decides_the_same_with_the_same_seed) {
  const Work work = {std::vector<std::uint64_t>(40, 100)};
  auto one = controller_of({40}, {}, 7);
  auto other = controller_of({40}, {}, 7);
  for (int i = 0; i < 20; ++i) {
    tell(one, work);
    tell(other, work);
    EXPECT_EQ(one.configuration(), other.configuration());
  }
}

}  // namespace
}  // namespace weft::qos

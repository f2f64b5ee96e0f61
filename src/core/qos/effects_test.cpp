// SPDX-License-Identifier: Apache-2.0
#include "core/qos/effects.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.hpp"

namespace weft::qos {
namespace {

constexpr std::size_t jobs = 4;
constexpr std::size_t everything = 10;

std::vector<Effects::Choice> choices_of(std::size_t per_job, std::size_t options) {
  std::vector<Effects::Choice> choices;
  for (std::size_t c = 0; c < jobs * per_job; ++c) {
    choices.push_back({.job = c / per_job, .options = options});
  }
  return choices;
}

/// Trials of three options for each of four jobs. Option 1 helps its job by 10 % and costs the next
/// one 2 %; 0 and 2 do nothing. Noise is 4 %.
Effects learnt(std::uint32_t trials) {
  Effects effects(choices_of(1, 3), jobs, 4);
  Rng rng(1);
  for (std::uint32_t t = 0; t < trials; ++t) {
    Effects::Taken taken;
    Effects::Gains gains(jobs);
    for (std::size_t j = 0; j < jobs; ++j) {
      taken.push_back(rng.below(3));
      if (taken[j] == 1) gains[j] += 0.1;
      if (taken[j] == 1) gains[(j + 1) % jobs] -= 0.02;
      gains[j] += 0.04 * (2 * rng.uniform() - 1);
    }
    effects.add(taken, gains, 0);
  }
  effects.fit();
  return effects;
}

double worth_of_all(std::span<const double> gains) {
  return std::accumulate(gains.begin(), gains.end(), 0.0);
}

TEST(effects, tell_options_apart_that_trials_took_at_once) {
  const Effects effects = learnt(200);
  const auto more_than_none = [&](std::size_t choice, std::size_t option, std::size_t job) {
    return effects.of(choice, option, job) - effects.of(choice, 0, job);
  };
  for (std::size_t j = 0; j < jobs; ++j) {
    EXPECT_NEAR(more_than_none(j, 1, j), 0.1, 0.01) << j;
    EXPECT_NEAR(more_than_none(j, 1, (j + 1) % jobs), -0.02, 0.01) << j;
    EXPECT_NEAR(more_than_none(j, 1, (j + 2) % jobs), 0, 0.01) << j;
    EXPECT_NEAR(more_than_none(j, 2, j), 0, 0.01) << j;
  }
}

TEST(effects, doubt_what_few_trials_show) {
  Effects effects({{.job = 0, .options = 2}}, 2, 4);
  effects.add({0}, {0, 0}, 0);
  effects.add({1}, {0.1, 0.1}, 0);
  effects.fit();
  EXPECT_NEAR(effects.of(0, 1, 0) - effects.of(0, 0, 0), 0.05, 1e-4);
  EXPECT_NEAR(effects.of(0, 1, 1) - effects.of(0, 0, 1), 0.02, 1e-4);
}

TEST(effects, leave_out_what_trials_of_a_draw_have_in_common) {
  Effects effects({{.job = 0, .options = 2}}, 1, 4);
  for (int i = 0; i < 50; ++i) {
    effects.add({0}, {0.02}, 0);
    effects.add({0}, {0.52}, 3);
    effects.add({1}, {0.6}, 3);
  }
  effects.fit();
  effects.fit();
  EXPECT_NEAR(effects.of(0, 1, 0) - effects.of(0, 0, 0), 0.08, 0.005);
}

TEST(effects, follow_trials_that_come_after_a_fit) {
  Effects effects({{.job = 0, .options = 2}}, 1, 4);
  const auto add = [&](int trials, double gain) {
    for (int i = 0; i < trials; ++i) {
      effects.add({0}, {0}, 0);
      effects.add({1}, {gain}, 0);
    }
    effects.fit();
  };
  add(10, 0.3);
  add(1000, -0.1);
  EXPECT_NEAR(effects.of(0, 1, 0) - effects.of(0, 0, 0), -0.096, 0.002);
}

TEST(effects, choose_the_options_that_are_worth_most_together) {
  const Effects effects = learnt(200);
  const Effects::Taken none(jobs), all(jobs, 1);
  EXPECT_EQ(effects.better(none, Effects::Gains(jobs), everything, jobs, worth_of_all), all);
  const auto of_first = effects.better(none, Effects::Gains(jobs), everything, jobs,
                                       [](std::span<const double> gains) { return gains[0]; });
  EXPECT_EQ(of_first[0], 1U);
  EXPECT_NE(of_first[3], 1U) << "it costs the first";
}

TEST(effects, choose_by_what_the_options_they_begin_with_gained) {
  const Effects effects = learnt(200);
  // All took option 1, and the second job lost 30 % by that: one of its neighbor gives it 2 % back.
  const auto worth = [](std::span<const double> gains) {
    double sum = 0;
    for (const double gain : gains) sum += gain < 0 ? 100 * gain : gain;
    return sum;
  };
  const auto taken = effects.better({1, 1, 1, 1}, {0.1, -0.3, 0.1, 0.1}, everything, jobs, worth);
  EXPECT_NE(taken[0], 1U);
  EXPECT_EQ(taken[1], 1U);
}

TEST(effects, change_one_choice_of_a_job_by_a_step_and_no_more_jobs_than_allowed) {
  Effects effects(choices_of(2, 4), jobs, 4);
  Rng rng(1);
  for (std::size_t trial = 0; trial < 64; ++trial) {
    Effects::Taken taken(2 * jobs);
    Effects::Gains gains(jobs);
    for (std::size_t c = 0; c < taken.size(); ++c) {
      taken[c] = rng.below(4);
      gains[c / 2] += 0.01 * static_cast<double>(taken[c] * (c + 1));
    }
    effects.add(taken, gains, 0);
  }
  effects.fit();
  const Effects::Taken from(2 * jobs, 1);
  for (const std::size_t most : {1U, 3U, 4U}) {
    const auto taken = effects.better(from, Effects::Gains(jobs), 1, most, worth_of_all);
    std::size_t changed = 0;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::size_t steps = taken[2 * j] + taken[2 * j + 1];
      EXPECT_TRUE(steps == 2 || steps == 3) << j;
      changed += steps == 3;
    }
    EXPECT_EQ(changed, most);
  }
}

}  // namespace
}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "qos/jobs_twin.hpp"

#include <gtest/gtest.h>

#include <string>

#include "qos/two_jobs_for_test.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft::qos {
namespace {

using Iterations = std::vector<std::vector<std::uint64_t>>;

class jobs_twin : public testing::Test {
 protected:
  jobs_twin() {
    options_.scenario =
        sim::parse_scenario(std::string(two_jobs) + "noise = 0.2\n", "test.toml").value();
    options_.period = Duration::milliseconds(1);
    jobs_ = jobs::workloads_of(options_.scenario).value();
    placement_ = std::make_unique<Placement>(jobs_, 16, 5, 1);
    twin_.set_jobs(placement_->in_window(0));
  }

  Iterations predict(std::uint32_t draw, double share = 1) {
    Iterations all;
    for (const JobWindow& job : twin_.predict(levels_, draw, share)) {
      all.emplace_back(job.iterations.begin(), job.iterations.end());
    }
    return all;
  }

  ExperimentOptions options_;
  std::vector<jobs::WorkloadJob> jobs_;
  std::unique_ptr<Placement> placement_;
  Configuration levels_{.level_of = std::vector<Level>(16, default_level), .weight_of = {1}};
  JobsTwin twin_{options_};
};

TEST_F(jobs_twin, predicts_the_same_for_the_same_draw_and_something_else_for_another) {
  const Iterations first = predict(0);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].size(), 8U);
  EXPECT_NE(predict(1), first);
  EXPECT_EQ(predict(0), first);
}

TEST_F(jobs_twin, draws_noise_that_no_window_of_the_experiment_has) {
  std::vector<PlacedJob> placed;
  for (const Presence& p : placement_->in_window(0)) placed.push_back(p.placed);
  const auto window = run_window(options_.scenario, placed, &levels_, options_.algorithm_1.levels,
                                 to_pico(options_.period));
  ASSERT_TRUE(window.ok());
  for (std::uint32_t draw = 0; draw < 3; ++draw) {
    EXPECT_NE(predict(draw), (Iterations{(*window)[0].iterations, (*window)[1].iterations}));
  }
}

TEST_F(jobs_twin, predicts_a_part_of_a_window) {
  const std::uint64_t whole = predict(0)[0][0], half = predict(0, 0.5)[0][0];
  EXPECT_GT(half, 0U);
  EXPECT_LT(half, whole);
}

TEST_F(jobs_twin, predicts_what_is_done_of_iterations_that_the_window_cuts_off) {
  bool cuts = false;
  for (const JobWindow& job : twin_.predict(levels_, 0, 1)) {
    ASSERT_EQ(job.progress.size(), job.iterations.size());
    for (std::size_t i = 0; i < job.progress.size(); ++i) {
      const double part = job.progress[i] - static_cast<double>(job.iterations[i]);
      EXPECT_GE(part, 0);
      EXPECT_LE(part, 1);
      cuts |= part > 0;
    }
  }
  EXPECT_TRUE(cuts);
}

TEST_F(jobs_twin, predicts_that_a_job_alone_does_no_less_than_beside_another) {
  const auto together = JobWindow{.iterations = predict(0)[1]}.work();
  const auto alone = twin_.predict_alone(1, 0, 1);
  ASSERT_TRUE(alone.has_value());
  EXPECT_GE(*alone, together);
}

TEST_F(jobs_twin, predicts_many_windows_at_once_the_same_with_any_number_of_threads) {
  std::vector<Twin::Question> questions;
  std::vector<std::vector<double>> one_by_one;
  for (std::uint32_t draw = 0; draw < 5; ++draw) {
    questions.push_back({.levels = levels_, .draw = draw});
    auto& work = one_by_one.emplace_back();
    for (const JobWindow& job : twin_.predict(levels_, draw, 1)) {
      work.push_back(job.progress_of_slowest());
    }
  }
  options_.placements = 1;
  for (options_.threads = 1; options_.threads <= 3; ++options_.threads) {
    EXPECT_EQ(twin_.predict_all(questions, 1), one_by_one) << options_.threads;
  }
}

TEST_F(jobs_twin, keeps_the_error_of_a_simulation_that_failed) {
  options_.scenario.topology = "star:0";
  EXPECT_TRUE(predict(0).empty());
  EXPECT_FALSE(twin_.state().ok());
  EXPECT_TRUE(twin_.predict_all(std::vector<Twin::Question>{{.levels = levels_}}, 1).empty());
  EXPECT_FALSE(twin_.predict_alone(0, 0, 1).has_value());
}

}  // namespace
}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "emulate/sweep/directory_for_test.hpp"

namespace weft::emulate {
namespace {

/// A program that exists as a formula: its time at a point, noise of 1 %, and now and then a
/// disturbance of up to a half. Its clock is the sum of its times.
class Synthetic {
 public:
  using Formula = double (*)(double latency_s, double inverse_bandwidth);
  Synthetic(Formula formula, std::uint64_t seed) : formula_(formula), rng_(seed) {}

  SweepDriver driver() {
    return {.target = [this](const SweepPoint& point) { return run(point); },
            .elapsed = [this] { return Duration::from_seconds(taken_s_); },
            .on_run =
                [this](const SweepProgress& progress) {
                  progress_ = progress;
                  return runs_ != stops_after;
                }};
  }

  SweepPoint fails_at{Duration::seconds(-1), 1};
  std::string output;
  std::optional<LayerCalibration> calibration;
  int stops_after = -1;
  int runs() const { return runs_; }
  const SweepProgress& progress() const { return progress_; }

 private:
  Result<ProgramRun> run(const SweepPoint& point) {
    if (point == fails_at) return Error{ErrorCode::unavailable, "the program exited with 3"};
    ++runs_;
    double noise = 1 + 0.01 * (rng_.uniform() + rng_.uniform() - 1);
    if (rng_.below(10) == 0) noise += 0.1 + 0.4 * rng_.uniform();
    const double time_s = formula_(point.latency.to_seconds(), 1 / point.bandwidth) * noise;
    taken_s_ += time_s;
    ProgramRun run{.time_s = time_s, .wall_s = time_s, .stolen = 0, .output = output};
    run.ground.ranks = 2;
    run.ground.calibration = calibration;
    run.warnings = {"two ranks on one core"};
    return run;
  }

  Formula formula_;
  Rng rng_;
  double taken_s_ = 0;
  int runs_ = 0;
  SweepProgress progress_;
};

double overlapping(double l, double g) {
  return std::max(1.0, 0.5 + 250'000 * l) + 0.01 * g;
}

SweepRequest request() {
  return {.question = {.latencies = *parse_latencies("0,1us,2us,3us,5us,7us,10us"),
                       .bandwidths = *parse_bandwidths("100%,50%,20%,10%,5%"),
                       .metric = {},
                       .links = {},
                       .server = {},
                       .command = {"mpirun", "./program"}},
          .plan = {.precision = 0.01},
          .share = {},
          .directory = {},
          .calibration = {},
          .predictions = {}};
}

TEST(sweep, recovers_a_program_behind_noise_and_disturbances) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Synthetic program(overlapping, seed);
    SweepRequest asked = request();
    asked.predictions = {{0, 2}};
    const auto outcome = run_sweep(asked, program.driver());
    ASSERT_TRUE(outcome) << outcome.error().message;
    const sweep::Analysis& a = *outcome->analysis;
    EXPECT_NEAR(*a.slope, 250'000, 0.05 * 250'000) << "seed " << seed;
    EXPECT_LT(*a.slope_at_baseline, 0.05 * 250'000) << "seed " << seed;
    EXPECT_NEAR(*a.transfer_s, 0.01, 0.001) << "seed " << seed;
    ASSERT_EQ(a.latency_knees_s.size(), 1U) << "seed " << seed;
    EXPECT_NEAR(a.latency_knees_s[0], 2e-6, 0.3e-6) << "seed " << seed;
    EXPECT_NEAR(outcome->predictions[0].seconds, 1.005, 0.02) << "seed " << seed;
    EXPECT_LT(a.fitted.left_out_error, 0.02) << "seed " << seed;
  }
}

TEST(sweep, gives_no_number_when_the_program_fails_at_one_point) {
  Synthetic program(overlapping, 1);
  program.fails_at = {Duration::microseconds(5), 0.2};
  const auto outcome = run_sweep(request(), program.driver());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "at +5 us, 20 %: the program exited with 3");
}

TEST(sweep, says_where_a_metric_is_missing) {
  Synthetic program(overlapping, 1);
  program.output = "Time 3\n";
  SweepRequest asked = request();
  asked.question.metric.pattern = "GUPS ([0-9]+)";
  const auto outcome = run_sweep(asked, program.driver());
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("matches none of the 1 lines"), std::string::npos);
  EXPECT_EQ(program.runs(), 1);
}

TEST(sweep, compares_a_metric_that_is_a_rate) {
  Synthetic program(overlapping, 1);
  program.output = "rate 4\n";
  SweepRequest asked = request();
  asked.question.metric = {"rate ([0-9]+)", *parse_metric_unit("k/s"), {}};
  const auto outcome = run_sweep(asked, program.driver());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_DOUBLE_EQ(outcome->points[0].seconds.median, 1.0 / 4000);
}

TEST(sweep, ends_with_the_budget_and_says_how_to_go_on) {
  Synthetic program(overlapping, 1);
  SweepRequest asked = request();
  asked.plan.budget = Duration::seconds(10);
  const auto outcome = run_sweep(asked, program.driver());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::timed_out);
  EXPECT_NE(outcome.error().message.find("--budget 10 s: it ended after runs of "),
            std::string::npos);
  EXPECT_LE(program.runs(), 10);
}

TEST(sweep, says_how_to_go_on_when_a_run_was_stopped) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  Synthetic program(overlapping, 1);
  const SweepDriver driver = program.driver();
  const SweepTarget target = [](const SweepPoint&) -> Result<ProgramRun> {
    return Error{ErrorCode::cancelled, "stopped by a signal; no result"};
  };
  const auto stopped = run_sweep(asked, {target, driver.elapsed, driver.on_run});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_EQ(stopped.error().message,
            "stopped; the same command with --resume " + asked.directory + " goes on from there");
}

TEST(sweep, goes_on_where_it_was_stopped) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  Synthetic first(overlapping, 1);
  first.stops_after = 100;
  const auto stopped = run_sweep(asked, first.driver());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);

  Synthetic second(overlapping, 2);
  const auto outcome = run_sweep(asked, second.driver());
  ASSERT_TRUE(outcome) << outcome.error().message;
  int runs = 0;
  for (const PointOutcome& point : outcome->points) runs += static_cast<int>(point.runs);
  EXPECT_EQ(runs, 100 + second.runs());

  Synthetic third(overlapping, 3);
  ASSERT_TRUE(run_sweep(asked, third.driver()));
  EXPECT_EQ(third.runs(), 0);
}

TEST(sweep, takes_no_resumed_run_for_another_task) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  Synthetic first(overlapping, 1);
  first.stops_after = 100;
  ASSERT_FALSE(run_sweep(asked, first.driver()));
  Synthetic later([](double l, double g) { return 1.2 * overlapping(l, g); }, 2);
  const auto outcome = run_sweep(asked, later.driver());
  ASSERT_TRUE(outcome) << outcome.error().message;
  for (const std::string& warning : outcome->warnings) {
    EXPECT_EQ(warning.find("tasks disagree"), std::string::npos) << warning;
  }
}

TEST(sweep, mixes_no_calibrations_when_it_goes_on) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  asked.calibration = LayerCalibration{250, 1e10, 40};
  Synthetic first(overlapping, 1);
  first.calibration = asked.calibration;
  first.stops_after = 50;
  ASSERT_FALSE(run_sweep(asked, first.driver()));

  asked.calibration->overhead_ns = 60;
  Synthetic second(overlapping, 2);
  second.calibration = asked.calibration;
  const auto refused = run_sweep(asked, second.driver());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("has runs with another calibration"), std::string::npos);
  EXPECT_EQ(second.runs(), 0);

  // Nor does another task of the same sweep begin with it.
  asked.share = {1, 2};
  EXPECT_FALSE(run_sweep(asked, second.driver()));
  EXPECT_EQ(second.runs(), 0);
}

TEST(sweep, ends_when_the_calibration_changes_during_it) {
  SweepRequest asked = request();
  asked.calibration = LayerCalibration{250, 1e10, 40};
  Synthetic program(overlapping, 1);
  const auto ended = run_sweep(asked, program.driver());
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().message.find("the calibration changed during the sweep"),
            std::string::npos);
}

TEST(sweep, merges_no_tasks_with_calibrations_of_their_own) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  std::vector<SweepLedger> ledgers;  // both begin before either has a run
  for (std::uint32_t task = 0; task < 2; ++task) {
    auto ledger = SweepLedger::open(asked.directory, asked.question, {task, 2});
    ASSERT_TRUE(ledger) << ledger.error().message;
    ledgers.push_back(std::move(ledger).value());
  }
  for (SweepLedger& ledger : ledgers) {
    SweepRun run{.point = {Duration{}, 1}, .sample = {.value = 1, .wall_s = 1}, .file = {}};
    run.ground.calibration = LayerCalibration{250.0 + ledger.file()[5], 1e10, 40};
    ASSERT_TRUE(ledger.add(run));
  }
  asked.runs_nothing = true;
  Synthetic nobody(overlapping, 9);
  const auto merged = run_sweep(asked, nobody.driver());
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().message.find("--merge: runs in"), std::string::npos);
  EXPECT_NE(merged.error().message.find("in runs-1-of-2.jsonl"), std::string::npos);
}

TEST(sweep, measures_points_that_were_added_and_keeps_the_old_ones) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  asked.question.bandwidths = {1};
  asked.question.latencies = *parse_latencies("0,5us,10us");
  Synthetic first(overlapping, 1);
  const auto few = run_sweep(asked, first.driver());
  ASSERT_TRUE(few) << few.error().message;

  asked.question.latencies = *parse_latencies("0,2us,5us,10us");
  Synthetic second(overlapping, 2);
  const auto more = run_sweep(asked, second.driver());
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->points.size(), 4U);
  EXPECT_EQ(second.runs(), static_cast<int>(more->points[1].runs));

  // The directory alone asks for all of them.
  asked.question = *SweepLedger::question_of(asked.directory);
  Synthetic third(overlapping, 3);
  const auto all = run_sweep(asked, third.driver());
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->points.size(), 4U);
  EXPECT_EQ(third.runs(), 0);
}

TEST(sweep, is_divided_among_tasks_and_merged) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  asked.runs_nothing = true;
  Synthetic nobody(overlapping, 9);
  for (std::uint32_t task = 0; task < 3; ++task) {
    SweepRequest part = asked;
    part.runs_nothing = false;
    part.share = {task, 3};
    Synthetic program(overlapping, task + 1);
    const auto outcome = run_sweep(part, program.driver());
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(outcome->analysis);
    EXPECT_EQ(outcome->points.size(), 1 + (34 + 2 - task) / 3);
    if (task < 2) {
      const auto early = run_sweep(asked, nobody.driver());
      ASSERT_FALSE(early);
      EXPECT_NE(early.error().message.find("wait for the other tasks"), std::string::npos);
    }
  }
  const auto merged = run_sweep(asked, nobody.driver());
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(nobody.runs(), 0);
  EXPECT_EQ(merged->points.size(), 35U);
  EXPECT_NEAR(*merged->analysis->slope, 250'000, 0.05 * 250'000);
}

TEST(sweep, warns_when_tasks_ran_on_machines_of_different_speed) {
  const DirectoryForTest directory;
  SweepRequest asked = request();
  asked.directory = directory.path();
  Synthetic fast(overlapping, 1);
  Synthetic slow([](double l, double g) { return 1.2 * overlapping(l, g); }, 2);
  asked.share = {0, 2};
  ASSERT_TRUE(run_sweep(asked, fast.driver()));
  asked.share = {1, 2};
  ASSERT_TRUE(run_sweep(asked, slow.driver()));
  asked.share = {};
  asked.runs_nothing = true;
  const auto merged = run_sweep(asked, slow.driver());
  ASSERT_TRUE(merged) << merged.error().message;
  ASSERT_FALSE(merged->warnings.empty());
  EXPECT_NE(merged->warnings.back().find("tasks disagree by "), std::string::npos);
}

TEST(sweep, warns_of_a_point_with_too_few_runs_and_of_a_model_that_fits_nothing) {
  Synthetic program([](double l, double) { return l > 4e-6 && l < 8e-6 ? 9.0 : 1.0; }, 1);
  SweepRequest asked = request();
  asked.question.bandwidths = {1};
  asked.plan.budget = Duration::seconds(45);
  const auto outcome = run_sweep(asked, program.driver());
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->warnings.size(), 3U);
  EXPECT_NE(outcome->warnings[1].find("points are not known to ± 1 %"), std::string::npos);
  EXPECT_NE(outcome->warnings[1].find("give a larger --budget"), std::string::npos);
  EXPECT_FALSE(outcome->points[0].is_precise);
  EXPECT_NE(outcome->warnings[2].find("the model misses left-out points"), std::string::npos);
}

TEST(sweep, advises_no_larger_budget_for_points_that_had_all_their_runs) {
  Synthetic program(overlapping, 1);
  SweepRequest asked = request();
  asked.question.bandwidths = {1};
  asked.plan.precision = 1e-5;
  const auto outcome = run_sweep(asked, program.driver());
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_GE(outcome->warnings.size(), 2U);
  EXPECT_EQ(outcome->warnings[1].find("--budget"), std::string::npos) << outcome->warnings[1];
  EXPECT_NE(outcome->warnings[1].find("30 runs of a point are the most"), std::string::npos);
}

TEST(sweep, repeats_no_warning) {
  Synthetic program(overlapping, 1);
  const auto outcome = run_sweep(request(), program.driver());
  EXPECT_EQ(std::count(outcome->warnings.begin(), outcome->warnings.end(), "two ranks on one core"),
            1);
}

}  // namespace
}  // namespace weft::emulate

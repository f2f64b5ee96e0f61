// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::emulate {
namespace {

/// A sweep without noise of a program with this time.
template <class TimeOf>
SweepOutcome outcome_of(TimeOf time_of, SweepQuestion question) {
  SweepRequest request{.question = std::move(question),
                       .plan = {},
                       .share = {},
                       .directory = {},
                       .calibration = {},
                       .predictions = {{-1e-6, 2}}};
  const SweepDriver driver{.target = [&](const SweepPoint& p) -> Result<ProgramRun> {
                             const double time_s = time_of(p.latency.to_seconds(), 1 / p.bandwidth);
                             ProgramRun run{.time_s = time_s, .wall_s = time_s};
                             run.ground.interposer = "ucx";
                             return run;
                           },
                           .elapsed = [] { return Duration{}; },
                           .on_run = [](const SweepProgress&) { return true; }};
  auto outcome = run_sweep(request, driver);
  if (!outcome) ADD_FAILURE() << outcome.error().message;
  return std::move(outcome).value();
}

SweepQuestion question() {
  return {.latencies = *parse_latencies("0,2us,10us"),
          .bandwidths = *parse_bandwidths("100%,50%,10%"),
          .metric = {},
          .links = {},
          .server = {},
          .command = {"mpirun", "./program"}};
}

TEST(sweep_record, has_the_fields_that_scripts_read) {
  const auto outcome =
      outcome_of([](double l, double g) { return 8 + 1e6 * l + 2 * g; }, question());
  const auto json = nlohmann::json::parse(to_json_text(outcome, "weft sweep"));
  ASSERT_EQ(json["points"].size(), 9U);
  const auto& point = json["points"][4];
  EXPECT_EQ(point["latency_ns"], 2000);
  EXPECT_EQ(point["bandwidth_fraction"], 0.5);
  EXPECT_NEAR(point["median"].get<double>(), 14, 1e-9);
  EXPECT_EQ(point["runs"], 6);
  EXPECT_EQ(point["rejected"], 0);
  EXPECT_NEAR(json["slope"].get<double>(), 1e6, 1);
  EXPECT_NEAR(json["round_trips"].get<double>(), 5e5, 1);
  EXPECT_NEAR(json["tolerance"]["1%"].get<double>(), 100, 1e-6);
  EXPECT_NEAR(json["headroom"]["5%"].get<double>(), 0.8, 1e-9);
  EXPECT_LT(json["model"]["error"].get<double>(), 1e-6);
  EXPECT_NEAR(json["predictions"][0]["value"].get<double>(), 8, 1e-4);
  EXPECT_EQ(json["interposer"], "ucx");
}

TEST(sweep_record, of_a_command_that_is_not_utf8_is_written) {
  SweepQuestion odd = question();
  odd.command.emplace_back("./pl\xff");
  const auto outcome = outcome_of([](double, double) { return 3.0; }, odd);
  const auto json = nlohmann::json::parse(to_json_text(outcome, "weft sweep ./pl\xff"));
  EXPECT_EQ(json["command"].back(), "./pl\xef\xbf\xbd");
}

TEST(sweep_record, says_null_where_no_network_was_slow_enough) {
  const auto outcome = outcome_of([](double, double) { return 3.0; }, question());
  const auto json = nlohmann::json::parse(to_json_text(outcome, "weft sweep"));
  EXPECT_TRUE(json["tolerance"]["10%"].is_null());
  EXPECT_TRUE(json["headroom"]["10%"].is_null());
  EXPECT_EQ(needs_of(outcome),
            "The program tolerates 10 us more latency, the most that was tried, or 10 % of the "
            "bandwidth, the least that was tried, with at most 5 % slow-down.");
}

TEST(sweep_record, says_what_the_program_tolerates) {
  const auto both = outcome_of([](double l, double g) { return 8 + 1e6 * l + 2 * g; }, question());
  EXPECT_EQ(
      needs_of(both),
      "The program tolerates 500 ns more latency, or 80 % of the bandwidth, with at most 5 % "
      "slow-down; each microsecond costs 1 s: 1,000,000 messages follow one another, 500,000 round "
      "trips.");
  SweepQuestion one = question();
  one.bandwidths = {1};
  const auto latency = outcome_of([](double l, double) { return 8 + 1e6 * l; }, one);
  EXPECT_EQ(needs_of(latency).find("bandwidth"), std::string::npos);
}

TEST(sweep_record, says_how_uncertain_its_figures_are) {
  SweepOutcome outcome =
      outcome_of([](double l, double g) { return 8 + 1e6 * l + 2 * g; }, question());
  EXPECT_EQ(needs_of(outcome).find("uncertain"), std::string::npos);
  PointOutcome& point = outcome.points[3];
  point.seconds.low = 0.97 * point.seconds.median;
  point.seconds.high = 1.03 * point.seconds.median;
  point.is_precise = false;
  EXPECT_NE(needs_of(outcome).find(" These figures are uncertain: 1 of 9 points is not known to "
                                   "± 2 % (the widest interval is ± 3.0 %)."),
            std::string::npos)
      << needs_of(outcome);
  const auto json = nlohmann::json::parse(to_json_text(outcome, "weft sweep"));
  EXPECT_EQ(json["points"][3]["precise"], false);
  EXPECT_EQ(json["points"][4]["precise"], true);
  EXPECT_EQ(json["needs"], needs_of(outcome));
  // An interval wider than the slow-down in question.
  point.seconds.high = 1.2 * point.seconds.median;
  EXPECT_NE(needs_of(outcome).find(" These figures mean little: 1 of 9 points is not known to "),
            std::string::npos);
}

TEST(sweep_record, turns_the_interval_of_a_rate_round) {
  PointOutcome point{.point = {}, .seconds = {.median = 0.5, .low = 0.25, .high = 1}};
  SweepOutcome outcome{.question = question(), .points = {point}};
  outcome.question.metric = {"x", *parse_metric_unit("/s"), {}};
  const auto json = nlohmann::json::parse(to_json_text(outcome, "weft sweep"));
  EXPECT_EQ(json["points"][0]["low"], 1);
  EXPECT_EQ(json["points"][0]["high"], 4);
}

TEST(sweep_words, round_counts_to_what_a_fit_knows) {
  EXPECT_EQ(count_text(199'876), "200,000");
  EXPECT_EQ(count_text(12'345'678), "12,300,000");
  EXPECT_EQ(count_text(1.9871), "1.99");
  EXPECT_EQ(latency_text(2.1e-6), "2.1 us");
  EXPECT_EQ(latency_text(0.5), "500 ms");
  EXPECT_EQ(latency_text(0.99999), "1 s");
}

}  // namespace
}  // namespace weft::emulate

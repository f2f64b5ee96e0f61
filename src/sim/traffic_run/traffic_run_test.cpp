// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic_run/traffic_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim {
namespace {

Scenario busy() {
  Scenario s;
  s.topology = "star:4";
  s.duration = Duration::microseconds(200);
  s.traffic = {{.load = 0.3}, {.pattern = TrafficPattern::incast, .load = 0.1}};
  return s;
}

TEST(traffic_run, all_that_is_sent_arrives) {
  const auto ran = run_traffic(busy());
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  ASSERT_EQ(ran->traffic.size(), 2u);
  for (const TrafficFigures& t : ran->traffic) {
    EXPECT_GT(t.messages, 0u);
    EXPECT_EQ(t.delivered, t.messages);
    EXPECT_GT(t.goodput_bytes_per_s, 0);
  }
  EXPECT_EQ(ran->hosts, 4u);
  EXPECT_EQ(ran->router, "d-mod-k");
  EXPECT_GE(ran->simulated, Duration::microseconds(200));
}

TEST(traffic_run, goodput_is_of_the_time_in_which_a_traffic_was_sent) {
  // Twice the links' rate for 100 us: the other half arrives within the next 100 us.
  Scenario s;
  s.topology = "star:2";
  s.duration = Duration::microseconds(200);
  s.traffic = {{.pattern = TrafficPattern::permutation,
                .load = 2,
                .end = PicoInstant() + PicoDuration::microseconds(100)}};
  const auto ran = run_traffic(s);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  const double links =
      2 * static_cast<double>(s.network.host_link.rate.bytes_per_second());  // one for each host
  EXPECT_LE(ran->traffic[0].goodput_bytes_per_s, links);
  EXPECT_GE(ran->traffic[0].goodput_bytes_per_s, 0.9 * links);
  // All together are counted until the end of the scenario.
  EXPECT_GE(ran->all.goodput_bytes_per_s, 0.9 * links);
}

TEST(traffic_run, what_a_dead_cable_holds_up_is_delivered_late_or_never) {
  Scenario scenario = busy();
  scenario.faults = {"at=50us link-down host0 for=1ms"};
  const auto late = run_traffic(scenario);
  ASSERT_TRUE(late.ok()) << late.error().message;
  EXPECT_EQ(late->traffic[1].delivered, late->traffic[1].messages);
  EXPECT_GE(late->simulated, Duration::microseconds(1050));
  scenario.faults = {"at=50us link-down host0"};
  const auto never = run_traffic(scenario);
  ASSERT_TRUE(never.ok()) << never.error().message;
  EXPECT_LT(never->traffic[1].delivered, never->traffic[1].messages);
}

TEST(traffic_run, what_a_lossy_cable_loses_is_sent_again) {
  Scenario scenario = busy();
  scenario.lossy = {"host0"};
  scenario.faults = {"at=0s loss host0 5%"};
  const auto lossy = run_traffic(scenario);
  ASSERT_TRUE(lossy.ok()) << lossy.error().message;
  for (const TrafficFigures& t : lossy->traffic) EXPECT_EQ(t.delivered, t.messages);
  EXPECT_GT(lossy->packet_hops, 0u);
  EXPECT_NE(lossy->trace_hash, run_traffic(busy())->trace_hash);
}

TEST(traffic_run, does_the_same_twice) {
  Scenario scenario = busy();
  scenario.random_faults = {.links_slow_per_s = 20'000,
                            .mean_length = Duration::microseconds(20),
                            .until = Duration::microseconds(150)};
  const auto once = run_traffic(scenario);
  const auto again = run_traffic(scenario);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->trace_hash, again->trace_hash);
  scenario.random_faults = {};
  EXPECT_NE(run_traffic(scenario)->trace_hash, once->trace_hash);
}

TEST(traffic_run, that_somebody_ends_says_how_far_it_came_and_has_no_result) {
  Scenario scenario = busy();
  int questions = 0;
  const auto after = [&](int most) {
    questions = 0;
    AloneExchange alone;
    const auto ran =
        run_traffic(scenario, alone, nullptr, {}, [&, most] { return ++questions > most; });
    return ran.ok() ? Error{} : ran.error();
  };
  const Error early = after(50);
  EXPECT_EQ(early.code, ErrorCode::cancelled);
  EXPECT_THAT(early.message, testing::HasSubstr("interrupted after 100 us of 200 us simulated"));
  // Sent at twice the link's rate, half of it is under way when sending ends.
  scenario.traffic = {{.pattern = TrafficPattern::permutation, .load = 2}};
  after(1'000'000);  // as many questions as there are
  const Error late = after(questions - 1);
  EXPECT_EQ(late.code, ErrorCode::cancelled);
  EXPECT_THAT(late.message, testing::HasSubstr("while the last messages of its 200 us arrived"));
}

TEST(traffic_run, refuses_what_could_happen_to_jobs_only) {
  Scenario scenario = busy();
  scenario.faults = {"at=50us kill host0"};
  EXPECT_THAT(run_traffic(scenario).error().message, testing::HasSubstr("[job]"));
  scenario.faults = {"at=50us link-down host9"};
  EXPECT_THAT(run_traffic(scenario).error().message, testing::HasSubstr("host9"));
  scenario.faults.clear();
  scenario.random_faults = {.pauses_per_s = 1, .until = Duration::microseconds(50)};
  EXPECT_THAT(run_traffic(scenario).error().message, testing::HasSubstr("could pause"));
  scenario.random_faults = {.crashes_per_s = 1, .until = Duration::microseconds(50)};
  EXPECT_THAT(run_traffic(scenario).error().message, testing::HasSubstr("could crash"));
  scenario.random_faults = {};
  scenario.traffic.clear();
  EXPECT_THAT(run_traffic(scenario).error().message, testing::HasSubstr("[[traffic]]"));
}

TEST(traffic_run, refuses_random_faults_that_end_before_they_begin) {
  Scenario scenario = busy();
  scenario.random_faults = {.links_down_per_s = 1};
  EXPECT_THAT(run_traffic(scenario).error().message, testing::HasSubstr("random-faults.until"));
}

}  // namespace
}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_job.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/simulated/scenario_check.hpp"

namespace weft::stream {
namespace {

StreamOptions small_job(std::string_view schedule) {
  StreamOptions o;
  o.inputs = o.computes = 4;
  o.schedule = schedule;
  o.dfs.timeslices_per_interval = 32;
  o.source = "pattern:?size=16KiB&sizes=uniform";
  o.sinks = {"check:"};
  o.sink_in_loop = o.source_in_loop = true;
  o.timeslices = 400;
  o.sample_every = Duration::microseconds(100);
  o.peer_timeout = Duration::milliseconds(50);
  return o;
}

sim::Scenario one_switch() {
  sim::Scenario s;
  s.topology = "star:8";
  s.network = *sim::network_preset("ib-edr");
  s.all_lossy = true;
  return s;
}

struct Ran {
  report::RunRecord record;
  SimulationTrace trace;
};

Ran run(const sim::Scenario& scenario, const StreamOptions& options,
        const LocalOptions& local = {}) {
  Ran ran;
  auto reports =
      run_simulated_job(scenario, options, local, stream_node_factory(options), &ran.trace);
  if (!reports) {
    ADD_FAILURE() << reports.error().message;
    return ran;
  }
  ran.record = merge_reports(options, *reports);
  return ran;
}

class EverySchedule : public testing::TestWithParam<const char*> {};

TEST_P(EverySchedule, builds_every_timeslice_in_the_simulation) {
  const Ran ran = run(one_switch(), small_job(GetParam()));
  EXPECT_EQ(ran.record.timeslices_complete, 400u);
  EXPECT_EQ(ran.record.timeslices_incomplete, 0u);
  EXPECT_EQ(ran.record.timeslices_lost, 0u);
  EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
  EXPECT_GT(ran.trace.packet_hops, 0u);
}

TEST(simulated_job, intervals_begin_within_the_run_by_the_simulations_clock) {
  sim::Scenario scenario = one_switch();
  scenario.clocks.offset = Duration::milliseconds(10);
  const Ran ran = run(scenario, small_job("dfs"));
  ASSERT_GT(ran.record.intervals.size(), 5u);
  for (const report::IntervalRow& row : ran.record.intervals) {
    EXPECT_GE(row.start_us, 0) << row.id;
    EXPECT_LE(row.start_us, ran.record.seconds * 1e6) << row.id;
  }
}

TEST_P(EverySchedule, does_the_same_twice_and_something_else_with_another_seed) {
  sim::Scenario scenario = one_switch();
  scenario.clocks = {.offset = Duration::milliseconds(10), .drift_per_million = 50};
  scenario.noise = {.every = Duration::milliseconds(1), .mean = Duration::microseconds(50)};
  const Ran first = run(scenario, small_job(GetParam()));
  const Ran second = run(scenario, small_job(GetParam()));
  EXPECT_EQ(first.trace.trace_hash, second.trace.trace_hash);
  EXPECT_EQ(first.trace.events, second.trace.events);
  scenario.seed = 2;
  EXPECT_NE(run(scenario, small_job(GetParam())).trace.trace_hash, first.trace.trace_hash);
}

TEST_P(EverySchedule, loses_nothing_when_a_compute_node_is_killed) {
  LocalOptions local;
  local.faults = {"at=500us kill host6"};
  StreamOptions options = small_job(GetParam());
  options.timeslices = 2000;
  const Ran ran = run(one_switch(), options, local);
  EXPECT_EQ(ran.record.timeslices_lost, 0u);
  EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
}

TEST_P(EverySchedule, goes_on_after_a_pause_of_any_node) {
  for (const char* host : {"host1", "host5"}) {
    LocalOptions local;
    local.faults = {std::string("at=500us stop ") + host + " for=5ms"};
    const Ran ran = run(one_switch(), small_job(GetParam()), local);
    EXPECT_EQ(ran.record.timeslices_complete, 400u) << host;
    EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
  }
}

TEST_P(EverySchedule, goes_on_after_clocks_were_set) {
  for (const char* jump : {"+20ms", "-20ms"}) {
    LocalOptions local;
    local.faults = {std::string("at=300us clock host1 ") + jump,
                    std::string("at=400us clock host5 ") + jump};
    const Ran ran = run(one_switch(), small_job(GetParam()), local);
    EXPECT_EQ(ran.record.timeslices_complete, 400u) << jump;
    EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
  }
}

TEST_P(EverySchedule, builds_every_timeslice_over_lossy_links) {
  LocalOptions local;
  local.faults = {"at=100us loss host1 2%", "at=100us loss host5 2%"};
  const Ran ran = run(one_switch(), small_job(GetParam()), local);
  EXPECT_EQ(ran.record.timeslices_complete, 400u);
  EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
}

INSTANTIATE_TEST_SUITE_P(simulated_job, EverySchedule,
                         testing::Values("best-effort", "offset", "dfs", "grant"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

/// Told to stop, the only input node asks all others where the stream ends, and dies before they
/// have agreed, or a little earlier or later.
TEST(simulated_job, ends_when_its_only_input_node_begins_anew_while_it_ends) {
  for (int us = 1990; us < 2020; ++us) {
    StreamOptions options = small_job("offset");
    options.inputs = 1;
    options.timeslices = 0;
    options.duration = Duration::milliseconds(2);
    LocalOptions local;
    local.faults = {fmt::format("at={}us restart host0", us)};
    const Ran ran = run(one_switch(), options, local);
    EXPECT_EQ(ran.record.checks.errors, 0u) << us << ": " << ran.record.checks.first_error;
  }
}

TEST(simulated_job, a_node_that_was_killed_may_join_again) {
  LocalOptions local;
  local.faults = {"at=300us kill host5", "at=4ms restart host5"};
  StreamOptions options = small_job("grant");
  options.timeslices = 4000;
  const Ran ran = run(one_switch(), options, local);
  EXPECT_EQ(ran.record.timeslices_lost, 0u);
  EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
}

/// The record of a job whose nodes begin new lives at the same time: all, or all but one.
report::RunRecord all_restarted_but(std::optional<int> kept) {
  StreamOptions options = small_job("grant");
  options.source = "pattern:?size=1000";
  options.timeslices = 0;
  options.duration = Duration::milliseconds(2);
  LocalOptions local;
  local.restart = true;
  for (int host = 0; host < 8; ++host) {
    if (host != kept) local.faults.push_back(fmt::format("at=1ms kill host{}", host));
  }
  return run(one_switch(), options, local).record;
}

TEST(simulated_job, a_stream_that_no_node_remembers_is_not_taken_for_the_one_that_follows) {
  const report::RunRecord record = all_restarted_but(std::nullopt);
  EXPECT_EQ(record.checks.errors, 1u);
  EXPECT_THAT(record.checks.first_error, testing::HasSubstr("began it anew"));
  EXPECT_GT(record.timeslices_complete, 0u);
  EXPECT_LT(record.seconds, 1.5e-3) << "of the new one";
  EXPECT_EQ(record.bytes % record.timeslices_complete, 0u);
  EXPECT_LT(record.bytes / record.timeslices_complete, 4u * 1100);
  for (const int kept : {0, 3, 5}) EXPECT_EQ(all_restarted_but(kept).checks.errors, 0u) << kept;
}

TEST(simulated_job, an_input_buffer_that_never_holds_a_contribution_is_an_error_not_a_wait) {
  StreamOptions options = small_job("grant");
  options.microslices_per_timeslice = 3;
  options.input_buffer = ByteCount::kib(32);  // of three microslices of about 16 KiB
  const auto reports = run_simulated_job(one_switch(), options, {}, stream_node_factory(options));
  ASSERT_FALSE(reports.ok());
  EXPECT_THAT(reports.error().message, testing::HasSubstr("--input-buffer: 32768 bytes"));
}

TEST(simulated_job, an_impossible_scenario_is_refused) {
  sim::Scenario scenario = one_switch();
  scenario.topology = "star:4";
  const StreamOptions options = small_job("grant");
  const auto reports = run_simulated_job(scenario, options, {}, stream_node_factory(options));
  ASSERT_FALSE(reports.ok());
  EXPECT_THAT(reports.error().message, testing::HasSubstr("8"));
}

/// In picoseconds it would be in the past.
TEST(simulated_job, times_that_a_simulation_cannot_count_are_refused) {
  StreamOptions options = small_job("grant");
  EXPECT_TRUE(check_in_scenario(one_switch(), options, {}).ok());
  options.sample_every = Duration::seconds(10'000'000);
  const auto good = check_in_scenario(one_switch(), options, {});
  ASSERT_FALSE(good.ok());
  EXPECT_THAT(good.error().message, testing::HasSubstr("--sample-every"));
}

}  // namespace
}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// Streams over modelled adapters (fabric.transport = "rc"), pinned and paged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/simulated/simulated_job.hpp"

namespace weft::stream {
namespace {

StreamOptions small_job() {
  StreamOptions o;
  o.inputs = o.computes = 2;
  o.source = "pattern:?size=4KiB&sizes=uniform";
  o.sinks = {"check:"};
  o.sink_in_loop = o.source_in_loop = true;
  o.timeslices = 300;
  o.buffer = ByteCount::kib(64);
  o.sample_every = Duration::microseconds(100);
  o.peer_timeout = Duration::seconds(2);
  return o;
}

sim::Scenario scenario_of(std::string_view device, bool paged) {
  sim::Scenario s;
  s.topology = "star:8";
  s.network = *sim::network_preset("ib-fdr");
  s.network.buffer_bytes = 65536;
  s.all_lossy = true;
  s.fabric.reliable.emplace();
  s.fabric.reliable->device = *net::rc::device_profile(device);
  s.fabric.reliable->adapter.paged = paged;
  return s;
}

struct Ran {
  report::RunRecord record;
  SimulationTrace trace;
};

Ran run(const sim::Scenario& scenario, const StreamOptions& options = small_job(),
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

void expect_no_loss(const Ran& ran) {
  EXPECT_GT(ran.record.timeslices_complete, 0u);
  EXPECT_EQ(ran.record.timeslices_incomplete, 0u);
  EXPECT_EQ(ran.record.timeslices_lost, 0u);
  EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
}

void expect_complete(const Ran& ran) {
  expect_no_loss(ran);
  EXPECT_EQ(ran.record.timeslices_complete, 300u);
}

class EveryDevice : public testing::TestWithParam<const char*> {};

TEST_P(EveryDevice, builds_every_timeslice_over_paged_memory) {
  const Ran ran = run(scenario_of(GetParam(), true));
  expect_complete(ran);
  ASSERT_TRUE(ran.trace.reliable.has_value());
  EXPECT_GT(ran.trace.reliable->page_faults, 0u);
  EXPECT_EQ(run(scenario_of(GetParam(), true)).trace.trace_hash, ran.trace.trace_hash);
}

TEST_P(EveryDevice, builds_every_timeslice_when_what_is_sent_is_paged_as_well) {
  sim::Scenario scenario = scenario_of(GetParam(), true);
  const Ran receivers = run(scenario);
  scenario.fabric.reliable->sends_paged = true;
  const Ran both = run(scenario);
  expect_complete(both);
  EXPECT_GT(both.trace.reliable->page_faults, receivers.trace.reliable->page_faults);
  scenario.fabric.reliable->prefetch = true;
  const Ran prefetched = run(scenario);
  expect_complete(prefetched);
  EXPECT_EQ(prefetched.trace.reliable->page_faults, 0u);
}

TEST_P(EveryDevice, needs_no_page_fault_when_memory_is_prefetched) {
  sim::Scenario paged = scenario_of(GetParam(), true);
  paged.fabric.reliable->prefetch = true;
  const Ran prefetched = run(paged), pinned = run(scenario_of(GetParam(), false));
  expect_complete(prefetched);
  EXPECT_EQ(prefetched.trace.reliable->page_faults, 0u);
  EXPECT_EQ(prefetched.trace.reliable->packets, pinned.trace.reliable->packets);
}

INSTANTIATE_TEST_SUITE_P(reliable_job, EveryDevice,
                         testing::Values("connectx-4", "connectx-5", "connectx-6", "adaptive",
                                         "ideal"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(reliable_job, damming_stalls_a_stream_and_dummies_avoid_that) {
  sim::Scenario scenario = scenario_of("connectx-4", true);
  // Slow enough that nothing follows at once, which would draw a sequence NAK.
  StreamOptions slow = small_job();
  slow.inputs = slow.computes = 4;
  slow.source = "pattern:?size=16KiB&rate=2000Hz";
  slow.timeslices = 0;
  slow.duration = Duration::milliseconds(200);
  slow.buffer = ByteCount::mib(1);
  const Ran dammed = run(scenario, slow);
  expect_no_loss(dammed);
  EXPECT_GT(dammed.trace.reliable->adapters.dammed, 0u);
  EXPECT_GT(dammed.trace.simulated, Duration::milliseconds(500));
  scenario.fabric.reliable->dummy_after = Duration::microseconds(600);
  const Ran rescued = run(scenario, slow);
  expect_no_loss(rescued);
  EXPECT_EQ(rescued.trace.reliable->adapters.timeouts, 0u);
  const Ran later = run(scenario_of("connectx-6", true), slow);
  EXPECT_LT(rescued.trace.simulated, later.trace.simulated * 2) << "as an adapter that loses none";
}

TEST(reliable_job, loses_nothing_on_lossy_links_and_when_a_node_is_killed) {
  StreamOptions options = small_job();
  LocalOptions local;
  local.faults = {"at=50us loss host1 20%", "at=2ms kill host3", "at=3ms restart host3"};
  sim::Scenario scenario = scenario_of("ideal", false);
  scenario.fabric.reliable->adapter.ack_timeout = 6;
  options.timeslices = 3000;
  const Ran ran = run(scenario, options, local);
  EXPECT_EQ(ran.record.timeslices_lost, 0u);
  EXPECT_EQ(ran.record.checks.errors, 0u) << ran.record.checks.first_error;
  EXPECT_GT(ran.trace.reliable->lost, 0u);
  EXPECT_GT(ran.trace.reliable->adapters.retransmissions, 0u);
}

}  // namespace
}  // namespace weft::stream

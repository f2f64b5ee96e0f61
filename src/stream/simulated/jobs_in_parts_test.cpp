// SPDX-License-Identifier: Apache-2.0
// Jobs in a divided simulation do the same as in an undivided one, to the last byte.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "sim/partition/thread_exchange.hpp"
#include "stream/simulated/simulated_job.hpp"

namespace weft::stream {
namespace {

using testing::HasSubstr;

/// Four switches with three hosts each, and cables long enough for windows of half a microsecond.
sim::Scenario four_switches() {
  sim::Scenario s;
  s.topology = "torus:4,hosts=3";
  s.network = *sim::network_preset("ib-qdr");
  for (sim::LinkOptions* link : {&s.network.host_link, &s.network.local_link}) {
    link->latency = PicoDuration::nanoseconds(500);
  }
  s.network.retransmit_after = PicoDuration::microseconds(50);
  s.all_lossy = true;
  s.placement = *sim::parse_placement("random:3");
  return s;
}

StreamOptions small_job(std::string_view schedule) {
  StreamOptions o;
  o.inputs = 3;
  o.computes = 4;
  o.schedule = schedule;
  o.dfs.timeslices_per_interval = 16;
  o.source = "pattern:?size=8KiB&sizes=uniform";
  o.sinks = {"check:"};
  o.sink_in_loop = o.source_in_loop = true;
  o.duration = Duration::milliseconds(1);
  o.sample_every = Duration::microseconds(40);
  o.peer_timeout = Duration::microseconds(300);
  return o;
}

/// All that a run leaves, as text.
std::string run(const sim::Scenario& scenario, std::span<const SimulatedJob> jobs,
                std::uint32_t parts) {
  std::mutex mutex;
  std::vector<std::string> said;
  sim::run_in_threads(parts, [&](sim::Exchange& exchange) {
    SimulationTrace trace;
    const auto reports = run_simulated_jobs(scenario, jobs, &trace, {.exchange = &exchange});
    std::string text = fmt::format("{:016x} {} events {} hops {} ns", trace.trace_hash,
                                   trace.events, trace.packet_hops, trace.simulated.ticks());
    if (!reports) text += "\nrefused: " + reports.error().message;
    for (std::size_t j = 0; reports && j < jobs.size(); ++j) {
      text += "\n" + report::to_json(merge_reports(jobs[j].options, (*reports)[j]),
                                     report::RecordForm::full);
    }
    const std::lock_guard lock(mutex);
    said.push_back(std::move(text));
  });
  for (const std::string& text : said) EXPECT_EQ(text, said[0]);
  return said[0];
}

std::string run(const sim::Scenario& scenario, const StreamOptions& options, std::uint32_t parts,
                const LocalOptions& local = {}) {
  const SimulatedJob job{
      .options = options, .local = local, .factory = stream_node_factory(options)};
  return run(scenario, {&job, 1}, parts);
}

void expect_same_in_any_parts(const sim::Scenario& scenario, const StreamOptions& options,
                              const LocalOptions& local = {}) {
  const std::string whole = run(scenario, options, 1, local);
  EXPECT_THAT(whole, Not(HasSubstr("refused")));
  for (const std::uint32_t parts : {2U, 3U, 4U}) {
    EXPECT_EQ(run(scenario, options, parts, local), whole) << parts << " parts";
  }
}

class JobsInParts : public testing::TestWithParam<const char*> {};

TEST_P(JobsInParts, do_what_they_do_in_one) {
  expect_same_in_any_parts(four_switches(), small_job(GetParam()));
}

TEST_P(JobsInParts, have_noise_clocks_and_traffic_beside_them) {
  sim::Scenario scenario = four_switches();
  scenario.clocks = {.offset = Duration::milliseconds(10), .drift_per_million = 50};
  scenario.noise = {.every = Duration::microseconds(200), .mean = Duration::microseconds(20)};
  scenario.traffic.push_back({.pattern = sim::TrafficPattern::bursts, .load = 0.05});
  scenario.traffic.back().end = PicoInstant() + PicoDuration::milliseconds(2);
  expect_same_in_any_parts(scenario, small_job(GetParam()));
}

TEST_P(JobsInParts, have_every_fault) {
  LocalOptions local;
  local.faults = {"at=100us stop host1 for=50us",
                  "at=150us clock host4 +3ms",
                  "at=200us slow host2 10Gbit for=200us",
                  "at=250us slow host3 100Gbit for=100us",
                  "at=300us loss host0 3% for=400us",
                  "at=350us kill host5",
                  "at=400us partition host0|host4 for=400us",
                  "at=500us kill host1",
                  "at=600us restart host5",
                  "at=600us link-down host6 for=450us",
                  "at=700us slow switch0--switch1 5Gbit for=100us",
                  "at=900us restart host1"};
  expect_same_in_any_parts(four_switches(), small_job(GetParam()), local);
}

TEST_P(JobsInParts, begin_anew_when_no_node_remembers_the_stream) {
  LocalOptions local;
  local.restart = true;
  for (int host = 0; host < 7; ++host) {
    local.faults.push_back(fmt::format("at=500us kill host{}", host));
  }
  EXPECT_THAT(run(four_switches(), small_job(GetParam()), 1, local), HasSubstr("began it anew"));
  expect_same_in_any_parts(four_switches(), small_job(GetParam()), local);
}

INSTANTIATE_TEST_SUITE_P(simulated_job, JobsInParts,
                         testing::Values("best-effort", "offset", "dfs", "grant"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(jobs_in_parts, several_share_a_network_and_start_when_they_should) {
  sim::Scenario scenario = four_switches();
  scenario.network.levels = {{.priority = 0, .weight = 3}, {.priority = 0, .weight = 1}};
  scenario.faults = {"at=300us stop b:host1 for=100us", "at=400us kill a:host3",
                     "at=500us link-down switch1--switch2 for=100us"};
  StreamOptions a = small_job("grant"), b = small_job("dfs");
  a.inputs = a.computes = 3;
  b.inputs = b.computes = 2;
  b.data_level = b.control_level = ServiceLevel(1);
  const LocalOptions local;
  const SimulatedJob jobs[] = {
      {.options = a, .local = local, .factory = stream_node_factory(a), .name = "a"},
      {.options = b,
       .local = local,
       .factory = stream_node_factory(b),
       .name = "b",
       .start = Duration::microseconds(200)}};
  const std::string whole = run(scenario, jobs, 1);
  EXPECT_THAT(whole, Not(HasSubstr("refused")));
  for (const std::uint32_t parts : {2U, 4U}) EXPECT_EQ(run(scenario, jobs, parts), whole);
}

TEST(jobs_in_parts, fail_alike_and_say_why_once) {
  StreamOptions options = small_job("grant");
  options.microslices_per_timeslice = 8;
  options.input_buffer = ByteCount::kib(32);  // never holds a contribution
  const std::string whole = run(four_switches(), options, 1);
  EXPECT_THAT(whole, HasSubstr("--input-buffer: 32768 bytes"));
  for (const std::uint32_t parts : {2U, 3U}) {
    EXPECT_THAT(run(four_switches(), options, parts), HasSubstr("--input-buffer: 32768 bytes"));
  }
  LocalOptions local;
  local.faults = {"at=100us kill host1", "at=200us cont host1"};
  const std::string refused = run(four_switches(), small_job("grant"), 1, local);
  EXPECT_THAT(refused, HasSubstr("'cont host1': node 1 does not run"));
  EXPECT_EQ(run(four_switches(), small_job("grant"), 3, local), refused);
}

TEST(jobs_in_parts, need_time_for_what_nodes_hear_of_each_other) {
  sim::Scenario scenario = four_switches();
  scenario.fabric.acknowledgement = Duration{};
  EXPECT_THAT(run(scenario, small_job("grant"), 1), Not(HasSubstr("fabric.acknowledgement")));
  EXPECT_THAT(run(scenario, small_job("grant"), 2), HasSubstr("fabric.acknowledgement = 0"));
}

}  // namespace
}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// Several jobs in one simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/simulated/simulated_job.hpp"

namespace weft::stream {
namespace {

using testing::HasSubstr;

StreamOptions small_job() {
  StreamOptions o;
  o.inputs = o.computes = 2;
  o.source = "pattern:?size=16KiB";
  o.sinks = {"check:"};
  o.sink_in_loop = o.source_in_loop = true;
  o.duration = Duration::milliseconds(4);
  o.sample_every = Duration::microseconds(50);
  o.peer_timeout = Duration::milliseconds(50);
  return o;
}

/// Two switches with four hosts each, and one slow cable between them. Of each job's nodes every
/// second one is on the other side.
sim::Scenario narrow() {
  sim::Scenario s;
  s.topology = "torus:2,hosts=4";
  s.network = *sim::network_preset("ib-edr");
  s.network.local_link.rate = Bandwidth::bytes_per_second(2'000'000'000);
  s.placement = *sim::parse_placement("round-robin");
  s.network.levels = {{.priority = 0, .weight = 1}, {.priority = 0, .weight = 1}};
  return s;
}

/// Inputs on one side, computes on the other, for jobs that share the cable.
class TwoJobs : public testing::Test {
 protected:
  Result<std::vector<JobReport>> run(const SimulationOptions& simulation = {}) {
    const std::vector<SimulatedJob> jobs{job(0), job(1)};
    return run_simulated_jobs(scenario_, jobs, &trace_, simulation);
  }
  SimulatedJob job(std::size_t j) const {
    return {.options = options_[j],
            .local = local_[j],
            .factory = stream_node_factory(options_[j]),
            .name = j == 0 ? "a" : "b",
            .key = j == 0 ? "jobs[0]" : "jobs[1]",
            .start = start_[j],
            .placement = {}};
  }
  double goodput(const std::vector<JobReport>& reports, std::size_t j) const {
    return merge_reports(options_[j], reports[j]).goodput_bytes_per_s;
  }

  sim::Scenario scenario_ = narrow();
  StreamOptions options_[2] = {small_job(), small_job()};
  LocalOptions local_[2];
  Duration start_[2] = {};
  SimulationTrace trace_;
};

void expect_sound(const report::RunRecord& record) {
  EXPECT_GT(record.timeslices_complete, 20u);
  EXPECT_EQ(record.timeslices_lost, 0u);
  EXPECT_EQ(record.checks.errors, 0u) << record.checks.first_error;
}

TEST_F(TwoJobs, both_build_their_timeslices_and_share_the_network) {
  const auto together = run();
  ASSERT_TRUE(together.ok()) << together.error().message;
  ASSERT_EQ(together->size(), 2u);
  for (std::size_t j = 0; j < 2; ++j) expect_sound(merge_reports(options_[j], (*together)[j]));
  const auto alone = run({.alone = 1});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  ASSERT_EQ(alone->size(), 1u);
  EXPECT_GT(goodput(*alone, 0), 1.2 * goodput(*together, 1));
}

TEST_F(TwoJobs, do_the_same_twice) {
  ASSERT_TRUE(run().ok());
  const std::uint64_t first = trace_.trace_hash;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(trace_.trace_hash, first);
}

TEST_F(TwoJobs, the_level_with_the_larger_weight_gets_more) {
  scenario_.network.levels = {{.priority = 0, .weight = 7}, {.priority = 0, .weight = 1}};
  options_[1].data_level = options_[1].control_level = ServiceLevel(1);
  const auto reports = run();
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  EXPECT_GT(goodput(*reports, 0), 1.5 * goodput(*reports, 1));
}

TEST_F(TwoJobs, one_may_start_later_and_one_may_end_earlier) {
  start_[1] = Duration::milliseconds(3);
  options_[1].duration = Duration::milliseconds(5);
  const auto reports = run();
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  const auto first_of = [&](std::size_t j) {
    Instant first = Instant::never();
    for (const NodeReport& node : (*reports)[j].nodes) first = std::min(first, node.started);
    return first;
  };
  EXPECT_LT(first_of(0), Instant() + Duration::milliseconds(1));
  EXPECT_GE(first_of(1), Instant() + Duration::milliseconds(3));
  for (std::size_t j = 0; j < 2; ++j) expect_sound(merge_reports(options_[j], (*reports)[j]));
}

TEST_F(TwoJobs, faults_name_their_job_and_those_of_cables_nobody) {
  scenario_.faults = {"at=1ms stop b:host1 for=500us", "at=2ms slow switch0--switch1 10Gbit"};
  const auto reports = run();
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  const report::RunRecord a = merge_reports(options_[0], (*reports)[0]);
  const report::RunRecord b = merge_reports(options_[1], (*reports)[1]);
  ASSERT_EQ(a.faults.size(), 1u);
  EXPECT_EQ(a.faults[0].what, "slow switch0--switch1 1.25 GB/s");
  ASSERT_EQ(b.faults.size(), 3u);
  EXPECT_EQ(b.faults[0].what, "stop host1");
  EXPECT_EQ(b.faults[1].what, "end of stop host1");
  EXPECT_NEAR(b.faults[1].t_us - b.faults[0].t_us, 500, 1);
  expect_sound(a);
  expect_sound(b);
}

TEST_F(TwoJobs, faults_of_no_job_or_an_unknown_one_are_refused) {
  for (const auto& [fault, word] :
       {std::pair("at=1ms kill host1", "a:host0"),
        std::pair("at=1ms kill c:host1", "jobs are a, b"),
        std::pair("at=1ms kill a:host4", "host0 to host3"), std::pair("at=1ms kill :host1", "a, b"),
        std::pair("at=1ms link-down switch0--switch9", "switch9"),
        std::pair("at=1ms loss a:host0 1%", "lossy = [\"host0\"]"),
        std::pair("at=1ms loss b:host0 1%", "lossy = [\"host2\"]")}) {
    scenario_.faults = {fault};
    const auto reports = run();
    ASSERT_FALSE(reports.ok()) << fault;
    EXPECT_THAT(reports.error().message, HasSubstr(word));
  }
}

TEST_F(TwoJobs, what_lossy_links_lose_is_sent_again) {
  scenario_.lossy = {"host0", "switch0--switch1"};
  scenario_.faults = {"at=200us loss a:host0 2%", "at=200us loss switch0--switch1 1%"};
  const auto reports = run();
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  for (std::size_t j = 0; j < 2; ++j) expect_sound(merge_reports(options_[j], (*reports)[j]));
}

TEST_F(TwoJobs, more_nodes_than_hosts_are_refused) {
  options_[1].computes = 3;
  const auto reports = run();
  ASSERT_FALSE(reports.ok());
  EXPECT_THAT(reports.error().message, HasSubstr("5 processes are more than the 4 free hosts"));
}

TEST_F(TwoJobs, end_in_agreement_when_interrupted) {
  for (StreamOptions& o : options_) o.duration = Duration::seconds(60);
  start_[1] = Duration::seconds(50);
  int asked = 0;
  const auto reports =
      run({.wish = [&] { return ++asked > 200 ? sim::EndWish::in_order : sim::EndWish::none; }});
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  const report::RunRecord a = merge_reports(options_[0], (*reports)[0]);
  EXPECT_TRUE(a.interrupted);
  EXPECT_LT(a.seconds, 0.1);
  EXPECT_EQ(a.timeslices_complete, a.timeslices_sent);
  expect_sound(a);
  EXPECT_TRUE((*reports)[1].interrupted);
  EXPECT_EQ((*reports)[1].nodes.size(), 0u);
}

/// The data that sources have produced may take long to send.
TEST_F(TwoJobs, tell_what_they_have_done_when_they_are_ended_at_once) {
  for (StreamOptions& o : options_) o.duration = Duration::seconds(60);
  int asked = 0;
  const auto reports =
      run({.wish = [&] { return ++asked > 200 ? sim::EndWish::at_once : sim::EndWish::none; }});
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_EQ((*reports)[j].nodes.size(), 4u);
    const report::RunRecord record = merge_reports(options_[j], (*reports)[j]);
    EXPECT_TRUE(record.interrupted);
    EXPECT_GT(record.timeslices_complete, 0u);
    EXPECT_EQ(record.timeslices_sent, record.timeslices_complete);
    EXPECT_EQ(record.timeslices_lost, 0u);
  }
  EXPECT_EQ(asked, 201) << "nothing is simulated after that";
}

TEST_F(TwoJobs, do_not_begin_when_nobody_wants_them_any_more) {
  const auto reports = run({.wish = [] { return sim::EndWish::in_order; }});
  ASSERT_FALSE(reports.ok());
  EXPECT_EQ(reports.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
#include "stream/swarm/swarm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "stream/swarm/ledger.hpp"
#include "stream/swarm/swarm_case.hpp"

namespace weft::stream {
namespace {

using testing::HasSubstr;

TEST(swarm, its_seeds_keep_their_promises) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const SwarmSeedOutcome o = run_swarm_seed(seed);
    EXPECT_EQ(o.failure, "") << "rerun: weft simulate swarm --seeds " << seed << ".." << seed
                             << " --verbose\n"
                             << describe_swarm_seed(seed);
  }
}

TEST(swarm, seeds_that_once_found_something_keep_their_promises) {
  // Wrong contents; views that stood still, or came without end; a node that never came back; an
  // asker whose next life was taken for it; leaps and traffic while the end is agreed upon.
  for (const std::uint64_t seed : {16394, 22193, 29529, 29548, 32079, 34170, 35954, 37544, 38160,
                                   45780, 46310, 48256, 49763, 58798, 90953}) {
    EXPECT_EQ(run_swarm_seed(seed).failure, "") << describe_swarm_seed(seed);
  }
}

TEST(swarm, the_same_seed_does_the_same_twice) {
  for (std::uint64_t seed = 100; seed < 108; ++seed) {
    EXPECT_EQ(run_swarm_seed(seed, nullptr, true).failure, "");
    EXPECT_NE(run_swarm_seed(seed).trace_hash, run_swarm_seed(seed + 1).trace_hash);
  }
}

TEST(swarm, draws_everything_that_it_may) {
  std::set<std::string> schedules, topologies;
  std::set<faults::Fault::Kind> kinds;
  std::uint32_t calm = 0, tiny = 0;
  bool splits_inputs = false, has_quorum = false, notices_late = false, pauses_near_timeout = false;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const auto drawn = draw_swarm_case(seed, nullptr);
    ASSERT_TRUE(drawn.ok()) << "seed " << seed << ": " << drawn.error().message;
    schedules.insert(drawn->options.schedule);
    topologies.insert(drawn->scenario.topology);
    for (const faults::Fault& fault : drawn->faults) {
      kinds.insert(fault.kind);
      splits_inputs |= fault.kind == faults::Fault::Kind::partition &&
                       fault.groups[1].front() < drawn->options.inputs;
      const double timeouts = fault.lasts.to_seconds() / drawn->options.peer_timeout.to_seconds();
      pauses_near_timeout |=
          fault.kind == faults::Fault::Kind::stop && timeouts > 0.85 && timeouts < 1;
    }
    notices_late |= drawn->scenario.fabric.notice_spread > drawn->options.peer_timeout;
    has_quorum |= drawn->options.quorum == Quorum::majority;
    calm += drawn->expected.calm;
    const sim::NetworkOptions& net = drawn->scenario.network;
    tiny += net.buffer_bytes < 2 * (net.mtu + net.packet_overhead);
  }
  EXPECT_EQ(schedules.size(), 4u);
  EXPECT_EQ(topologies.size(), 14u);
  EXPECT_GE(kinds.size(), 6u);
  EXPECT_TRUE(splits_inputs);
  EXPECT_TRUE(has_quorum);
  EXPECT_TRUE(notices_late);
  EXPECT_TRUE(pauses_near_timeout);
  EXPECT_GT(calm, 100u);
  EXPECT_LT(calm, 450u);
  EXPECT_GT(tiny, 20u) << "buffers of a single packet";
}

TEST(swarm, takes_the_network_of_a_scenario) {
  sim::Scenario scenario;
  scenario.topology = "star:5";
  scenario.network = *sim::network_preset("10gbe");
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto drawn = draw_swarm_case(seed, &scenario);
    ASSERT_TRUE(drawn.ok());
    EXPECT_EQ(drawn->scenario.topology, "star:5");
    EXPECT_EQ(drawn->scenario.network.mtu, scenario.network.mtu);
    EXPECT_LE(drawn->options.inputs + drawn->options.computes, 5u);
    EXPECT_EQ(run_swarm_seed(seed, &scenario).failure, "");
  }
}

TEST(swarm, runs_ranges_in_processes_and_reports_an_impossible_network) {
  std::uint64_t seen = 0;
  const auto outcome =
      run_swarm({.first = 1, .last = 60, .jobs = 2},
                [&](const SwarmOutcome& so_far) { seen = std::max(seen, so_far.runs); });
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->runs, 60u);
  EXPECT_EQ(seen, 60u);
  EXPECT_GT(outcome->timeslices, 600u);
  EXPECT_TRUE(outcome->failures.empty()) << outcome->failures[0].what;
  EXPECT_FALSE(run_swarm({.first = 2, .last = 1}).ok());
  sim::Scenario impossible;
  impossible.topology = "star:1";
  const auto refused = run_swarm({.first = 1, .last = 2, .network = impossible});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("star:1"));
}

/// A ledger's judgement of deliveries with these flags, of timeslices 0, 1, …
std::string judged(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& deliveries,
                   const SwarmExpectation& expected, std::uint64_t end) {
  Ledger ledger;
  // No components: nothing to check in them.
  const auto sink = ledger.open({.inputs = 0});
  const auto again = ledger.open({.compute = 1, .inputs = 0});
  std::set<std::uint64_t> seen;
  for (const auto& [index, flags] : deliveries) {
    TimesliceView view;
    view.index = TimesliceIndex(index);
    view.flags = flags;
    view.num_core_microslices = 1;
    EXPECT_TRUE((seen.insert(index).second ? sink : again)->consume(view).ok());
  }
  return ledger.judge(expected, end);
}

TEST(swarm_ledger, finds_what_is_lost_repeated_or_incomplete) {
  constexpr std::uint32_t repeated = bit(TimesliceFlag::repeated);
  constexpr std::uint32_t missing = bit(TimesliceFlag::missing_components);
  const SwarmExpectation calm{.calm = true};
  const SwarmExpectation wild{.calm = false, .may_miss_components = true};
  EXPECT_EQ(judged({{0, 0}, {1, 0}}, calm, 2), "");
  EXPECT_THAT(judged({{0, 0}, {2, 0}}, wild, 3), HasSubstr("timeslice 1 of 3 was never"));
  EXPECT_THAT(judged({{0, 0}, {1, 0}}, wild, 1), HasSubstr("ended at 1"));
  EXPECT_THAT(judged({{0, 0}, {0, 0}}, wild, 1), HasSubstr("not flagged as repeated"));
  EXPECT_EQ(judged({{0, repeated}, {0, 0}}, wild, 1), "");
  EXPECT_THAT(judged({{0, 0}, {0, repeated}}, calm, 1), HasSubstr("all the time"));
  EXPECT_THAT(judged({{0, missing}}, calm, 1), HasSubstr("misses components"));
  EXPECT_EQ(judged({{0, missing}}, wild, 1), "");
}

}  // namespace
}  // namespace weft::stream

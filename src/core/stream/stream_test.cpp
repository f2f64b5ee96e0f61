// SPDX-License-Identifier: Apache-2.0
// The input and compute machines together, over the loopback fabric with virtual time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/schedule/grant.hpp"
#include "core/schedule/in_order.hpp"
#include "core/stream/cluster_for_test.hpp"

namespace weft::stream::testing {
namespace {

void expect_all_complete(const Cluster& cluster, const ClusterOptions& options) {
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_EQ(built.times, 1u) << "timeslice " << t;
    EXPECT_EQ(built.flags, 0u) << "timeslice " << t;
    EXPECT_EQ(built.components, options.roster.inputs) << "timeslice " << t;
  }
}

TEST(stream, best_effort_builds_every_timeslice_once) {
  const ClusterOptions options;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.run());
  expect_all_complete(cluster, options);
}

TEST(stream, offset_builds_every_timeslice_once) {
  const ClusterOptions options = with_offset({});
  Cluster cluster(options);
  ASSERT_TRUE(cluster.run());
  expect_all_complete(cluster, options);
}

TEST(stream, grants_build_every_timeslice_once) {
  const ClusterOptions options = with_grants({});
  Cluster cluster(options);
  ASSERT_TRUE(cluster.run());
  expect_all_complete(cluster, options);
}

TEST(stream, credits_that_wait_for_others_come_also_when_no_others_do) {
  ClusterOptions options = with_grants({});
  // Much room: nothing is much of it. The input buffer fills long before.
  options.ring_bytes = 1 << 16;
  options.descriptors = 64;
  options.timeslices = 200;
  options.credit_delay = Duration::microseconds(50);
  Cluster cluster(options);
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  expect_all_complete(cluster, options);
}

TEST(stream, more_inputs_than_computes_and_the_other_way_round) {
  for (const Roster roster : {Roster{5, 2}, Roster{2, 5}, Roster{1, 1}, Roster{1, 4}}) {
    for (int kind = 0; kind < 3; ++kind) {
      ClusterOptions options;
      options.roster = roster;
      if (kind == 1) options = with_offset(options);
      if (kind == 2) options = with_grants(options);
      Cluster cluster(options);
      ASSERT_TRUE(cluster.run()) << roster.inputs << "x" << roster.computes << " kind " << kind;
      expect_all_complete(cluster, options);
    }
  }
}

TEST(stream, contributions_are_split_in_two_at_the_end_of_the_ring) {
  ClusterOptions options;
  options.microslice_bytes = 1700;  // does not divide the ring of 4096
  options.timeslices = 300;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.run());
  expect_all_complete(cluster, options);
}

TEST(stream, overlap_is_sent_with_both_neighbours) {
  ClusterOptions options;
  options.microslices_per_timeslice = 3;
  options.overlap = 2;
  options.microslice_bytes = 300;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.run());
  expect_all_complete(cluster, options);
}

TEST(stream, a_slow_sink_causes_credit_waits_and_loses_nothing) {
  ClusterOptions options;
  Cluster cluster(options);
  cluster.slow_sink(50);
  ASSERT_TRUE(cluster.run());
  expect_all_complete(cluster, options);
  EXPECT_GT(cluster.input(0).counters().credit_waits, 0u);
}

TEST(stream, a_source_that_ends_early_leaves_flagged_timeslices) {
  for (int kind = 0; kind < 3; ++kind) {
    ClusterOptions options;
    options.short_sources[1] = 20;
    if (kind == 1) options = with_offset(options);
    if (kind == 2) options = with_grants(options);
    Cluster cluster(options);
    ASSERT_TRUE(cluster.run()) << "kind " << kind << "\n" << cluster.describe();
    EXPECT_EQ(cluster.complaint(), "");
    ASSERT_EQ(cluster.built().size(), options.timeslices);
    for (const auto& [t, built] : cluster.built()) {
      EXPECT_EQ(built.times, 1u);
      EXPECT_EQ(built.flags, t < 20 ? 0u : bit(TimesliceFlag::missing_components)) << t;
    }
  }
}

TEST(stream, stop_ends_at_the_same_timeslice_everywhere) {
  for (int kind = 0; kind < 3; ++kind) {
    ClusterOptions options;
    options.open_end = true;
    if (kind == 1) options = with_offset(options);
    if (kind == 2) options = with_grants(options);
    Cluster cluster(options);
    for (int i = 0; i < 500; ++i) cluster.step();
    cluster.stop();
    ASSERT_TRUE(cluster.run()) << "kind " << kind << "\n" << cluster.describe();
    EXPECT_EQ(cluster.complaint(), "");
    std::uint64_t expected = 0;
    for (const auto& [t, built] : cluster.built()) {
      EXPECT_EQ(t, expected++);
      EXPECT_EQ(built.flags, 0u);
    }
    EXPECT_GT(expected, 10u);
  }
}

TEST(stream, timeslices_of_a_killed_compute_node_are_built_elsewhere) {
  for (int kind = 0; kind < 3; ++kind) {
    ClusterOptions options;
    options.timeslices = 200;
    if (kind == 1) options = with_offset(options);
    if (kind == 2) options = with_grants(options);
    Cluster cluster(options);
    for (int i = 0; i < 60; ++i) cluster.step();
    cluster.kill(options.roster.compute_node(1));
    ASSERT_TRUE(cluster.run()) << "kind " << kind << "\n" << cluster.describe();
    EXPECT_EQ(cluster.complaint(), "");
    ASSERT_EQ(cluster.built().size(), options.timeslices) << "kind " << kind;
    for (const auto& [t, built] : cluster.built()) {
      EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
      EXPECT_EQ(built.flags & bit(TimesliceFlag::missing_components), 0u) << "timeslice " << t;
    }
  }
}

TEST(stream, timeslices_without_a_killed_input_are_flagged_and_the_rest_goes_on) {
  for (const std::uint32_t victim : {0u, 2u}) {  // the leader, and not the leader
    ClusterOptions options = with_grants({});
    options.timeslices = 800;
    Cluster cluster(options);
    for (int i = 0; i < 60; ++i) cluster.step();
    cluster.kill(NodeId(victim));
    ASSERT_TRUE(cluster.run()) << "victim " << victim;
    EXPECT_EQ(cluster.complaint(), "");
    ASSERT_EQ(cluster.built().size(), options.timeslices);
    for (const auto& [t, built] : cluster.built()) {
      EXPECT_EQ(built.times, 1u);
      const bool missing = (built.flags & bit(TimesliceFlag::missing_components)) != 0;
      EXPECT_EQ(missing, built.components < options.roster.inputs) << "timeslice " << t;
    }
    EXPECT_EQ(cluster.built().rbegin()->second.components, options.roster.inputs - 1);
  }
}

TEST(stream, a_killed_compute_node_joins_again_and_takes_its_share) {
  ClusterOptions options = with_grants({});
  options.timeslices = 1600;
  Cluster cluster(options);
  const NodeId victim = options.roster.compute_node(0);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.kill(victim);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.restart(victim);
  ASSERT_TRUE(cluster.run());
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  EXPECT_GT(cluster.compute(0).counters().complete, 20u);
}

TEST(stream, a_killed_input_joins_again_and_contributes) {
  ClusterOptions options;
  options.timeslices = 1000;
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.kill(NodeId(1));
  for (int i = 0; i < 40; ++i) cluster.step();
  cluster.restart(NodeId(1));
  ASSERT_TRUE(cluster.run());
  EXPECT_EQ(cluster.complaint(), "");
  ASSERT_EQ(cluster.built().size(), options.timeslices);
  EXPECT_EQ(cluster.built().rbegin()->second.components, options.roster.inputs);
  EXPECT_EQ(cluster.built().rbegin()->second.flags, 0u);
}

TEST(stream, an_input_whose_source_ran_to_its_end_before_it_joined_again_contributes) {
  ClusterOptions options;
  options.ring_bytes = 8192;  // all of the source fits the input's buffer
  options.timeslices = 110;
  Cluster cluster(options);
  const NodeId slow = options.roster.compute_node(2);
  for (int i = 0; i < 10; ++i) cluster.step();
  cluster.kill(NodeId(1));
  for (int i = 0; i < 6; ++i) cluster.step();
  cluster.pause(slow, true);
  cluster.restart(NodeId(1));
  for (int i = 0; i < 100; ++i) cluster.step();
  ASSERT_GT(cluster.input(1).view().number, 0u) << "the leader tells it before it is a member";
  cluster.pause(slow, false);
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  ASSERT_EQ(cluster.built().size(), options.timeslices);
  const std::uint64_t joined = cluster.input(1).view().first.value();
  ASSERT_LT(joined, options.timeslices);
  for (std::uint64_t t = joined; t < options.timeslices; ++t) {
    EXPECT_EQ(cluster.built().at(t).components, options.roster.inputs) << "timeslice " << t;
  }
}

TEST(stream, a_contribution_larger_than_a_fabric_writes_at_once_is_an_error) {
  ClusterOptions options;
  options.largest_contribution = 531;  // the first microslice: 32 bytes and 500
  Cluster cluster(options);
  for (int i = 0; i < 100; ++i) cluster.step();
  ASSERT_TRUE(cluster.input(0).failure());
  EXPECT_NE(cluster.input(0).failure()->message.find("532 bytes is more than the 531"),
            std::string::npos)
      << cluster.input(0).failure()->message;
}

TEST(stream, a_compute_node_that_only_lost_a_connection_starts_afresh) {
  ClusterOptions options = with_grants({});
  options.timeslices = 300;
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.break_connection(NodeId(2), options.roster.compute_node(1));
  ASSERT_TRUE(cluster.run());
  EXPECT_EQ(cluster.complaint(), "");
  ASSERT_EQ(cluster.built().size(), options.timeslices);
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
  }
}

TEST(stream, a_timeslice_given_up_is_delivered_flagged_and_late_contributions_are_counted) {
  ClusterOptions options;
  options.give_up_after = Duration::microseconds(40);
  options.timeslices = 400;
  Cluster cluster(options);
  for (int i = 0; i < 30; ++i) cluster.step();
  cluster.pause(NodeId(1), true);
  for (int i = 0; i < 200; ++i) cluster.step();
  cluster.pause(NodeId(1), false);
  ASSERT_TRUE(cluster.run());
  EXPECT_EQ(cluster.complaint(), "");
  ASSERT_EQ(cluster.built().size(), options.timeslices);
  std::uint64_t late = 0;
  for (const auto& [t, built] : cluster.built()) {
    const bool missing = (built.flags & bit(TimesliceFlag::missing_components)) != 0;
    EXPECT_EQ(missing, (built.flags & bit(TimesliceFlag::late)) != 0) << "timeslice " << t;
    late += missing;
  }
  EXPECT_GT(late, 0u);
}

TEST(stream, timeslices_given_up_that_die_with_their_sink_are_built_again) {
  for (const int before : {5, 30}) {
    for (const std::uint32_t victim : {0u, 1u, 2u}) {
      SCOPED_TRACE(fmt::format("compute {} after {} steps", victim, before));
      ClusterOptions options;
      options.give_up_after = Duration::microseconds(40);
      options.timeslices = 400;
      Cluster cluster(options);
      for (int i = 0; i < before; ++i) cluster.step();
      cluster.slow_sink(1'000'000);
      cluster.pause(NodeId(1), true);
      for (int i = 0; i < 60; ++i) cluster.step();
      cluster.pause(NodeId(1), false);
      for (int i = 0; i < 10; ++i) cluster.step();
      cluster.kill(options.roster.compute_node(victim));
      cluster.slow_sink(1);
      ASSERT_TRUE(cluster.run()) << cluster.describe();
      // The last ones are with the sinks yet.
      for (std::uint64_t i = 0; i < options.timeslices - 20; ++i) {
        EXPECT_TRUE(cluster.consumed().contains(i)) << "timeslice " << i;
      }
    }
  }
}

/// docs/architecture.md, Partitions, names this exception: nobody who takes part in the second
/// delivery had sent anything to the compute node that gave up.
TEST(stream, a_timeslice_given_up_that_dies_with_all_who_had_sent_is_repeated_without_a_flag) {
  for (const bool senders_die : {false, true}) {
    ClusterOptions options;
    options.give_up_after = Duration::microseconds(40);
    options.timeslices = 200;
    Cluster cluster(options);
    for (int i = 0; i < 30; ++i) cluster.step();
    cluster.slow_sink(1'000'000);
    for (const std::uint32_t late : {1u, 2u}) cluster.pause(NodeId(late), true);
    for (int i = 0; i < 60; ++i) cluster.step();
    cluster.kill(options.roster.compute_node(0));
    if (senders_die) cluster.kill(NodeId(0));
    for (const std::uint32_t late : {1u, 2u}) cluster.pause(NodeId(late), false);
    cluster.slow_sink(1);
    ASSERT_TRUE(cluster.run()) << cluster.describe();
    std::size_t twice = 0, unflagged = 0;
    for (const auto& [t, built] : cluster.built()) {
      twice += built.times > 1 ? 1 : 0;
      unflagged += built.times > built.repeated + 1 ? 1 : 0;
    }
    EXPECT_GT(twice, 0u);
    EXPECT_EQ(unflagged > 0, senders_die);
  }
}

TEST(stream, grants_go_on_after_timeslices_were_given_up) {
  ClusterOptions options = with_grants({});
  options.give_up_after = Duration::microseconds(40);
  options.timeslices = 400;
  Cluster cluster(options);
  for (int i = 0; i < 30; ++i) cluster.step();
  cluster.pause(NodeId(1), true);
  for (int i = 0; i < 200; ++i) cluster.step();
  cluster.pause(NodeId(1), false);
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
}

TEST(stream, an_input_that_was_stopped_for_long_skips_to_the_present) {
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE(fmt::format("kind {}", kind));
    ClusterOptions options;
    options.give_up_after = Duration::microseconds(40);
    options.timeslices = 6000;
    if (kind == 1) options = with_offset(options);
    if (kind == 2) options = with_grants(options);
    Cluster cluster(options);
    for (int i = 0; i < 30; ++i) cluster.step();
    cluster.pause(NodeId(1), true);
    for (int i = 0; i < 1000; ++i) cluster.step();
    const std::size_t before = cluster.built().size();
    for (int i = 0; i < 1000; ++i) cluster.step();
    EXPECT_GT(cluster.built().size(), before + 50) << "the others do not go on\n"
                                                   << cluster.describe();
    for (std::uint32_t c = 0; c < options.roster.computes; ++c) {
      EXPECT_LE(cluster.compute(c).building(), options.roster.inputs * options.descriptors);
    }
    const std::uint64_t resumed = cluster.built().rbegin()->first;
    cluster.pause(NodeId(1), false);
    ASSERT_TRUE(cluster.run()) << cluster.describe();
    EXPECT_EQ(cluster.complaint(), "");
    ASSERT_EQ(cluster.built().size(), options.timeslices);
    // Timeslices that had begun when it woke up may still come out without it.
    for (std::uint64_t t = resumed + 100; t < options.timeslices; ++t) {
      ASSERT_EQ(cluster.built().at(t).flags, 0u) << "timeslice " << t;
    }
  }
}

TEST(stream, a_node_that_does_not_answer_the_leader_is_left_out_of_the_view) {
  ClusterOptions options = with_grants({});
  options.timeslices = 300;
  options.promise_timeout = Duration::microseconds(300);
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.pause(options.roster.compute_node(1), true);
  cluster.kill(NodeId(2));  // a new view is needed, and the paused node does not promise
  for (int i = 0; i < 3000; ++i) cluster.step();
  cluster.kill(options.roster.compute_node(1));
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  EXPECT_EQ(cluster.input(0).consumed(), TimesliceIndex(options.timeslices));
}

TEST(stream, a_node_that_was_left_out_for_its_silence_is_taken_in_when_it_speaks) {
  for (const std::uint32_t victim : {1u, 4u}) {  // an input and a compute node
    ClusterOptions options = with_grants({});
    options.timeslices = 4000;
    options.promise_timeout = Duration::microseconds(300);
    Cluster cluster(options);
    for (int i = 0; i < 60; ++i) cluster.step();
    cluster.pause(NodeId(victim), true);
    cluster.kill(NodeId(2));  // a new view is needed, and the paused node does not promise
    for (int i = 0; i < 500; ++i) cluster.step();
    const View& view = cluster.input(0).view();
    ASSERT_EQ(view.inputs.count() + view.computes.count(), 4u) << "victim " << victim;
    cluster.pause(NodeId(victim), false);  // its connections were there all the time
    for (int i = 0; i < 100; ++i) cluster.step();
    EXPECT_EQ(view.inputs.count() + view.computes.count(), 5u) << "victim " << victim;
    ASSERT_TRUE(cluster.run(100'000)) << cluster.describe();
    EXPECT_EQ(cluster.complaint(), "");
    EXPECT_EQ(cluster.built().size(), options.timeslices);
  }
}

TEST(stream, a_leader_that_dies_asking_does_not_stop_the_next_one_with_a_lower_number) {
  ClusterOptions options = with_grants({});
  options.timeslices = 400;
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  // Nobody can answer the leader's questions while a compute node is paused; each further one has a
  // higher number.
  const NodeId paused = options.roster.compute_node(2);
  cluster.pause(paused, true);
  for (int i = 0; i < 5; ++i) {
    cluster.break_connection(NodeId(0), options.roster.compute_node(0));
    for (int k = 0; k < 20; ++k) cluster.step();
  }
  cluster.kill(NodeId(0));
  for (int i = 0; i < 50; ++i) cluster.step();
  cluster.pause(paused, false);
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
}

TEST(stream, an_input_node_that_others_went_on_without_catches_up_with_them) {
  ClusterOptions options;
  options.timeslices = 600;
  options.give_up_after = Duration::microseconds(20);
  options.promise_timeout = Duration::microseconds(100);
  Cluster cluster(options);
  for (int i = 0; i < 30; ++i) cluster.step();
  cluster.pause(NodeId(1), true);
  for (int i = 0; i < 200; ++i) cluster.step();  // more is given up than its buffer holds
  cluster.break_connection(NodeId(1), options.roster.compute_node(0));
  cluster.break_connection(NodeId(1), NodeId(0));
  cluster.pause(NodeId(1), false);
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  EXPECT_EQ(cluster.built().rbegin()->second.components, options.roster.inputs);
}

TEST(stream, a_compute_node_that_is_stopped_is_put_out_of_the_view_and_joins_again) {
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE(fmt::format("kind {}", kind));
    ClusterOptions options;
    options.timeslices = 4000;
    options.stall_timeout = Duration::microseconds(400);
    options.promise_timeout = Duration::microseconds(300);
    if (kind == 1) options = with_offset(options);
    if (kind == 2) options = with_grants(options);
    Cluster cluster(options);
    const NodeId stopped = options.roster.compute_node(1);
    for (int i = 0; i < 60; ++i) cluster.step();
    cluster.pause(stopped, true);
    for (int i = 0; i < 1200; ++i) cluster.step();
    const std::size_t before = cluster.built().size();
    for (int i = 0; i < 300; ++i) cluster.step();
    EXPECT_GT(cluster.built().size(), before + 50) << "the stream stands\n" << cluster.describe();
    EXPECT_EQ(cluster.input(0).view().computes.count(), 2u);
    cluster.pause(stopped, false);
    for (int i = 0; i < 100; ++i) cluster.step();
    EXPECT_EQ(cluster.input(0).view().computes.count(), 3u) << "it joins again";
    ASSERT_TRUE(cluster.run()) << cluster.describe();
    EXPECT_EQ(cluster.complaint(), "");
    ASSERT_EQ(cluster.built().size(), options.timeslices);
    for (const auto& [t, built] : cluster.built()) {
      EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
    }
  }
}

TEST(stream, a_compute_node_that_is_stopped_before_it_says_bye_is_not_waited_for) {
  ClusterOptions options;
  options.stall_timeout = Duration::microseconds(400);
  options.promise_timeout = Duration::microseconds(300);
  Cluster whole(options);
  ASSERT_TRUE(whole.run());
  const int end = static_cast<int>(whole.steps());
  for (int stopped_at = end - 10; stopped_at <= end; ++stopped_at) {
    SCOPED_TRACE(fmt::format("stopped at {} of {}", stopped_at, end));
    Cluster cluster(options);
    for (int i = 0; i < stopped_at; ++i) cluster.step();
    cluster.pause(options.roster.compute_node(1), true);
    for (int i = 0; i < 3000; ++i) cluster.step();
    for (std::uint32_t i = 0; i < options.roster.inputs; ++i) {
      EXPECT_TRUE(cluster.input(i).finished()) << cluster.describe();
    }
  }
}

TEST(stream, a_compute_node_whose_sink_is_slow_stays_in_the_view) {
  ClusterOptions options;
  options.stall_timeout = Duration::microseconds(400);
  options.promise_timeout = Duration::microseconds(300);
  options.timeslices = 100;
  Cluster cluster(options);
  cluster.slow_sink(1500);
  ASSERT_TRUE(cluster.run(200'000)) << cluster.describe();
  expect_all_complete(cluster, options);
}

// Kills, restarts, pauses and broken connections drawn from the seed; every timeslice must come
// out, and more than once only with the flag that says so.
class stream_faults : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(stream_faults, nothing_is_lost_and_nothing_is_repeated_silently) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE(fmt::format("rerun: core_stream_test --gtest_filter=*stream_faults*/{}", seed));
  Rng rng(seed);
  ClusterOptions options;
  options.seed = seed;
  options.roster = {2 + static_cast<std::uint32_t>(rng.below(3)),
                    2 + static_cast<std::uint32_t>(rng.below(3))};
  options.timeslices = 300;
  options.microslice_bytes = 200 + rng.below(1500);
  const auto kind = rng.below(3);
  if (kind == 1) options = with_offset(options);
  if (kind == 2) options = with_grants(options);
  Cluster cluster(options);
  std::set<std::uint32_t> dead;
  for (int event = 0; event < 6; ++event) {
    const auto steps = rng.below(80);
    for (std::uint64_t i = 0; i < steps; ++i) cluster.step();
    // One input and one compute node stay, as the job could not go on without.
    const auto victim = static_cast<std::uint32_t>(rng.below(options.roster.nodes()));
    if (victim == options.roster.inputs - 1 || victim == options.roster.nodes() - 1) continue;
    if (dead.count(victim) != 0) {
      cluster.restart(NodeId(victim));
      dead.erase(victim);
      continue;
    }
    switch (rng.below(3)) {
      case 0:
        cluster.kill(NodeId(victim));
        dead.insert(victim);
        break;
      case 1:
        cluster.pause(NodeId(victim), true);
        for (std::uint64_t i = rng.below(100); i > 0; --i) cluster.step();
        cluster.pause(NodeId(victim), false);
        break;
      default:
        cluster.break_connection(
            NodeId(static_cast<std::uint32_t>(rng.below(options.roster.inputs))),
            options.roster.compute_node(
                static_cast<std::uint32_t>(rng.below(options.roster.computes))));
    }
  }
  ASSERT_TRUE(cluster.run()) << "the job hangs\n" << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  for (std::uint64_t t = 0; t < options.timeslices; ++t) {
    EXPECT_EQ(cluster.built().count(t), 1u) << "timeslice " << t << " is lost\n"
                                            << cluster.describe();
  }
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
    EXPECT_EQ((built.flags & bit(TimesliceFlag::missing_components)) != 0,
              built.components < options.roster.inputs)
        << "timeslice " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, stream_faults, ::testing::Range<std::uint64_t>(0, 300),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace weft::stream::testing

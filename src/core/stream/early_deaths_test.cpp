// SPDX-License-Identifier: Apache-2.0
// Nodes that die and begin anew while the first view is agreed on: before it, during it, and when
// only some know it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/stream/cluster_for_test.hpp"

namespace weft::stream::testing {
namespace {

ClusterOptions job(Roster roster) {
  ClusterOptions options{.roster = roster};
  options.promise_timeout = Duration::microseconds(300);
  return options;
}

/// As many as the environment says, for a long search.
std::uint64_t seeds() {
  const char* const text = std::getenv("WEFT_TEST_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 200;
}

void expect_whole(Cluster& cluster, const ClusterOptions& options) {
  ASSERT_TRUE(cluster.run()) << "the job hangs\n" << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  for (const auto& [t, built] : cluster.built()) {
    ASSERT_LE(built.times, built.repeated + 1) << "timeslice " << t;
  }
}

TEST(early_deaths, of_any_one_node_delay_the_stream_and_no_more) {
  for (const Roster roster : {Roster{1, 1}, Roster{1, 2}, Roster{2, 2}, Roster{3, 1}}) {
    for (std::uint32_t victim = 0; victim < roster.nodes(); ++victim) {
      for (int dies_at = 0; dies_at < 30; ++dies_at) {
        for (const int dead_for : {0, 1, 10}) {
          SCOPED_TRACE(fmt::format("node {} of {} + {} dies at {}, for {}", victim, roster.inputs,
                                   roster.computes, dies_at, dead_for));
          ClusterOptions options = job(roster);
          options.majority_only = dies_at % 2 == 0;
          Cluster cluster(options);
          for (int i = 0; i < dies_at; ++i) cluster.step();
          cluster.kill(NodeId(victim));
          for (int i = 0; i < dead_for; ++i) cluster.step();
          cluster.restart(NodeId(victim));
          expect_whole(cluster, options);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(early_deaths, before_anybody_met_anybody_cost_no_flag) {
  const ClusterOptions options = job({3, 2});
  Cluster cluster(options);
  cluster.kill(NodeId(0));
  cluster.restart(NodeId(0));
  expect_whole(cluster, options);
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_EQ(built.times, 1u) << "timeslice " << t;
    EXPECT_EQ(built.flags, 0u) << "timeslice " << t;
  }
}

TEST(early_deaths, of_all_inputs_and_a_compute_node_leave_a_stream_that_is_flagged) {
  ClusterOptions options = job({2, 2});
  Cluster cluster(options);
  for (const std::uint32_t node : {0u, 1u, 2u}) cluster.kill(NodeId(node));
  for (const std::uint32_t node : {0u, 1u, 2u}) cluster.restart(NodeId(node));
  expect_whole(cluster, options);
  // They may have formed a view, and delivered timeslices that nobody remembers.
  EXPECT_TRUE(cluster.input(0).view().unsure);
  for (const auto& [t, built] : cluster.built()) EXPECT_EQ(built.repeated, 1u) << t;
}

TEST(early_deaths, of_the_only_input_leave_it_to_its_new_life_to_tell_what_was_built_before) {
  const ClusterOptions options = job({1, 1});
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  ASSERT_GT(cluster.built().size(), 2u);
  cluster.kill(NodeId(0));
  cluster.restart(NodeId(0));
  expect_whole(cluster, options);
  std::set<std::uint64_t> told;
  for (const BuiltBy& b : cluster.input(0).built_by()) {
    for (std::uint64_t i = 0; i < b.run.count; ++i) {
      told.insert(b.run.first.value() + i * b.run.stride);
    }
  }
  EXPECT_EQ(told.size(), options.timeslices);
}

// A new life of the only input node meets one compute node before the other, which has delivered
// timeslices that are then built again.
TEST(early_deaths, of_the_only_input_repeat_nothing_silently_whichever_node_it_meets_first) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (int dies_at = 20; dies_at < 120; dies_at += 5) {
      for (const std::uint32_t late : {1u, 2u}) {
        SCOPED_TRACE(fmt::format("seed {}, dies at {}, node {} is late", seed, dies_at, late));
        ClusterOptions options = with_offset(job({1, 2}));
        options.seed = seed;
        Cluster cluster(options);
        for (int i = 0; i < dies_at; ++i) cluster.step();
        cluster.kill(NodeId(0));
        cluster.separate({{0, 3 - late}, {late}});
        cluster.restart(NodeId(0));
        for (std::uint64_t i = 0; i < 20 + seed; ++i) cluster.step();
        cluster.reunite();
        expect_whole(cluster, options);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Deaths, new lives, broken connections and partitions in the first steps, drawn from the seed.
class stream_early_lives : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(stream_early_lives, nothing_is_lost_and_nothing_is_repeated_silently) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE(fmt::format("rerun: core_stream_test --gtest_filter=*stream_early_lives*/{}", seed));
  Rng rng(seed);
  ClusterOptions options = job(
      {1 + static_cast<std::uint32_t>(rng.below(4)), 1 + static_cast<std::uint32_t>(rng.below(4))});
  options.seed = seed;
  options.majority_only = rng.below(2) == 0;
  if (rng.below(3) == 1) options = with_grants(options);
  Cluster cluster(options);
  const auto any = [&] {
    return NodeId(static_cast<std::uint32_t>(rng.below(options.roster.nodes())));
  };
  const auto steps = [&](std::uint64_t most) {
    for (std::uint64_t i = rng.below(most); i > 0; --i) cluster.step();
  };
  std::set<std::uint32_t> dead;
  for (std::uint64_t event = 2 + rng.below(5); event > 0; --event) {
    steps(12);
    const NodeId node = any();
    switch (rng.below(6)) {
      case 0: {
        std::vector<std::vector<std::uint32_t>> groups(2);
        for (std::uint32_t n = 0; n < options.roster.nodes(); ++n) {
          groups[rng.below(2)].push_back(n);
        }
        cluster.reunite();
        cluster.separate(groups);
        steps(rng.below(4) == 0 ? 800 : 30);
        break;
      }
      case 1:
        if (const NodeId other = any(); other != node && dead.empty()) {
          cluster.break_connection(node, other);
        }
        break;
      default:
        cluster.kill(node);
        dead.insert(node.value());
    }
    steps(8);
    // Most begin anew soon, the others together with the next ones.
    for (const std::uint32_t n : dead) {
      if (rng.below(4) != 0) cluster.restart(NodeId(n));
    }
    std::erase_if(dead, [&](std::uint32_t n) { return cluster.lives(NodeId(n)); });
  }
  for (const std::uint32_t n : dead) cluster.restart(NodeId(n));
  cluster.reunite();
  expect_whole(cluster, options);
}

INSTANTIATE_TEST_SUITE_P(seeds, stream_early_lives, ::testing::Range<std::uint64_t>(0, seeds()),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace weft::stream::testing

// SPDX-License-Identifier: Apache-2.0
// Jobs whose network falls apart, with and without a quorum.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/stream/cluster_for_test.hpp"

namespace weft::stream::testing {
namespace {

using Groups = std::vector<std::vector<std::uint32_t>>;

/// Inputs 0 … 3, compute nodes 4 … 7.
ClusterOptions four_by_four() {
  ClusterOptions options = with_grants({.roster = {.inputs = 4, .computes = 4}});
  options.timeslices = 2000;
  options.promise_timeout = Duration::microseconds(300);
  return options;
}

TEST(stream, only_the_part_with_a_majority_of_the_input_nodes_goes_on) {
  struct Split {
    Groups groups;
    std::uint32_t goes_on, waits;  // an input node of each
  };
  const Split splits[] = {{{{0, 1, 4, 5}, {2, 3, 6, 7}}, 0, 2},
                          {{{0, 4, 5}, {1, 2, 3, 6, 7}}, 1, 0},
                          {{{0, 2, 3, 4}, {1, 5, 6, 7}}, 0, 1}};
  for (const Split& split : splits) {
    SCOPED_TRACE(fmt::format("input {} goes on", split.goes_on));
    ClusterOptions options = four_by_four();
    options.majority_only = true;
    options.timeslices = 8000;
    Cluster cluster(options);
    for (int i = 0; i < 60; ++i) cluster.step();
    cluster.separate(split.groups);
    for (int i = 0; i < 600; ++i) cluster.step();
    const TimesliceIndex consumed = cluster.input(split.goes_on).consumed();
    const TimesliceIndex stood = cluster.input(split.waits).consumed();
    EXPECT_TRUE(cluster.input(split.waits).waits_for_majority());
    EXPECT_FALSE(cluster.input(split.goes_on).waits_for_majority());
    for (int i = 0; i < 200; ++i) cluster.step();
    EXPECT_GT(cluster.input(split.goes_on).consumed(), consumed);
    EXPECT_EQ(cluster.input(split.waits).consumed(), stood);
    cluster.reunite();
    for (int i = 0; i < 100; ++i) cluster.step();
    EXPECT_EQ(cluster.input(0).view().inputs.count(), 4u) << cluster.describe();
    EXPECT_FALSE(cluster.input(split.waits).waits_for_majority());
    ASSERT_TRUE(cluster.run()) << cluster.describe();
    EXPECT_EQ(cluster.complaint(), "");
    ASSERT_EQ(cluster.built().size(), options.timeslices);
    for (const auto& [t, built] : cluster.built()) {
      EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
    }
    EXPECT_EQ(cluster.built().rbegin()->second.components, 4u);
    EXPECT_EQ(cluster.built().rbegin()->second.flags, 0u);
  }
}

TEST(stream, without_a_quorum_no_half_builds_first_and_silently_what_the_other_does) {
  ClusterOptions options = four_by_four();
  options.timeslices = 4 * options.timeslices;  // they last beyond the reunion
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.separate({{0, 1, 4, 5}, {2, 3, 6, 7}});
  for (int i = 0; i < 800; ++i) cluster.step();
  cluster.reunite();
  for (int i = 0; i < 100; ++i) cluster.step();
  EXPECT_EQ(cluster.input(0).view().inputs.count(), 4u) << cluster.describe();
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  ASSERT_EQ(cluster.built().size(), options.timeslices);
  std::uint64_t twice = 0;
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
    twice += built.times > 1;
  }
  EXPECT_GT(twice, 50u) << "both halves went on";
  EXPECT_EQ(cluster.built().rbegin()->second.flags, 0u) << "flagged for ever";
}

/// Three inputs, and an input node of the majority that begins anew beside the third one.
class stream_with_two_majorities : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(quorum, stream_with_two_majorities, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "majority" : "none"; });

TEST_P(stream_with_two_majorities, an_input_that_forgot_the_first_builds_nothing_silently_again) {
  ClusterOptions options = with_grants({.roster = {.inputs = 3, .computes = 4}});
  options.promise_timeout = Duration::microseconds(300);
  options.majority_only = GetParam();
  options.timeslices = 6000;
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.separate({{0, 1, 3, 4}, {2, 5, 6}});
  for (int i = 0; i < 300; ++i) cluster.step();
  cluster.kill(NodeId(1));
  for (int i = 0; i < 50; ++i) cluster.step();
  cluster.separate({{0, 3, 4}, {1, 2, 5, 6}});
  cluster.restart(NodeId(1));
  for (int i = 0; i < 600; ++i) cluster.step();
  EXPECT_TRUE(cluster.input(2).view().unsure) << cluster.describe();
  EXPECT_GT(cluster.input(2).consumed(), TimesliceIndex(100)) << "nobody goes on";
  cluster.reunite();
  for (int i = 0; i < 100; ++i) cluster.step();
  EXPECT_EQ(cluster.input(0).view().inputs.count(), 3u) << cluster.describe();
  EXPECT_FALSE(cluster.input(0).view().unsure) << "input 0 remembers";
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  ASSERT_EQ(cluster.built().size(), options.timeslices);
  std::uint64_t twice = 0;
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
    twice += built.times > 1;
  }
  EXPECT_GT(twice, 20u) << "both parts went on";
  EXPECT_EQ(cluster.built().rbegin()->second.flags, 0u) << "flagged for ever";
}

TEST(stream, an_input_that_begins_anew_is_believed_when_all_compute_nodes_remember) {
  ClusterOptions options = with_grants({.roster = {.inputs = 2, .computes = 2}});
  options.promise_timeout = Duration::microseconds(300);
  options.majority_only = true;
  options.timeslices = 2000;
  Cluster cluster(options);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.kill(NodeId(0));
  for (int i = 0; i < 50; ++i) cluster.step();
  EXPECT_TRUE(cluster.input(1).waits_for_majority());
  cluster.restart(NodeId(0));
  for (int i = 0; i < 100; ++i) cluster.step();
  EXPECT_EQ(cluster.input(1).view().inputs.count(), 2u) << cluster.describe();
  EXPECT_FALSE(cluster.input(1).view().unsure);
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  EXPECT_EQ(cluster.built().rbegin()->second.flags, 0u);
}

// Partitions drawn from the seed, with and without a quorum, one after the other.
class stream_partitions : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(stream_partitions, nothing_is_lost_and_nothing_is_repeated_silently) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE(fmt::format("rerun: core_stream_test --gtest_filter=*stream_partitions*/{}", seed));
  Rng rng(seed);
  ClusterOptions options = four_by_four();
  options.seed = seed;
  options.majority_only = rng.below(2) == 0;
  options.timeslices = 600;
  const auto kind = rng.below(3);
  if (kind == 1) options = with_offset(options);
  Cluster cluster(options);
  for (int event = 0; event < 4; ++event) {
    for (std::uint64_t i = rng.below(100); i > 0; --i) cluster.step();
    Groups groups(2 + rng.below(2));
    for (std::uint32_t n = 0; n < options.roster.nodes(); ++n) {
      groups[rng.below(groups.size())].push_back(n);
    }
    cluster.separate(groups);
    for (std::uint64_t i = rng.below(400); i > 0; --i) cluster.step();
    cluster.reunite();
  }
  ASSERT_TRUE(cluster.run()) << "the job hangs\n" << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, stream_partitions, ::testing::Range<std::uint64_t>(0, 100),
                         [](const auto& info) { return std::to_string(info.param); });

/// As many as the environment says, for a long search.
std::uint64_t seeds_of_lives() {
  const char* const text = std::getenv("WEFT_TEST_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 100;
}

// Partitions in which nodes die and begin anew on any side, drawn from the seed.
class stream_lives_in_partitions : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(stream_lives_in_partitions, nothing_is_lost_and_nothing_is_repeated_silently) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE(
      fmt::format("rerun: core_stream_test --gtest_filter=*stream_lives_in_partitions*/{}", seed));
  Rng rng(seed);
  const auto inputs = 2 + static_cast<std::uint32_t>(rng.below(4));
  ClusterOptions options = with_grants({.roster = {.inputs = inputs, .computes = 4}});
  options.promise_timeout = Duration::microseconds(300);
  options.seed = seed;
  options.majority_only = rng.below(2) == 0;
  options.timeslices = 600;
  if (rng.below(3) == 1) options = with_offset(options);
  Cluster cluster(options);
  const auto steps = [&](std::uint64_t most) {
    for (std::uint64_t i = rng.below(most); i > 0; --i) cluster.step();
  };
  const auto separate = [&](std::uint64_t parts) {
    Groups groups(parts);
    for (std::uint32_t n = 0; n < options.roster.nodes(); ++n) {
      groups[rng.below(parts)].push_back(n);
    }
    cluster.reunite();
    cluster.separate(groups);
  };
  for (int i = 0; i < 60; ++i) cluster.step();
  for (int event = 0; event < 3; ++event) {
    steps(60);
    separate(2);
    steps(300);
    // Two of three times an input node.
    const auto victims = rng.below(3) == 0 ? options.roster.nodes() : options.roster.inputs;
    const NodeId victim(static_cast<std::uint32_t>(rng.below(victims)));
    cluster.kill(victim);
    steps(60);
    if (rng.below(2) == 0) separate(2);  // it begins anew on another side, perhaps
    cluster.restart(victim);
    steps(300);
    cluster.reunite();
    steps(400);
  }
  ASSERT_TRUE(cluster.run()) << "the job hangs\n" << cluster.describe();
  EXPECT_EQ(cluster.complaint(), "");
  EXPECT_EQ(cluster.built().size(), options.timeslices);
  for (const auto& [t, built] : cluster.built()) {
    EXPECT_LE(built.times, built.repeated + 1) << "timeslice " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, stream_lives_in_partitions,
                         ::testing::Range<std::uint64_t>(0, seeds_of_lives()),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace weft::stream::testing

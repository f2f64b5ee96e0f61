// SPDX-License-Identifier: Apache-2.0
// Jobs whose network falls apart, with and without a quorum.
#include <fmt/format.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft::stream::testing

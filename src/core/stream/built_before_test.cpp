// SPDX-License-Identifier: Apache-2.0
#include "core/stream/built_before.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/stream/cluster_for_test.hpp"

namespace weft::stream::testing {
namespace {

std::set<std::uint64_t> timeslices_of(const std::vector<BuiltBy>& built) {
  std::set<std::uint64_t> all;
  for (const BuiltBy& b : built) {
    for (std::uint64_t i = 0; i < b.run.count; ++i)
      all.insert(b.run.first.value() + i * b.run.stride);
  }
  return all;
}

TEST(built_before, of_any_number_of_views_forgets_who_built_and_not_what_was_built) {
  constexpr std::uint64_t views = 1000, per_view = 10;
  BuiltBefore built(2, 8);
  for (std::uint64_t v = 0; v < views; ++v) {
    // Node 0 is five timeslices further than node 1, which ends the view.
    const TimesliceIndex first(v * per_view);
    built.add({0, {first, 2, per_view / 2 + 2}});
    built.add({1, {first.plus(1), 2, per_view / 2}});
    built.bound(first.plus(per_view));
    ASSERT_LE(built.runs().size(), 8u + 2) << "view " << v;
  }
  std::set<std::uint64_t> expected;
  for (std::uint64_t t = 0; t < views * per_view; ++t) expected.insert(t);
  expected.insert({views * per_view, views * per_view + 2});
  EXPECT_EQ(timeslices_of(built.runs()), expected);
  EXPECT_EQ(built.runs().front().compute, 0u);
  EXPECT_GE(built.runs().front().run.first.value(), (views - 4) * per_view) << "the newest stay";
}

TEST(built_before, of_views_without_a_timeslice_in_between_does_not_grow) {
  BuiltBefore built(2, 8);
  for (int view = 0; view < 1000; ++view) {
    built.add({1, {TimesliceIndex(101), 2, 3}});
    built.bound(TimesliceIndex(100));
    ASSERT_LE(built.runs().size(), 10u);
  }
}

TEST(built_before, of_a_stream_whose_nodes_restart_stays_bounded_and_knows_all_timeslices) {
  ClusterOptions options{.roster = {2, 2}};
  options.timeslices = 3000;
  options.promise_timeout = Duration::microseconds(300);
  options.most_built_before = 8;
  Cluster cluster(options);
  std::size_t most = 0;
  for (int life = 0; life < 40; ++life) {
    for (int i = 0; i < 40; ++i) cluster.step();
    cluster.kill(NodeId(3));
    for (int i = 0; i < 10; ++i) cluster.step();
    cluster.restart(NodeId(3));
    most = std::max(most, cluster.input(0).built_by().size());
  }
  ASSERT_TRUE(cluster.run()) << cluster.describe();
  EXPECT_GT(cluster.input(0).view().number, 40u) << "too few views to need a bound";
  EXPECT_LE(most, 8u + 8);
  EXPECT_EQ(timeslices_of(cluster.input(0).built_by()).size(), options.timeslices);
}

}  // namespace
}  // namespace weft::stream::testing

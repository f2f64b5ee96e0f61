// SPDX-License-Identifier: Apache-2.0
#include "core/stream/view_leader.hpp"

#include <gtest/gtest.h>

namespace weft::stream {
namespace {

constexpr Instant at(std::int64_t us) {
  return Instant(us * 1000);
}

TEST(view_leader, whoever_was_silent_and_connects_anew_while_nobody_else_is_there_is_asked_again) {
  const Roster roster{1, 1};
  const NodeId compute(1);
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::microseconds(100));
  leader.node_up(compute, Incarnation(1));
  const auto first = leader.propose(at(1), View{});
  ASSERT_TRUE(first);
  leader.on_promise(NodeId(0), {.number = first->number});
  leader.on_promise(compute, {.number = first->number});
  const auto view = leader.decide(View{});
  ASSERT_TRUE(view);
  leader.on_view(*view);

  leader.stop();
  ASSERT_TRUE(leader.propose(at(2), *view));
  leader.node_down(compute);
  EXPECT_FALSE(leader.propose(at(200), *view)) << "no compute node is there";
  leader.node_up(compute, Incarnation(1));
  EXPECT_TRUE(leader.propose(at(201), *view));
}

TEST(view_leader, does_not_leave_out_who_connected_anew_after_it_was_asked) {
  const Roster roster{1, 2};
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::microseconds(100));
  for (const std::uint32_t n : {1u, 2u}) leader.node_up(NodeId(n), Incarnation(1));
  ASSERT_TRUE(leader.propose(at(1), View{}));
  leader.on_promise(NodeId(0), {});
  // Down and up again: the question got lost. The other one is silent.
  leader.node_down(NodeId(1));
  leader.node_up(NodeId(1), Incarnation(1));
  const auto again = leader.propose(at(2), View{});
  ASSERT_TRUE(again) << "everybody starts afresh";
  leader.node_up(NodeId(1), Incarnation(1));
  const auto next = leader.propose(at(200), View{});
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->computes.contains(0));
  EXPECT_FALSE(next->computes.contains(1));
}

TEST(view_leader, asks_with_a_higher_number_when_told_of_one) {
  ViewLeader leader({2, 1}, 1, TimesliceIndex::max(), at(0), Duration::max());
  leader.node_up(NodeId(2), Incarnation(1));
  const auto first = leader.propose(at(1), View{});
  ASSERT_TRUE(first);
  EXPECT_FALSE(leader.propose(at(2), View{}));
  // Node 0 had asked with this one, and died.
  leader.on_promise(NodeId(2), {.number = first->number + 7});
  const auto second = leader.propose(at(3), View{});
  ASSERT_TRUE(second);
  EXPECT_GT(second->number, first->number + 7);
}

TEST(view_leader, keeps_promises_only_while_it_asks) {
  const Roster roster{2, 2};
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::microseconds(100));
  EXPECT_EQ(leader.promises_kept(), 0u);
  for (const std::uint32_t n : {1u, 2u, 3u}) leader.node_up(NodeId(n), Incarnation(1));
  leader.on_promise(NodeId(1), {.number = 7});  // to somebody else
  EXPECT_EQ(leader.promises_kept(), 0u);
  const auto asked = leader.propose(at(1), View{});
  ASSERT_TRUE(asked);
  for (const std::uint32_t n : {0u, 1u, 2u, 3u}) {
    leader.on_promise(NodeId(n), {.number = asked->number});
  }
  const auto view = leader.decide(View{});
  ASSERT_TRUE(view);
  leader.on_view(*view);
  EXPECT_EQ(leader.promises_kept(), 0u);
  // The next question begins with none, and so does one after silence.
  leader.stop();
  ASSERT_TRUE(leader.propose(at(2), *view));
  EXPECT_FALSE(leader.decide(*view));
  leader.node_down(NodeId(2));
  leader.node_down(NodeId(3));
  EXPECT_FALSE(leader.propose(at(500), *view)) << "no compute node is there";
  EXPECT_EQ(leader.promises_kept(), 0u);
}

}  // namespace
}  // namespace weft::stream

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

TEST(view_leader, does_not_wait_with_the_first_view_for_a_node_that_is_known_to_be_gone) {
  ViewLeader leader({2, 2}, 0, TimesliceIndex::max(), at(1000), Duration::max());
  for (const std::uint32_t n : {1u, 2u}) leader.node_up(NodeId(n), Incarnation(1));
  EXPECT_FALSE(leader.propose(at(1), View{})) << "node 3 may still come";
  leader.do_without(NodeId(3));
  const auto question = leader.propose(at(2), View{});
  ASSERT_TRUE(question);
  EXPECT_EQ(question->computes.count(), 1u);
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

/// Asks the leader's question, has all nodes promise, and lets the view come into force.
View agree(ViewLeader& leader, const Roster& roster, Instant now, const View& current) {
  const auto asked = leader.propose(now, current);
  if (!asked) return {};
  for (std::uint32_t n = 0; n < roster.nodes(); ++n) {
    Promise promise{.number = asked->number, .remembers = true, .takes_part = true};
    if (n >= roster.inputs) {
      promise.done.push_back({.compute = n - roster.inputs, .below = current.first});
    }
    leader.on_promise(NodeId(n), promise);
  }
  const View view = leader.decide(current).value_or(View{});
  leader.on_view(view);
  return view;
}

// A pause made a node late for the question of node 0. It answered that of node 1, and so did node
// 0. It leads again, and for ever took the other one for silent.
TEST(view_leader, asks_the_members_of_a_view_that_another_leader_formed_after_they_were_silent) {
  const Roster roster{2, 2};
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::microseconds(100));
  for (const std::uint32_t n : {1u, 2u, 3u}) leader.node_up(NodeId(n), Incarnation(1));
  View view = agree(leader, roster, at(1), View{});
  ASSERT_GT(view.number, 0u);
  leader.disturb();
  const auto first = leader.propose(at(2), view);
  ASSERT_TRUE(first);
  for (const std::uint32_t n : {0u, 1u, 3u}) {
    leader.on_promise(NodeId(n), {.number = first->number});
  }
  const auto without = leader.propose(at(500), view);
  ASSERT_TRUE(without && !without->computes.contains(0));
  view.number = without->number + 1;
  leader.on_view(view);
  leader.stop();
  const auto asked = leader.propose(at(501), view);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->inputs.count(), 2u);
  EXPECT_EQ(asked->computes.count(), 2u);
}

// All nodes had answered another leader, which died before its view came.
TEST(view_leader, asks_the_silent_again_when_there_is_no_view_without_them) {
  const Roster roster{3, 2};
  for (const bool majority_only : {false, true}) {
    ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::microseconds(100),
                      majority_only);
    for (const std::uint32_t n : {1u, 2u, 3u, 4u}) leader.node_up(NodeId(n), Incarnation(1));
    const auto first = leader.propose(at(1), View{});
    ASSERT_TRUE(first);
    // Those of both compute nodes are missing, or those of both other input nodes.
    for (const std::uint32_t n : {0u, majority_only ? 3u : 1u, majority_only ? 4u : 2u}) {
      leader.on_promise(NodeId(n), {.number = first->number});
    }
    const auto again = leader.propose(at(500), View{});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->inputs.count() + again->computes.count(), 5u);
    EXPECT_FALSE(leader.waits_for_majority());
  }
}

// An input node without a majority had formed a view with that compute node, and died.
TEST(view_leader, flags_what_a_compute_node_built_in_a_view_of_its_own) {
  const Roster roster{1, 2};
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::max());
  for (const std::uint32_t n : {1u, 2u}) leader.node_up(NodeId(n), Incarnation(1));
  View current{.number = 5, .inputs = IndexSet(1, true), .computes = IndexSet(2)};
  current.computes.insert(0);
  const auto asked = leader.propose(at(1), current);
  ASSERT_TRUE(asked);
  leader.on_promise(NodeId(0), {.number = asked->number, .remembers = true, .takes_part = true});
  leader.on_promise(NodeId(1), {.number = asked->number,
                                .done = {{.compute = 0, .below = {}}},
                                .remembers = true,
                                .takes_part = true});
  leader.on_promise(NodeId(2),
                    {.number = asked->number, .next = TimesliceIndex(24), .remembers = true});
  const auto view = leader.decide(current);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->repeated_below, TimesliceIndex(24));
}

TEST(view_leader, ends_the_stream_anew_when_another_view_replaces_the_one_that_ended_it) {
  const Roster roster{2, 2};
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::max());
  for (const std::uint32_t n : {1u, 2u, 3u}) leader.node_up(NodeId(n), Incarnation(1));
  View replaces = agree(leader, roster, at(1), View{});
  leader.stop();
  const View last = agree(leader, roster, at(2), replaces);
  ASSERT_NE(last.end, TimesliceIndex::max());
  EXPECT_FALSE(leader.propose(at(3), last));
  replaces.number = last.number + 1;
  leader.on_view(replaces);
  EXPECT_NE(agree(leader, roster, at(4), replaces).end, TimesliceIndex::max());
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

/// Nobody could count that far.
constexpr TimesliceIndex far_off(std::uint64_t more = 0) {
  return TimesliceIndex((std::uint64_t{1} << 40) + more);
}

TEST(view_leader, goes_on_after_a_view_of_any_length) {
  const Roster roster{1, 3};
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::max());
  for (const std::uint32_t n : {1u, 2u, 3u}) leader.node_up(NodeId(n), Incarnation(1));
  View current{.number = 5,
               .first = TimesliceIndex(1),
               .inputs = IndexSet(1, true),
               .computes = IndexSet(3, true)};
  leader.disturb();
  const auto anew = leader.propose(at(1), current);
  ASSERT_TRUE(anew);
  leader.on_promise(NodeId(0), {.number = anew->number, .remembers = true, .takes_part = true});
  // 2^40 - 1 is a multiple of 3: the timeslice 2^40 is compute node 0's.
  const TimesliceIndex below[] = {far_off(3), far_off(1), far_off(8)};
  for (std::uint32_t c = 0; c < 3; ++c) {
    leader.on_promise(NodeId(1 + c), {.number = anew->number,
                                      .done = {{.compute = c, .below = below[c]}},
                                      .remembers = true,
                                      .takes_part = true});
  }
  const auto view = leader.decide(current);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->first, far_off(1));
  EXPECT_EQ(view->done, (std::vector<std::uint64_t>{0b10010}));
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

TEST(view_leader, looks_at_the_nodes_only_after_something_happened) {
  const Roster roster{20, 30};
  ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::max());
  for (std::uint32_t n = 1; n < roster.nodes(); ++n) leader.node_up(NodeId(n), Incarnation(1));
  const auto asked = leader.propose(at(1), View{});
  ASSERT_TRUE(asked);
  for (std::uint32_t n = 0; n < roster.nodes(); ++n) {
    leader.on_promise(NodeId(n), {.number = asked->number, .remembers = true});
  }
  const auto view = leader.decide(View{});
  ASSERT_TRUE(view);
  leader.on_view(*view);
  EXPECT_FALSE(leader.propose(at(2), *view));
  const std::uint64_t looks = leader.nodes_looked_at();
  for (int turn = 0; turn < 1000; ++turn) EXPECT_FALSE(leader.propose(at(3 + turn), *view));
  EXPECT_EQ(leader.nodes_looked_at(), looks);
  leader.node_down(NodeId(7));
  EXPECT_TRUE(leader.propose(at(2000), *view));
}

TEST(view_leader, knows_when_nodes_that_forgot_may_have_formed_another_view) {
  // Three input nodes, 0 to 2, and two compute nodes. Input 0 is gone.
  struct Case {
    std::vector<std::uint32_t> remember, forgot;
    bool unsure;
  };
  const Case cases[] = {{{1, 2, 3}, {}, false},
                        {{2, 3}, {1}, true},
                        {{2, 3, 4}, {1}, false},  // a view has a compute node
                        {{1, 2}, {3}, false}};
  for (const Case& c : cases) {
    const Roster roster{3, 2};
    ViewLeader leader(roster, 2, TimesliceIndex::max(), at(0), Duration::max());
    View current{.number = 5, .inputs = IndexSet(3), .computes = IndexSet(2)};
    for (const std::uint32_t i : {0u, 1u, 2u}) current.inputs.insert(i);
    for (const std::uint32_t i : {0u, 1u}) current.computes.insert(i);
    for (const auto& nodes : {c.remember, c.forgot}) {
      for (const std::uint32_t n : nodes) leader.node_up(NodeId(n), Incarnation(1));
    }
    const auto answer = [&](const Prepare& asked) {
      for (const std::uint32_t n : c.remember) {
        Promise promise{.number = asked.number, .next = {}, .done = {}, .remembers = true};
        if (n >= 3) promise.done.push_back({.compute = n - 3, .below = {}});
        leader.on_promise(NodeId(n), promise);
      }
      for (const std::uint32_t n : c.forgot) leader.on_promise(NodeId(n), {.number = asked.number});
    };
    auto asked = leader.propose(at(1), current);
    ASSERT_TRUE(asked);
    answer(*asked);
    auto view = leader.decide(current);
    const bool compute_forgot = c.forgot == std::vector<std::uint32_t>{3};
    ASSERT_EQ(!view, compute_forgot) << "input nodes have to say what that one did";
    if (compute_forgot) {
      asked = leader.propose(at(2), current);
      ASSERT_TRUE(asked && asked->forgotten.contains(0));
      answer(*asked);
      view = leader.decide(current);
    }
    ASSERT_TRUE(view);
    EXPECT_EQ(view->unsure, c.unsure) << &c - cases;
  }
}

// Input 1 knew what a compute node had handed over that the view forgot. It promised another view
// before this one came, so it was a member by name, and what it knew is lost.
TEST(view_leader, flags_what_only_a_member_by_name_knew_of_a_forgotten_compute_node) {
  const Roster roster{2, 2};
  const TimesliceIndex doubtful(10);
  for (const bool takes_part : {true, false}) {
    ViewLeader leader(roster, 0, TimesliceIndex::max(), at(0), Duration::max());
    View current{.number = 5,
                 .doubtful_below = doubtful,
                 .inputs = IndexSet(2, true),
                 .computes = IndexSet(2, true)};
    for (const std::uint32_t n : {1u, 2u, 3u}) leader.node_up(NodeId(n), Incarnation(1));
    leader.disturb();
    const auto asked = leader.propose(at(1), current);
    ASSERT_TRUE(asked);
    for (std::uint32_t n = 0; n < roster.nodes(); ++n) {
      Promise promise{.number = asked->number, .remembers = true, .takes_part = true};
      if (n == 1) promise.takes_part = takes_part;
      if (n >= 2) promise.done.push_back({.compute = n - 2, .below = {}});
      leader.on_promise(NodeId(n), promise);
    }
    const auto view = leader.decide(current);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->repeated_below, takes_part ? TimesliceIndex() : doubtful);
  }
}

}  // namespace
}  // namespace weft::stream

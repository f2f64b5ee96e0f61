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

}  // namespace
}  // namespace weft::stream

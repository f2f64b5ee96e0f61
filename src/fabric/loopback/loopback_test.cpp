// SPDX-License-Identifier: Apache-2.0
// The hub's behaviour beyond the contract (tests/contract).
#include "fabric/loopback/loopback.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft {
namespace {

const NodeId kA(0);
const NodeId kB(1);

struct Pair {
  Pair() : a(hub.open(kA, Incarnation(1)).value()), b(hub.open(kB, Incarnation(1)).value()) {
    EXPECT_TRUE(a->add_peer(kB, Incarnation(1), b->address()).ok());
    EXPECT_TRUE(b->add_peer(kA, Incarnation(1), a->address()).ok());
  }
  static std::vector<Completion> drain(Fabric& fabric) {
    std::vector<Completion> all;
    std::array<Completion, 16> some;
    while (const std::size_t n = fabric.poll(Instant(), some)) {
      all.insert(all.end(), some.begin(), some.begin() + n);
    }
    return all;
  }
  LoopbackHub hub;
  std::unique_ptr<Fabric> a, b;
};

TEST(loopback, broken_connection_is_down_then_up_with_the_same_incarnation) {
  Pair pair;
  Pair::drain(*pair.a);
  Pair::drain(*pair.b);
  pair.hub.break_connection(kA, kB);
  for (Fabric* fabric : {pair.a.get(), pair.b.get()}) {
    const auto events = Pair::drain(*fabric);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].kind, CompletionKind::peer_down);
    EXPECT_EQ(events[1].kind, CompletionKind::peer_up);
    EXPECT_EQ(events[1].incarnation, Incarnation(1));
  }
}

TEST(loopback, operation_posted_before_the_break_was_reported_fails_first) {
  Pair pair;
  Pair::drain(*pair.a);
  pair.hub.break_connection(kA, kB);
  TxOp op;
  op.peer = kB;
  op.context = 7;
  ASSERT_EQ(pair.a->post({&op, 1}), 1u);
  const auto events = Pair::drain(*pair.a);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, CompletionKind::failed);
  EXPECT_EQ(events[0].context, 7u);
  EXPECT_EQ(events[1].kind, CompletionKind::peer_down);
  EXPECT_EQ(events[2].kind, CompletionKind::peer_up);
}

TEST(loopback, unreadable_address_is_refused_with_the_form_that_works) {
  Pair pair;
  const auto added = pair.a->add_peer(NodeId(2), Incarnation(1), "tcp:1");
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().message, "peer address 'tcp:1': expected loopback:NUMBER");
}

}  // namespace
}  // namespace weft

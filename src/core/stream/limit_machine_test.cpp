// SPDX-License-Identifier: Apache-2.0
#include "core/stream/limit_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace weft::stream {
namespace {

constexpr std::size_t message_bytes = 4096;

/// One sender's operations in its first turn. The test looks at no other sender.
class Sender {
 public:
  Sender(Roster roster, std::uint32_t self, LimitPattern pattern, bool mix)
      : message_(message_bytes),
        config_{.roster = roster,
                .self = self,
                .message_bytes = message_bytes,
                .mix = mix,
                .pattern = pattern},
        machine_(config_, message_) {
    peer_up(NodeId(0));
    for (std::uint32_t c = 0; c < roster.computes; ++c) hello(roster.compute_node(c));
    Outbox ready;
    machine_.turn(now_, ready);
    const std::byte go{'g'};
    if (self != 0) machine_.on_completion(now_, received(NodeId(0), {&go, 1}));
    const std::byte others_ready{'r'};
    for (std::uint32_t i = 1; self == 0 && i < roster.inputs; ++i) {
      machine_.on_completion(now_, received(NodeId(i), {&others_ready, 1}));
    }
    Outbox start;
    machine_.turn(now_, start);
    machine_.turn(now_, out_);
    for (const TxOp& op : start.tx.view()) {
      if (op.kind == OpKind::write || op.size() > 1) count(op);
    }
    for (const TxOp& op : out_.tx.view()) count(op);
  }

  struct Posted {
    int contents = 0, descriptors = 0, syncs = 0;
  };
  std::map<std::uint32_t, Posted> posted;  ///< by receiver

 private:
  static Completion received(NodeId from, std::span<const std::byte> bytes) {
    Completion c;
    c.kind = CompletionKind::received;
    c.peer = from;
    c.data = bytes;
    return c;
  }
  void peer_up(NodeId peer) {
    Completion c;
    c.kind = CompletionKind::peer_up;
    c.peer = peer;
    machine_.on_completion(now_, c);
  }
  void hello(NodeId from) {
    std::array<std::byte, 25> bytes{std::byte{'h'}};
    machine_.on_completion(now_, received(from, bytes));
  }
  void count(const TxOp& op) {
    Posted& p = posted[config_.roster.compute_index(op.peer)];
    if (op.kind == OpKind::send) {
      ++p.syncs;
    } else if (op.size() == message_bytes) {
      ++p.contents;
    } else {
      ++p.descriptors;
    }
  }

  Instant now_{1};
  std::vector<std::byte> message_;
  LimitConfig config_;
  LimitSender machine_;
  Outbox out_;
};

TEST(limit_sender, writes_to_everybody_with_what_the_paper_sends_beside_it) {
  const Sender sender({3, 4}, 1, LimitPattern::everybody, true);
  ASSERT_EQ(sender.posted.size(), 4u);
  for (const auto& [receiver, p] : sender.posted) {
    EXPECT_GT(p.contents, 1) << receiver;
    EXPECT_EQ(p.descriptors, p.contents) << receiver;
    EXPECT_EQ(p.syncs, 2 * p.contents) << receiver;
  }
}

TEST(limit_sender, without_the_mix_writes_contents_alone) {
  for (const auto pattern : {LimitPattern::everybody, LimitPattern::partners}) {
    const Sender sender({2, 2}, 0, pattern, false);
    for (const auto& [receiver, p] : sender.posted) {
      EXPECT_GT(p.contents, 0) << receiver;
      EXPECT_EQ(p.descriptors + p.syncs, 0) << receiver;
    }
  }
}

TEST(limit_sender, partners_have_every_receiver_and_meet_no_more_than_they_must) {
  for (const Roster roster : {Roster{4, 4}, Roster{3, 7}, Roster{7, 3}, Roster{1, 5}}) {
    std::vector<int> senders(roster.computes, 0);
    for (std::uint32_t i = 0; i < roster.inputs; ++i) {
      const Sender sender(roster, i, LimitPattern::partners, false);
      EXPECT_FALSE(sender.posted.empty());
      for (const auto& [receiver, p] : sender.posted) ++senders[receiver];
    }
    const int most = static_cast<int>((roster.inputs + roster.computes - 1) / roster.computes);
    EXPECT_GE(*std::min_element(senders.begin(), senders.end()), 1);
    EXPECT_LE(*std::max_element(senders.begin(), senders.end()), most);
  }
}

}  // namespace
}  // namespace weft::stream

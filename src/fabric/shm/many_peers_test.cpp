// SPDX-License-Identifier: Apache-2.0
// An endpoint with so many peers that it looks at most of them by turns.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "fabric/shm/endpoint_for_test.hpp"

namespace weft::shm {
namespace {

constexpr std::uint32_t kPeers = 40;
constexpr int kUntilQuiet = 3000;  // polls

struct Member {
  explicit Member(std::uint32_t n) : id(n), fabric(open_for_test(id)) {}
  void meet(const Member& other) {
    WEFT_CHECK(fabric->add_peer(other.id, Incarnation(1), other.fabric->address()).ok());
  }
  std::size_t poll() {
    std::array<Completion, 16> completions;
    const std::size_t n = fabric->poll(test_now(), completions);
    for (const Completion& c : std::span(completions).first(n)) {
      if (c.kind == CompletionKind::peer_up) ++up;
      if (c.kind == CompletionKind::peer_down) --up;
      if (c.kind != CompletionKind::received) continue;
      WEFT_CHECK(c.data.size() == sizeof(std::uint32_t));
      std::uint32_t value = 0;
      std::memcpy(&value, c.data.data(), sizeof value);
      received.emplace_back(c.peer.value(), value);
    }
    return n;
  }
  void send(NodeId to, std::uint32_t value) {
    TxOp op;
    op.peer = to;
    op.segments[0] = std::as_bytes(std::span(&value, 1));
    ASSERT_EQ(fabric->post({&op, 1}), 1u);
  }

  NodeId id;
  std::unique_ptr<ShmFabric> fabric;
  std::uint32_t up = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> received;  // sender, value
};

class ManyPeers : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t n = 0; n <= kPeers; ++n) all_.push_back(std::make_unique<Member>(n));
    for (std::uint32_t n = 1; n <= kPeers; ++n) {
      all_[0]->meet(*all_[n]);
      all_[n]->meet(*all_[0]);
    }
    const auto is_up = [&] {
      for (std::uint32_t n = 1; n <= kPeers; ++n) {
        if (all_[n]->up == 0) return false;
      }
      return all_[0]->up == kPeers;
    };
    const Instant give_up = test_now() + Duration::seconds(60);
    while (!is_up() && test_now() < give_up) {
      for (auto& member : all_) member->poll();
    }
    ASSERT_TRUE(is_up());
    for (int i = 0; i < kUntilQuiet; ++i) all_[0]->poll();
  }
  Member& hub() { return *all_[0]; }

  std::vector<std::unique_ptr<Member>> all_;
};

TEST_F(ManyPeers, a_quiet_one_is_heard_within_a_round_of_looks) {
  for (std::uint32_t n = kPeers; n > 0; --n) {
    all_[n]->send(NodeId(0), n);
    hub().received.clear();
    for (int polls = 0; polls < 3; ++polls) hub().poll();
    ASSERT_EQ(hub().received.size(), 1u) << n;
    EXPECT_EQ(hub().received[0], std::pair(n, n));
  }
}

TEST_F(ManyPeers, nobody_sleeps_while_a_quiet_one_has_spoken) {
  all_[17]->send(NodeId(0), 7);
  EXPECT_TRUE(hub().fabric->prepare_wait(test_now()).ready);
  hub().poll();
  ASSERT_EQ(hub().received.size(), 1u);
}

TEST_F(ManyPeers, quiet_ones_are_heard_when_the_others_have_left) {
  while (all_.size() > 6) all_.pop_back();
  const Instant give_up = test_now() + Duration::seconds(60);
  while (hub().up > 5 && test_now() < give_up) hub().poll();
  ASSERT_EQ(hub().up, 5u);
  for (std::uint32_t n = 1; n <= 5; ++n) all_[n]->send(NodeId(0), n);
  hub().poll();
  EXPECT_EQ(hub().received.size(), 5u);
}

TEST_F(ManyPeers, what_a_quiet_one_is_sent_and_answers_comes_in_order) {
  for (std::uint32_t round = 0; round < 100; ++round) {
    Member& member = *all_[1 + round * 7 % kPeers];
    hub().received.clear();
    member.received.clear();
    for (std::uint32_t i = 0; i < 5; ++i) hub().send(member.id, i);
    for (int polls = 0; polls < 10; ++polls) member.poll();
    ASSERT_EQ(member.received.size(), 5u);
    for (std::uint32_t i = 0; i < 5; ++i) member.send(NodeId(0), member.received[i].second);
    for (int polls = 0; polls < 10; ++polls) hub().poll();
    ASSERT_EQ(hub().received.size(), 5u);
    for (std::uint32_t i = 0; i < 5; ++i)
      EXPECT_EQ(hub().received[i], std::pair(member.id.value(), i));
  }
}

}  // namespace
}  // namespace weft::shm

// SPDX-License-Identifier: Apache-2.0
// A process that repeats an earlier life does not send again what its peer has.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/message/one_machine_for_test.hpp"
#include "core/message/taken_for_test.hpp"

namespace weft::message {
namespace {

using testing::OneMachine;
using testing::Taken;

class Had : public OneMachine {
 protected:
  Had() : OneMachine(true) {}
  void connect(std::uint32_t life, std::uint64_t granted, bool pulls = false,
               bool lossless = false) {
    const Completion up{.kind = CompletionKind::peer_up,
                        .peer = peer,
                        .incarnation = Incarnation(life),
                        .is_lossless = lossless};
    machine_.on_completion(Instant(), up, out_);
    hear({.kind = FrameKind::hello,
          .pulls = pulls,
          .version = protocol_version,
          .granted = granted});
  }
  void disconnect() {
    machine_.on_completion(Instant(), {.kind = CompletionKind::peer_down, .peer = peer}, out_);
  }
  void send(const std::string& text = "abc") {
    machine_.send(peer, flow, std::as_bytes(std::span(text)));
  }
  /// The serials of the messages that leave now.
  std::vector<Serial> sent() {
    std::vector<Serial> serials;
    for (const Frame& frame : leave(FrameKind::eager)) serials.push_back(frame.serial);
    return serials;
  }
  bool is_queued(Serial serial) const { return machine_.is_queued(peer, {flow, serial}); }
};

TEST_F(Had, is_not_sent_again) {
  connect(1, 1 << 20);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 3});
  for (int i = 0; i < 5; ++i) send();
  EXPECT_EQ(sent(), (std::vector<Serial>{3, 4}));
  EXPECT_GT(machine_.outbox_bytes(), ByteCount(0)) << "a later life of the peer may ask for it";
}

TEST_F(Had, waits_for_nothing_also_where_the_peer_says_so_later) {
  connect(1, 0);
  for (int i = 0; i < 3; ++i) send();
  EXPECT_EQ(machine_.queued_to(peer), 3U);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 2});
  EXPECT_EQ(machine_.queued_to(peer), 1U);
  EXPECT_FALSE(is_queued(1));
  EXPECT_TRUE(is_queued(2));
  hear({.kind = FrameKind::had, .flow = flow, .serial = 5});
  EXPECT_EQ(machine_.queued_to(peer), 0U);
  for (Serial serial = 3; serial < 5; ++serial) {
    send();
    EXPECT_FALSE(is_queued(serial));
  }
  send();
  EXPECT_TRUE(is_queued(5));
}

TEST_F(Had, may_be_messages_behind_a_gap) {
  connect(1, 1 << 20);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 1});
  hear({.kind = FrameKind::have, .flow = flow, .serial = 2});
  hear({.kind = FrameKind::have, .flow = flow, .serial = 4});
  for (int i = 0; i < 6; ++i) send();
  EXPECT_EQ(sent(), (std::vector<Serial>{1, 3, 5}));
}

TEST_F(Had, is_sent_to_another_life_of_the_peer_that_asks_for_it) {
  connect(1, 1 << 20);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 3});
  for (int i = 0; i < 2; ++i) send(std::string(1, static_cast<char>('a' + i)));
  EXPECT_EQ(sent(), std::vector<Serial>{});
  disconnect();
  connect(2, 1 << 20);
  for (Serial serial = 0; serial < 3; ++serial) {
    hear({.kind = FrameKind::get, .flow = flow, .serial = serial});
  }
  EXPECT_EQ(sent(), (std::vector<Serial>{0, 1}));
  send();
  EXPECT_EQ(sent(), std::vector<Serial>{2}) << "which the earlier one had";
}

TEST_F(Had, is_compared) {
  connect(1, 1 << 20);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 2, .digest = 7});
  send();
  EXPECT_FALSE(machine_.divergence());
  send();
  ASSERT_TRUE(machine_.divergence());
  EXPECT_EQ(machine_.divergence()->serial, 1U);
  send();
  EXPECT_EQ(sent(), std::vector<Serial>{});
}

TEST_F(Had, behind_a_gap_is_not_hidden_from_another_life_by_what_comes_by_itself) {
  connect(1, 0);
  hear({.kind = FrameKind::have, .flow = flow, .serial = 1});
  for (int i = 0; i < 3; ++i) send();
  disconnect();
  connect(2, 1 << 20);
  EXPECT_EQ(sent(), std::vector<Serial>{2}) << "it asks for those before";
  hear({.kind = FrameKind::get, .flow = flow, .serial = 0});
  hear({.kind = FrameKind::get, .flow = flow, .serial = 1});
  EXPECT_EQ(sent(), (std::vector<Serial>{0, 1}));
}

TEST_F(Had, counts_in_its_connection_only) {
  connect(1, 1 << 20);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 3});
  disconnect();
  send();
  EXPECT_EQ(machine_.queued_to(peer), 1U);
  machine_.stop_keeping([](NodeId) { return Incarnation(2); });
  connect(2, 1 << 20);
  hear({.kind = FrameKind::get, .flow = flow, .serial = 0});
  EXPECT_EQ(sent(), std::vector<Serial>{0});
}

TEST_F(Had, counts_also_when_nothing_is_kept_any_more) {
  connect(1, 0);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 3});
  send();
  machine_.stop_keeping([](NodeId) { return Incarnation(1); });
  for (int i = 0; i < 2; ++i) send();
  EXPECT_EQ(machine_.queued_to(peer), 0U);
  send();
  EXPECT_EQ(machine_.queued_to(peer), 1U);
}

TEST_F(Had, counts_no_more_when_another_life_than_the_one_that_had_it_has_begun) {
  connect(1, 0);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 1});
  machine_.stop_keeping([](NodeId) { return Incarnation(2); });
  hear({.kind = FrameKind::had, .flow = flow, .serial = 2});
  for (int i = 0; i < 2; ++i) send();
  EXPECT_EQ(machine_.queued_to(peer), 2U);
  disconnect();
  connect(2, 1 << 20);
  for (Serial serial = 0; serial < 2; ++serial) {
    hear({.kind = FrameKind::get, .flow = flow, .serial = serial});
  }
  EXPECT_EQ(sent(), (std::vector<Serial>{0, 1}));
}

TEST_F(Had, counts_not_where_a_life_says_hello_of_which_there_is_a_later_one) {
  machine_.stop_keeping([](NodeId) { return Incarnation(2); });
  connect(1, 0, false, true);
  hear({.kind = FrameKind::had, .flow = flow, .serial = 1});
  send();
  EXPECT_EQ(machine_.queued_to(peer), 1U);
  hear({.kind = FrameKind::credit, .granted = 1 << 20});
  EXPECT_EQ(sent(), std::vector<Serial>{0});
  disconnect();
  connect(2, 1 << 20);
  hear({.kind = FrameKind::get, .flow = flow, .serial = 0});
  EXPECT_EQ(sent(), std::vector<Serial>{0}) << "it was kept";
}

TEST_F(Had, is_not_compared_with_what_is_not_kept) {
  connect(1, 1 << 20);
  send();
  hear({.kind = FrameKind::had, .flow = flow, .serial = 3, .digest = 7});
  machine_.stop_keeping([](NodeId) { return Incarnation(1); });
  hear({.kind = FrameKind::had, .flow = flow, .serial = 3, .digest = 7});
  for (int i = 0; i < 2; ++i) send();
  EXPECT_FALSE(machine_.divergence());
}

TEST_F(Had, is_answered_from_a_copy_that_stays) {
  connect(1, 0);
  hear({.kind = FrameKind::have, .flow = flow, .serial = 1});
  for (int i = 0; i < 2; ++i) send();
  EXPECT_EQ(sent(), std::vector<Serial>{});
  hear({.kind = FrameKind::get, .flow = flow, .serial = 1});
  machine_.pump(out_);
  ASSERT_EQ(out_.tx.size(), 1U);
  EXPECT_EQ(out_.tx[0].segments[1].size(), 0U) << "content is in the queue";
  EXPECT_EQ(out_.tx[0].segments[0].size(), header_bytes + 3);
}

/// What it tells a later life of its peer.
class Tells : public Had {
 protected:
  using Told = std::vector<std::pair<Serial, ToldDigest>>;
  void take(Serial serial, ToldDigest digest = 0) {
    hear({.kind = FrameKind::eager, .flow = flow, .serial = serial, .digest = digest}, "a");
  }
  Told told(FrameKind kind) {
    Told all;
    for (const Frame& frame : leave(kind)) all.emplace_back(frame.serial, frame.digest);
    return all;
  }
  Taken taken_;
};

TEST_F(Tells, only_another_life_and_on_each_of_its_connections) {
  machine_.listen(peer, flow, taken_);
  connect(1, 1 << 20);
  for (Serial serial = 0; serial < 3; ++serial) take(serial, 5 + static_cast<ToldDigest>(serial));
  disconnect();
  connect(1, 1 << 20);
  EXPECT_EQ(told(FrameKind::had), Told{});
  for (int i = 0; i < 2; ++i) {
    disconnect();
    connect(2, 1 << 20);
    EXPECT_EQ(told(FrameKind::had), (Told{{3, 7}}));
  }
}

TEST_F(Tells, what_nobody_has_received_and_what_is_behind_a_gap) {
  connect(1, 1 << 20);
  for (const Serial serial : {0, 1, 3, 5}) take(serial, 5 + static_cast<ToldDigest>(serial));
  hear({.kind = FrameKind::announce, .flow = flow, .serial = 6, .size = 100'000});
  disconnect();
  connect(2, 1 << 20);
  EXPECT_EQ(told(FrameKind::had), (Told{{2, 0}}));
  disconnect();
  connect(2, 1 << 20);
  EXPECT_EQ(told(FrameKind::have), (Told{{3, 0}, {5, 10}}));
}

TEST_F(Tells, nothing_of_announcements_but_grants_the_credit_for_them_once_more) {
  const auto granted = [&] { return leave(FrameKind::hello).at(0).granted; };
  const auto announce = [&](Serial serial) {
    hear({.kind = FrameKind::announce, .flow = flow, .serial = serial, .size = 100'000});
  };
  connect(1, 1 << 20);
  const std::uint64_t all = granted();
  for (Serial serial = 0; serial < 3; ++serial) announce(serial);
  disconnect();
  connect(2, 1 << 20);
  EXPECT_EQ(granted(), all);
  for (int i = 0; i < 2; ++i) announce(0);
  disconnect();
  connect(3, 1 << 20);
  EXPECT_EQ(granted(), all);
  announce(0);
  std::vector<std::byte> into(100'000);
  machine_.receive(peer, flow, into);
  EXPECT_EQ(told(FrameKind::get), (Told{{0, 0}}));
  disconnect();
  connect(4, 1 << 20);
  EXPECT_EQ(granted(), all);
  EXPECT_EQ(told(FrameKind::had), Told{});
}

TEST_F(Tells, what_came_behind_receives_that_wait) {
  connect(1, 1 << 20);
  std::array<std::byte, 8> into[3]{};
  for (auto& memory : into) machine_.receive(peer, flow, memory);
  take(1);
  take(3);
  disconnect();
  connect(2, 1 << 20);
  EXPECT_EQ(told(FrameKind::have), (Told{{1, 0}, {3, 0}}));
}

TEST_F(Tells, of_flows_at_rest_too) {
  connect(1, 1 << 20);
  constexpr std::uint32_t flows = 500;
  std::array<std::byte, 8> into{};
  for (std::uint32_t i = 0; i < flows; ++i) {
    const FlowKey key{.generation = Generation(2), .tag = Tag(i)};
    hear({.kind = FrameKind::eager, .flow = key, .serial = 0}, "a");
    const Operation receives = machine_.receive(peer, key, into);
    ASSERT_TRUE(machine_.is_done(receives));
    (void)machine_.take(receives);
  }
  EXPECT_LT(machine_.active_flows(), flows);
  disconnect();
  connect(2, 1 << 20);
  EXPECT_EQ(told(FrameKind::had).size(), flows);
}

}  // namespace
}  // namespace weft::message

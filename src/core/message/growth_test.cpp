// SPDX-License-Identifier: Apache-2.0
// Costs that grow with the length of a program, or with outstanding messages: counted, not timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/message/archive.hpp"
#include "core/message/machine.hpp"

namespace weft::message {
namespace {

using Bytes = std::vector<std::byte>;

/// Two machines whose frames the test hands over, in order.
class Couple {
 public:
  explicit Couple(bool retain, ByteCount outbox = ByteCount::gib(1), bool fails_when_full = false,
                  ByteCount inbox = ByteCount::mib(16))
      : inbox_(inbox) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      machines_.push_back(
          std::make_unique<MessageMachine>(MessageOptions{.self = NodeId(i),
                                                          .nodes = 2,
                                                          .fabric = {.max_write = 1 << 20},
                                                          .inbox = inbox,
                                                          .retain = retain,
                                                          .fails_when_full = fails_when_full,

                                                          .run = "run"},
                                           Instant(), OutboxRoom{.limit = outbox}));
    }
    for (std::uint32_t i = 0; i < 2; ++i) meet(i, 1);
    exchange();
  }
  MessageMachine& operator[](std::uint32_t i) { return *machines_[i]; }
  void meet(std::uint32_t self, std::uint32_t life) {
    Completion up{.kind = CompletionKind::peer_up, .peer = NodeId(1 - self)};
    up.incarnation = Incarnation(life);
    machines_[self]->on_completion(Instant(), up, out_);
  }
  /// Its program begins anew; the other one does something in between.
  void restart(
      std::uint32_t i, std::uint32_t life, const std::function<void()>& meanwhile = [] {}) {
    const std::uint32_t other = 1 - i;
    machines_[other]->on_completion(Instant(),
                                    {.kind = CompletionKind::peer_down, .peer = NodeId(i)}, out_);
    meanwhile();
    machines_[i] = std::make_unique<MessageMachine>(MessageOptions{.self = NodeId(i),
                                                                   .nodes = 2,
                                                                   .fabric = {.max_write = 1 << 20},
                                                                   .inbox = inbox_,
                                                                   .retain = true,
                                                                   .run = "run"},
                                                    Instant());
    meet(i, 1);
    meet(other, life);
  }
  /// All that they have to say to each other.
  void exchange() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t i = 0; i < 2; ++i) {
        machines_[i]->pump(out_);
        std::vector<Completion> written;
        for (const TxOp& op : out_.tx) {
          if (op.kind == OpKind::write) {
            std::memcpy(reinterpret_cast<std::byte*>(op.region.base) + op.region_offset,
                        op.segments[0].data(), op.segments[0].size());
            written.push_back({.kind = CompletionKind::written,
                               .peer = NodeId(1 - i),
                               .incarnation = {},
                               .context = op.context,
                               .data = {}});
            continue;
          }
          Bytes bytes(op.segments[0].begin(), op.segments[0].end());
          bytes.insert(bytes.end(), op.segments[1].begin(), op.segments[1].end());
          frames_.emplace_back(1 - i, std::move(bytes));
        }
        out_.posted(out_.tx.size());
        for (const Completion& one : written) machines_[i]->on_completion(Instant(), one, out_);
        for (; !frames_.empty(); frames_.pop_front()) {
          moved = true;
          const auto& [to, bytes] = frames_.front();
          Completion completion{.peer = NodeId(1 - to), .data = bytes};
          completion.kind = CompletionKind::received;
          machines_[to]->on_completion(Instant(), completion, out_);
        }
      }
    }
    EXPECT_EQ(machines_[0]->refused_frames() + machines_[1]->refused_frames(), 0u);
  }
  Operation send(std::uint64_t value, std::uint32_t tag = 0) {
    return machines_[0]->send(NodeId(1), {.tag = Tag(tag)}, std::as_bytes(std::span(&value, 1)));
  }
  Operation receive(std::uint64_t& into, std::uint32_t tag = 0) {
    return machines_[1]->receive(NodeId(0), {.tag = Tag(tag)},
                                 std::as_writable_bytes(std::span(&into, 1)));
  }

 private:
  ByteCount inbox_;
  std::vector<std::unique_ptr<MessageMachine>> machines_;
  TransmitQueue out_;
  std::deque<std::pair<std::uint32_t, Bytes>> frames_;
};

TEST(growth, a_message_that_nobody_waits_for_yet_is_found_without_a_search) {
  constexpr std::uint64_t messages = 30'000;
  Couple both(false);
  for (std::uint64_t i = 0; i < messages; ++i) {
    (void)both[0].take(both.send(i));
    if (i % 500 == 0) both.exchange();
  }
  both.exchange();
  for (std::uint64_t i = 0; i < messages; ++i) {
    std::uint64_t got = 0;
    const Operation operation = both.receive(got);
    ASSERT_TRUE(both[1].is_done(operation)) << i;
    (void)both[1].take(operation);
    ASSERT_EQ(got, i);
  }
  EXPECT_LE(both[1].looks(), 4 * messages);
}

TEST(growth, a_receive_is_started_without_a_look_at_those_before_it) {
  constexpr std::uint64_t messages = 4'096;
  Couple both(false);
  std::vector<std::uint64_t> got(messages);
  std::vector<Operation> operations;
  for (std::uint64_t& each : got) operations.push_back(both.receive(each));
  for (std::uint64_t i = 0; i < messages; ++i) {
    (void)both[0].take(both.send(i));
    if (i % 500 == 0) both.exchange();
  }
  both.exchange();
  for (std::uint64_t i = 0; i < messages; ++i) {
    ASSERT_TRUE(both[1].is_done(operations[i]));
    (void)both[1].take(operations[i]);
    ASSERT_EQ(got[i], i);
  }
  EXPECT_LE(both[1].looks(), 4 * messages);
}

TEST(growth, flows_without_anything_under_way_rest_and_go_on_where_they_were) {
  constexpr std::uint32_t tags = 20'000;
  Couple both(false);
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    for (std::uint32_t tag = 0; tag < tags; ++tag) {
      std::uint64_t got = 0;
      const Operation receives = both.receive(got, tag);
      (void)both[0].take(both.send(turn * tags + tag, tag));
      both.exchange();
      ASSERT_TRUE(both[1].is_done(receives));
      const OperationState state = both[1].take(receives);
      ASSERT_EQ(state.serial, turn);
      ASSERT_EQ(got, turn * tags + tag);
    }
    EXPECT_LE(both[0].active_flows(), 2'000u);
    EXPECT_LE(both[1].active_flows(), 2'000u);
  }
}

TEST(growth, small_messages_are_kept_for_later_lives_in_little_more_than_their_bytes) {
  constexpr std::uint64_t messages = 20'000;
  Couple both(true);
  std::uint64_t got = 0;
  const auto pass = [&](std::uint64_t value) {
    const Operation receives = both.receive(got);
    (void)both[0].take(both.send(value));
    both.exchange();
    ASSERT_TRUE(both[1].is_done(receives));
    (void)both[1].take(receives);
    ASSERT_EQ(got, value);
  };
  for (std::uint64_t i = 0; i < messages; ++i) pass(i);
  EXPECT_LE(both[0].outbox_bytes(), ByteCount(12 * messages));
  // All of them are there for a later life, and leave once it has stored itself.
  both.restart(1, 2);
  for (std::uint64_t i = 0; i < messages; ++i) {
    const Operation receives = both.receive(got);
    both.exchange();
    ASSERT_TRUE(both[1].is_done(receives)) << i;
    (void)both[1].take(receives);
    ASSERT_EQ(got, i);
  }
  ASSERT_TRUE(both[1].store().ok());
  both[1].commit();
  both.exchange();
  EXPECT_LE(both[0].outbox_bytes(), ByteCount(128 << 10));
  pass(messages);
}

// Messages that have arrived go to the archive, which is smaller, when later ones leave; one that
// finds no room does not wait for that.
TEST(growth, what_has_arrived_makes_room_before_a_message_is_refused) {
  Couple both(true, ByteCount::kib(32), true);
  std::uint64_t sent = 0;
  for (Failure failure = Failure::none; failure == Failure::none; ++sent) {
    std::uint64_t got = 0;
    const Operation receives = both.receive(got);
    const Operation sends = both.send(sent);
    both.exchange();
    if (both[1].is_done(receives)) (void)both[1].take(receives);
    failure = both[0].take(sends).failure;
  }
  EXPECT_GE(sent, 1'500u);
}

/// Receivers need every stored message, so that a smaller limit does not refuse any. A flow takes
/// memory in blocks, and a small message may exceed the limit by one.
TEST(growth, what_an_outbox_kept_goes_on_in_a_smaller_one) {
  Couple both(true);
  std::array<std::byte, 1024> bytes{};
  const auto pass = [&](std::size_t size, std::uint32_t tag) {
    std::array<std::byte, 1024> got{};
    const auto part = std::span(bytes).first(size);
    const Operation sends = both[0].send(NodeId(1), {.tag = Tag(tag)}, part);
    const Operation receives = both[1].receive(NodeId(0), {.tag = Tag(tag)}, got);
    both.exchange();
    ASSERT_TRUE(both[0].is_done(sends));
    (void)both[0].take(sends);
    (void)both[1].take(receives);
  };
  pass(1024, 0);
  pass(1024, 9);
  for (int i = 0; i < 100; ++i) pass(8, 4);
  const auto stored = both[0].store();
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  MessageMachine later(MessageOptions{.self = NodeId(0), .nodes = 2, .retain = true, .run = "run"},
                       Instant(), OutboxRoom{.limit = ByteCount::kib(2)});
  const auto good = later.resume(stored.value());
  EXPECT_TRUE(good.ok()) << good.error().message;
}

TEST(growth, a_full_outbox_lets_a_sender_wait_until_receivers_forget) {
  Couple both(true, ByteCount::kib(4));
  std::uint64_t sent = 0;
  Operation operation;
  std::array<std::byte, 512> large{};
  for (;; ++sent) {
    large[0] = static_cast<std::byte>(sent);
    std::array<std::byte, 512> room{};
    operation = both[0].send(NodeId(1), {}, large);
    const Operation receives = both[1].receive(NodeId(0), {}, room);
    both.exchange();
    ASSERT_TRUE(both[1].is_done(receives));
    (void)both[1].take(receives);
    EXPECT_EQ(room, large);
    if (!both[0].is_done(operation)) break;
    (void)both[0].take(operation);
    ASSERT_LT(sent, 100u);
  }
  EXPECT_GT(sent, 2u);
  ASSERT_TRUE(both[0].waits_for_room());
  const auto full = both[0].full_outbox();
  EXPECT_EQ(full.receiver, NodeId(1));
  EXPECT_EQ(full.most_kept_for, NodeId(1));
  EXPECT_EQ(full.kept_for_it, both[0].outbox_bytes());
  ASSERT_TRUE(both[1].store().ok());
  both[1].commit();
  both.exchange();
  EXPECT_FALSE(both[0].waits_for_room());
  ASSERT_TRUE(both[0].is_done(operation));
  EXPECT_EQ(both[0].take(operation).failure, Failure::none);
}

TEST(growth, a_receive_that_waits_when_the_peer_comes_back_is_asked_for_once) {
  Couple both(true, ByteCount::gib(1), false, ByteCount::kib(64));
  // Out of credit: early messages for another tag fill the window.
  const FlowKey early{.tag = Tag(9)};
  const Bytes much(31'000);
  const auto send_early = [&] {
    for (int i = 0; i < 2; ++i) (void)both[0].send(NodeId(1), early, much);
    both.exchange();
  };
  send_early();
  std::array<std::byte, 8> small[2]{};
  std::array<Operation, 2> receives;
  both.restart(0, 2, [&] {
    for (int i = 0; i < 2; ++i) receives[i] = both[1].receive(NodeId(0), {}, small[i]);
  });
  both.exchange();
  send_early();
  for (int i = 0; i < 2; ++i) (void)both[0].send(NodeId(1), {}, small[i]);
  both.exchange();
  for (const Operation operation : receives) ASSERT_TRUE(both[1].is_done(operation));
  // Without credit the next one comes only because it was asked for.
  Bytes into(5'000);
  const Operation last = both[1].receive(NodeId(0), {}, into);
  both.exchange();
  (void)both[0].send(NodeId(1), {}, Bytes(5'000));
  both.exchange();
  EXPECT_TRUE(both[1].is_done(last));
}

TEST(growth, a_full_outbox_fails_a_send_where_that_is_wanted) {
  Couple both(true, ByteCount::kib(4), true);
  const Bytes large(8 << 10);
  const Operation operation = both[0].send(NodeId(1), {}, large);
  ASSERT_TRUE(both[0].is_done(operation));
  EXPECT_EQ(both[0].take(operation).failure, Failure::outbox_full);
}

RemoteRegion region_of(Bytes& memory) {
  return {.base = reinterpret_cast<std::uint64_t>(memory.data()), .length = memory.size()};
}

// Its receiver has always asked before, so that nothing but the message itself says what it is.
TEST(divergence, of_a_long_message_is_found) {
  for (const bool repeats : {true, false}) {
    Couple both(true);
    Bytes memory(100'000), sent(100'000, std::byte{1});
    const auto exchange_one = [&] {
      const Operation receives = both[1].receive(NodeId(0), {}, memory, region_of(memory));
      both.exchange();
      (void)both[0].take(both[0].send(NodeId(1), {}, sent));
      both.exchange();
      return receives;
    };
    (void)both[1].take(exchange_one());
    EXPECT_EQ(memory, sent);
    both.restart(0, 2);
    if (!repeats) sent.assign(sent.size(), std::byte{2});
    (void)both[0].take(both[0].send(NodeId(1), {}, sent));
    const Operation next = exchange_one();
    EXPECT_EQ(both[1].is_done(next), repeats);
    EXPECT_EQ(both[0].divergence().has_value(), !repeats);
  }
}

// The sender has begun anew after one message, 1, and its receiver has asked for a long one.
Operation ask_after_restart(Couple& both, Bytes& memory) {
  std::uint64_t small = 0;
  const Operation first = both.receive(small);
  (void)both[0].take(both.send(1));
  both.exchange();
  (void)both[1].take(first);
  both.restart(0, 2);
  return both[1].receive(NodeId(0), {}, memory, region_of(memory));
}

TEST(divergence, of_a_long_message_keeps_its_receiver_from_going_on) {
  Couple both(true);
  Bytes memory(100'000);
  const Operation next = ask_after_restart(both, memory);
  (void)both[0].take(both.send(2));
  both.exchange();
  (void)both[0].take(both[0].send(NodeId(1), {}, memory));
  both.exchange();
  EXPECT_FALSE(both[1].is_done(next));
  EXPECT_TRUE(both[0].divergence().has_value());
}

// A sender answers what its receiver has asked for before it repeats earlier messages.
TEST(divergence, is_found_before_a_new_message_comes_first) {
  for (const bool repeats : {true, false}) {
    Couple both(true);
    Bytes memory(100'000);
    const Operation next = ask_after_restart(both, memory);
    (void)both[0].take(both.send(repeats ? 1 : 2));
    (void)both[0].take(both[0].send(NodeId(1), {}, memory));
    both.exchange();
    EXPECT_EQ(both[1].is_done(next), repeats);
    EXPECT_EQ(both[0].divergence().has_value(), !repeats);
  }
}

TEST(growth, a_long_message_that_nobody_keeps_can_be_copied_for_its_sender) {
  Couple both(false);
  Bytes memory(100'000), sent(100'000, std::byte{1});
  const Operation waits = both[0].send(NodeId(1), {.tag = Tag(1)}, sent);
  both[0].copy_long(true);
  const Operation copied = both[0].send(NodeId(1), {}, sent);
  both[0].copy_long(false);
  both.exchange();
  EXPECT_FALSE(both[0].is_done(waits));
  ASSERT_TRUE(both[0].is_done(copied));
  (void)both[0].take(copied);
  sent.assign(sent.size(), std::byte{2});
  EXPECT_EQ(both[0].outbox_bytes(), ByteCount(100'000));
  const Operation receives = both[1].receive(NodeId(0), {}, memory, region_of(memory));
  both.exchange();
  ASSERT_TRUE(both[1].is_done(receives));
  EXPECT_EQ(memory, Bytes(100'000, std::byte{1}));
  EXPECT_EQ(both[0].outbox_bytes(), ByteCount(0));
}

TEST(divergence, of_a_later_life_is_found_before_anything_new_is_taken_from_it) {
  for (const std::uint64_t differs_at : {0u, 3u, 9u, 100u}) {
    Couple both(true);
    std::uint64_t got = 0;
    for (std::uint64_t i = 0; i < 10; ++i) {
      const Operation receives = both.receive(got);
      (void)both[0].take(both.send(i));
      both.exchange();
      (void)both[1].take(receives);
    }
    both.restart(0, 2);
    const Operation receives = both.receive(got);
    for (std::uint64_t i = 0; i < 11; ++i) {
      (void)both[0].take(both.send(i == differs_at ? i + 1 : i));
      both.exchange();
    }
    const bool repeats = differs_at > 10;
    EXPECT_EQ(both[1].is_done(receives), repeats) << differs_at;
    EXPECT_EQ(both[0].divergence().has_value(), !repeats) << differs_at;
    if (repeats) continue;
    EXPECT_EQ(both[0].divergence()->receiver, NodeId(1));
    EXPECT_EQ(both[0].divergence()->serial, 9u);
  }
}

TEST(archive, gives_back_messages_of_any_size_until_they_are_forgotten) {
  BodyPool pool(ByteCount::gib(1));
  Archive archive;
  std::vector<Bytes> all;
  std::uint64_t digest = first_digest;
  for (std::size_t i = 0; i < 3000; ++i) {
    Bytes bytes(i % 7 == 0 ? 0 : i * i % 3001);
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(i + k);
    Body body;
    ASSERT_NE(pool.keep(bytes, body), nullptr);
    const std::uint64_t after = digest_after(digest, i, bytes);
    ASSERT_TRUE(archive.add(pool, i, bytes, body, std::exchange(digest, after), after));
    all.push_back(std::move(bytes));
  }
  std::uint64_t expected = first_digest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto found = archive.find(i);
    ASSERT_TRUE(found);
    expected = digest_after(expected, i, all[i]);
    EXPECT_EQ(found->digest, expected);
    EXPECT_TRUE(std::ranges::equal(found->bytes, all[i])) << i;
    EXPECT_EQ(archive.find(i)->digest, expected);  // once more
  }
  for (const std::size_t i : {2999u, 17u, 1500u, 3u}) {
    EXPECT_TRUE(std::ranges::equal(archive.find(i)->bytes, all[i])) << i;
  }
  EXPECT_FALSE(archive.find(all.size()));
  // A message stays readable while those before it are forgotten.
  EXPECT_TRUE(std::ranges::equal(archive.find(2)->bytes, all[2]));
  for (std::size_t i = 0; i < 1500; i += 10) {
    archive.forget(i);
    EXPECT_TRUE(std::ranges::equal(archive.find(i + 1)->bytes, all[i + 1])) << i;
  }
  archive.forget(1500);
  EXPECT_FALSE(archive.find(0));
  EXPECT_TRUE(std::ranges::equal(archive.find(1500)->bytes, all[1500]));
  archive.forget(all.size());
  EXPECT_TRUE(archive.empty());
  EXPECT_EQ(pool.in_use(), ByteCount(0));
}

}  // namespace
}  // namespace weft::message

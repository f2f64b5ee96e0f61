// SPDX-License-Identifier: Apache-2.0
// Connections that lose nothing: what leaves at once over them is not kept.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/message/job_for_test.hpp"

namespace weft::message::testing {
namespace {

using Programs = std::vector<std::vector<Step>>;

constexpr FlowKey flow{.generation = Generation(1), .tag = Tag(7)};

/// Two processes on a fabric that says it loses nothing.
class Two {
 public:
  explicit Two(bool lossless) : hub_({.is_lossless = lossless}) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      fabrics_.push_back(std::move(hub_.open(NodeId(i), Incarnation(1))).value());
      machines_.push_back(std::make_unique<MessageMachine>(
          MessageOptions{.self = NodeId(i), .nodes = 2, .fabric = fabrics_[i]->limits()},
          Instant{}));
      queues_.emplace_back(64, 4096);
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto added =
          fabrics_[i]->add_peer(NodeId(1 - i), Incarnation(1), fabrics_[1 - i]->address());
      EXPECT_TRUE(added.ok());
    }
    // Both say hello.
    receive();
    for (int i = 0; i < 10; ++i) turn_both();
    send();
    for (int i = 0; i < 10; ++i) turn_both();
  }
  void send() {
    const std::array<std::byte, 40> bytes{};
    const auto left =
        sender().send_at_once(NodeId(1), flow, {}, bytes, [&](std::span<const std::byte> header) {
          TxOp op;
          op.peer = NodeId(1);
          op.segments = {header, std::span<const std::byte>(bytes)};
          return fabrics_[0]->post({&op, 1}) == 1;
        });
    EXPECT_TRUE(left.has_value());
  }
  /// Through the queue, as where something delays it: it is kept.
  void send_by_queue() {
    const std::array<std::byte, 40> bytes{};
    EXPECT_TRUE(sender().is_done(sender().send(NodeId(1), flow, bytes)));
    turn(0);
  }
  Operation receive() { return machines_[1]->receive(NodeId(0), flow, memory_); }
  void turn(std::size_t i) {
    std::array<Completion, 16> done;
    const std::size_t n = fabrics_[i]->poll(Instant{}, done);
    for (std::size_t k = 0; k < n; ++k) machines_[i]->on_completion(Instant{}, done[k], queues_[i]);
    machines_[i]->pump(queues_[i]);
    queues_[i].posted(fabrics_[i]->post(queues_[i].tx.view()));
  }
  void turn_both() {
    turn(0);
    turn(1);
  }
  void break_connection() { hub_.break_connection(NodeId(0), NodeId(1)); }
  MessageMachine& sender() { return *machines_[0]; }
  MessageMachine& receiver() { return *machines_[1]; }

 private:
  LoopbackHub hub_;
  std::vector<std::unique_ptr<Fabric>> fabrics_;
  std::vector<std::unique_ptr<MessageMachine>> machines_;
  std::vector<TransmitQueue> queues_;
  std::array<std::byte, 40> memory_{};
};

TEST(unkept, messages_that_leave_at_once_take_no_memory_at_the_sender) {
  for (const bool lossless : {false, true}) {
    Two two(lossless);
    for (int i = 0; i < 20; ++i) two.send();
    EXPECT_EQ(two.sender().outbox_bytes() == ByteCount(0), lossless);
    // All of them are there.
    for (int i = 0; i < 20; ++i) {
      const Operation operation = two.receive();
      for (int k = 0; k < 10; ++k) two.turn_both();
      ASSERT_TRUE(two.receiver().is_done(operation)) << i;
      EXPECT_EQ(two.receiver().take(operation).failure, Failure::none);
    }
    EXPECT_TRUE(two.sender().offenders().empty());
  }
}

TEST(unkept, a_message_that_was_delayed_does_not_have_later_ones_kept) {
  Two two(true);
  two.send_by_queue();
  EXPECT_GT(two.sender().outbox_bytes(), ByteCount(0));
  for (int i = 0; i < 20; ++i) two.send();
  EXPECT_EQ(two.sender().outbox_bytes(), ByteCount(0));
  for (int i = 0; i < 21; ++i) {
    const Operation operation = two.receive();
    for (int k = 0; k < 10; ++k) two.turn_both();
    ASSERT_TRUE(two.receiver().is_done(operation)) << i;
  }
  EXPECT_TRUE(two.sender().offenders().empty());
}

TEST(unkept, a_delayed_message_that_was_let_go_is_lost_with_its_connection) {
  Two two(true);
  two.send_by_queue();
  two.send();
  two.break_connection();
  for (int i = 0; i < 10; ++i) two.turn_both();
  EXPECT_EQ(two.sender().lost_link(), NodeId(1));
}

TEST(unkept, programs_drawn_from_seeds_come_to_the_same_ends) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto programs = draw_programs(Rng(seed), 4, 150, 900, 6);
    std::vector<std::uint64_t> hashes[2];
    for (const bool lossless : {false, true}) {
      Job job({.processes = 4,
               .seed = seed,
               .inbox = ByteCount::kib(8),
               .lossless = lossless,
               .listens = seed % 2 == 0},
              programs);
      ASSERT_TRUE(job.run()) << job.trouble();
      ASSERT_EQ(job.trouble(), "");
      ASSERT_TRUE(job.failures().empty());
      for (std::uint32_t p = 0; p < 4; ++p) hashes[lossless ? 1 : 0].push_back(job.hash(p));
    }
    ASSERT_EQ(hashes[0], hashes[1]);
  }
}

TEST(unkept, a_connection_that_ends_all_the_same_is_named_when_messages_were_on_it) {
  Two two(true);
  two.send();
  two.break_connection();
  for (int i = 0; i < 10; ++i) two.turn_both();
  EXPECT_EQ(two.sender().lost_link(), NodeId(1));
}

TEST(unkept, a_connection_that_kept_copies_may_end) {
  Two two(false);
  two.send();
  two.break_connection();
  const Operation operation = two.receive();
  for (int i = 0; i < 10; ++i) two.turn_both();
  EXPECT_EQ(two.sender().lost_link(), std::nullopt);
  EXPECT_TRUE(two.receiver().is_done(operation));
}

TEST(unkept, a_connection_that_breaks_with_nothing_on_it_goes_on_with_copies) {
  Programs programs(2);
  for (std::uint32_t i = 0; i < 20; ++i) {
    programs[0].push_back({true, 1, 0, 40});
    programs[0].push_back({false, 1, 0, 40});
    programs[1].push_back({false, 0, 0, 40});
    programs[1].push_back({true, 0, 0, 40});
  }
  Job job({.processes = 2, .seed = 3, .outstanding = 1, .lossless = true}, programs);
  job.break_connection(0, 1);
  ASSERT_TRUE(job.run()) << job.trouble();
  EXPECT_EQ(job.trouble(), "");
}

}  // namespace
}  // namespace weft::message::testing

// SPDX-License-Identifier: Apache-2.0
// The challenges of paper 4 (4.2), each by its section, and failures.
#include "core/message/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/message/job_for_test.hpp"

namespace weft::message::testing {
namespace {

using Programs = std::vector<std::vector<Step>>;

constexpr Step send(std::uint32_t to, std::uint32_t tag, std::uint32_t size) {
  return {true, to, tag, size};
}
constexpr Step receive(std::uint32_t from, std::uint32_t tag, std::uint32_t size) {
  return {false, from, tag, size};
}

/// Runs to the end, nothing going wrong.
void expect_end(Job& job) {
  ASSERT_TRUE(job.run()) << job.trouble();
  EXPECT_EQ(job.trouble(), "");
  EXPECT_TRUE(job.failures().empty());
}

TEST(challenges, section_4_2_1_contributions_in_reverse_order_stay_within_the_inbox) {
  constexpr std::uint32_t senders = 16;
  Programs programs(senders + 1);
  for (std::uint32_t i = 1; i <= senders; ++i) {
    programs[i] = {send(0, 1, 200), send(0, 2, 5000)};
  }
  for (std::uint32_t i = senders; i >= 1; --i) {
    programs[0].push_back(receive(i, 2, 5000));
    programs[0].push_back(receive(i, 1, 200));
  }
  Job job({.processes = senders + 1, .inbox = ByteCount::kib(16), .outstanding = 1}, programs);
  expect_end(job);
  EXPECT_LE(job.most_inbox(), (16u << 10));
}

TEST(challenges, section_4_2_1_a_flood_of_eager_senders_stays_within_the_inbox) {
  constexpr std::uint32_t senders = 64, messages = 100;
  Programs programs(senders + 1);
  for (std::uint32_t m = 0; m < messages; ++m) {
    for (std::uint32_t i = 1; i <= senders; ++i) {
      programs[i].push_back(send(0, 0, 256));
      programs[0].push_back(receive(i, 0, 256));
    }
  }
  // Each peer may use the room of two messages of the largest eager size.
  const ByteCount inbox = ByteCount::kib(64);
  const std::uint64_t most = senders * 2 * credit_cost(4096);
  Job job({.processes = senders + 1, .inbox = inbox, .outstanding = 200}, programs);
  job.pause(0, true);
  for (int i = 0; i < 300; ++i) job.step();
  job.pause(0, false);
  expect_end(job);
  EXPECT_LE(job.most_inbox(), most);
}

TEST(challenges, ten_thousand_messages_may_be_outstanding) {
  constexpr std::uint32_t messages = 10'000;
  Programs programs(2);
  for (std::uint32_t m = 0; m < messages; ++m) {
    programs[0].push_back(send(1, m % 4, 40));
    programs[1].push_back(receive(0, (messages - 1 - m) % 4, 40));
  }
  Job job({.processes = 2, .outstanding = messages}, programs);
  expect_end(job);
  EXPECT_LE(job.most_inbox(), 64u << 10);
}

TEST(challenges, section_4_2_3_a_wanted_message_comes_although_others_fill_the_inbox) {
  Programs programs(2);
  for (int i = 0; i < 1000; ++i) programs[0].push_back(send(1, 0, 256));
  programs[0].push_back(send(1, 1, 256));
  // The last one first: the credit is used up by those before it.
  programs[1].push_back(receive(0, 1, 256));
  for (int i = 0; i < 1000; ++i) programs[1].push_back(receive(0, 0, 256));
  Job job({.processes = 2, .inbox = ByteCount::kib(16), .outstanding = 1}, programs);
  expect_end(job);
  EXPECT_LE(job.most_inbox(), 16u << 10);
}

TEST(challenges, section_4_2_5_everybody_sends_to_everybody_at_the_same_time) {
  const auto steps_of = [](std::uint32_t n) {
    Programs programs(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = 0; j < n; ++j) {
        if (i == j) continue;
        programs[i].push_back(receive(j, 0, 100));
        programs[i].push_back(send(j, 0, 100));
      }
    }
    Job job({.processes = n, .outstanding = 2 * n}, programs);
    int steps = 0;
    while (!job.decided() && steps < 10'000) {
      job.step();
      ++steps;
    }
    return steps;
  };
  // One sender after the other, each taking a step at least, would be N steps (equation 4.1).
  EXPECT_LT(steps_of(64), 64);
}

TEST(machine, a_process_sends_to_itself) {
  Programs programs(1);
  for (const std::uint32_t size : {0u, 10u, 300u, 5000u}) {
    programs[0].push_back(send(0, 0, size));
    programs[0].push_back(receive(0, 0, size));
  }
  programs[0].push_back(receive(0, 1, 9));
  programs[0].push_back(send(0, 1, 9));
  Job job({.processes = 1, .outstanding = 16}, programs);
  expect_end(job);
}

TEST(machine, a_message_longer_than_its_buffer_fails_its_receive_and_no_other) {
  for (const std::uint32_t size : {200u, 5000u}) {
    Programs programs = {{send(1, 0, size), send(1, 0, 50)},
                         {receive(0, 0, size - 1), receive(0, 0, 50)}};
    Job job({.processes = 2}, programs);
    ASSERT_TRUE(job.run()) << job.trouble();
    ASSERT_EQ(job.failures().size(), 1u);
    EXPECT_EQ(job.failures()[0].failure, Failure::too_long);
    EXPECT_EQ(job.failures()[0].size, size);
  }
}

TEST(machine, operations_with_a_peer_that_stays_away_fail_when_the_time_is_over) {
  Programs programs = {{receive(1, 3, 100)}, {}};
  Job job({.processes = 2, .give_up_after = Duration::milliseconds(5)}, programs);
  for (int i = 0; i < 10; ++i) job.step();
  job.kill(1);
  for (int i = 0; i < 20; ++i) job.step();
  EXPECT_TRUE(job.failures().empty());
  job.advance(Duration::milliseconds(6));
  for (int i = 0; i < 5; ++i) job.step();
  ASSERT_EQ(job.failures().size(), 1u);
  EXPECT_EQ(job.failures()[0].failure, Failure::peer_gone);
  EXPECT_EQ(job.failures()[0].peer, NodeId(1));
  EXPECT_EQ(job.failures()[0].flow.tag, Tag(3));
}

TEST(machine, a_process_that_joins_late_is_not_gone_since_the_beginning) {
  const Instant late = Instant() + Duration::seconds(100);
  MessageMachine machine({.self = NodeId(0), .nodes = 2}, Instant());
  std::array<std::byte, 8> room{};
  machine.expect(late, NodeId(1));
  const Operation operation = machine.receive(NodeId(1), {}, room);
  EXPECT_EQ(machine.next_deadline(), late + Duration::seconds(10));
  machine.on_deadline(late + Duration::seconds(9));
  EXPECT_FALSE(machine.is_done(operation));
}

TEST(machine, a_process_that_is_known_to_live_is_not_gone) {
  MessageMachine machine({.self = NodeId(0), .nodes = 2}, Instant());
  std::array<std::byte, 8> room{};
  const Operation operation = machine.receive(NodeId(1), {}, room);
  const Instant late = Instant() + Duration::seconds(10);
  EXPECT_EQ(machine.overdue(Instant() + Duration::seconds(9)), std::nullopt);
  ASSERT_EQ(machine.overdue(late), NodeId(1));
  machine.excuse(late, NodeId(1));
  EXPECT_EQ(machine.overdue(late), std::nullopt);
  machine.on_deadline(late + Duration::seconds(9));
  EXPECT_FALSE(machine.is_done(operation));
  machine.on_deadline(late + Duration::seconds(10));
  EXPECT_TRUE(machine.is_done(operation));
}

TEST(machine, calls_one_process_gone_at_a_time_so_that_another_may_be_excused) {
  MessageMachine machine({.self = NodeId(0), .nodes = 3}, Instant());
  std::array<std::byte, 8> room{};
  const std::array operations{machine.receive(NodeId(1), {}, room),
                              machine.receive(NodeId(2), {}, room)};
  const Instant late = Instant() + Duration::seconds(10);
  const NodeId first = machine.overdue(late).value();
  machine.on_deadline(late);
  const NodeId second = machine.overdue(late).value();
  ASSERT_NE(first, second);
  machine.excuse(late, second);
  EXPECT_TRUE(machine.is_done(operations[first.value() - 1]));
  EXPECT_FALSE(machine.is_done(operations[second.value() - 1]));
}

struct CountingSink final : Sink {
  void take(std::span<const std::byte>) override { ++taken; }
  void fail(Failure failure) override { failures.push_back(failure); }
  int taken = 0;
  std::vector<Failure> failures;
};

/// To which two processes have been connected. It listens to both, and awaits the first.
struct Listener {
  explicit Listener(std::uint32_t self = 0, const FabricLimits& fabric = {})
      : machine({.self = NodeId(self), .nodes = 3, .fabric = fabric}, Instant()) {
    machine.listen(NodeId(1), {}, awaited, true);
    machine.listen(NodeId(2), {}, other);
  }
  void hear(CompletionKind kind, std::uint32_t peer, Instant at = {}) {
    machine.on_completion(at, {.kind = kind, .peer = NodeId(peer)}, out);
  }
  MessageMachine machine;
  TransmitQueue out;
  CountingSink awaited, other;
};

TEST(machine, an_awaited_sink_fails_when_its_peer_was_here_and_stays_away) {
  Listener one;
  EXPECT_EQ(one.machine.next_deadline(), Instant::never()) << "it may join late";
  for (const std::uint32_t peer : {1u, 2u}) one.hear(CompletionKind::peer_up, peer);
  EXPECT_EQ(one.machine.next_deadline(), Instant::never());
  const Instant lost = Instant() + Duration::seconds(100);
  for (const std::uint32_t peer : {1u, 2u}) one.hear(CompletionKind::peer_down, peer, lost);
  EXPECT_EQ(one.machine.next_deadline(), lost + Duration::seconds(10));
  one.machine.on_deadline(lost + Duration::seconds(9));
  EXPECT_TRUE(one.awaited.failures.empty());
  one.machine.on_deadline(lost + Duration::seconds(10));
  EXPECT_THAT(one.awaited.failures, ::testing::ElementsAre(Failure::peer_gone));
  EXPECT_TRUE(one.other.failures.empty()) << "nobody awaits its messages";
  EXPECT_EQ(one.machine.next_deadline(), Instant::never());
}

TEST(machine, an_awaited_sink_does_not_fail_when_its_peer_comes_back_in_time) {
  Listener one;
  one.hear(CompletionKind::peer_up, 1);
  one.hear(CompletionKind::peer_down, 1);
  one.hear(CompletionKind::peer_up, 1);
  EXPECT_EQ(one.machine.next_deadline(), Instant::never());
  one.machine.on_deadline(Instant() + Duration::seconds(100));
  EXPECT_TRUE(one.awaited.failures.empty());
}

TEST(machine, a_deadline_of_another_operation_leaves_sinks_of_peers_that_never_came) {
  Listener one;
  std::array<std::byte, 8> room{};
  one.hear(CompletionKind::peer_up, 2);
  one.hear(CompletionKind::peer_down, 2);
  const Operation operation = one.machine.receive(NodeId(2), {.tag = Tag(7)}, room);
  one.machine.on_deadline(Instant() + Duration::seconds(10));
  EXPECT_TRUE(one.machine.is_done(operation));
  EXPECT_TRUE(one.awaited.failures.empty());
}

TEST(machine, an_awaited_sink_does_not_fail_where_peers_are_down_while_they_compute) {
  Listener one(0, {.needs_polls = true});
  one.hear(CompletionKind::peer_up, 1);
  one.hear(CompletionKind::peer_down, 1);
  EXPECT_EQ(one.machine.next_deadline(), Instant::never());
}

TEST(machine, an_awaited_sink_does_not_fail_once_the_program_is_over) {
  Listener one(2);
  one.hear(CompletionKind::peer_up, 1);
  one.machine.finish();
  one.hear(CompletionKind::peer_down, 1);
  one.machine.on_deadline(Instant() + Duration::seconds(100));
  EXPECT_TRUE(one.awaited.failures.empty());
}

TEST(machine, a_look_for_deadlines_does_not_take_longer_in_a_larger_job) {
  constexpr std::uint32_t nodes = 1000;
  constexpr std::uint64_t turns = 10'000;
  MessageMachine machine({.self = NodeId(0), .nodes = nodes}, Instant());
  TransmitQueue out;
  std::array<std::byte, 8> room{};
  for (std::uint32_t i = 1; i < nodes; ++i) (void)machine.receive(NodeId(i), {}, room);
  EXPECT_EQ(machine.next_deadline(), Instant() + Duration::seconds(10));
  for (std::uint32_t i = 1; i < nodes; ++i) {
    machine.on_completion(Instant(), {.kind = CompletionKind::peer_up, .peer = NodeId(i)}, out);
    EXPECT_EQ(machine.next_deadline() == Instant::never(), i == nodes - 1);
  }
  const Instant lost = Instant() + Duration::seconds(1);
  machine.on_completion(lost, {.kind = CompletionKind::peer_down, .peer = NodeId(77)}, out);
  for (std::uint64_t i = 0; i < turns; ++i) {
    ASSERT_EQ(machine.next_deadline(), lost + Duration::seconds(10));
  }
  EXPECT_LE(machine.deadline_looks(), 2 * turns);
}

TEST(machine, a_new_life_is_told_that_what_it_asks_for_was_not_kept) {
  Programs programs = {{send(1, 0, 5000), receive(1, 1, 8)},
                       {receive(0, 0, 5000), receive(0, 2, 8)}};
  Job job({.processes = 2, .outstanding = 1}, programs);
  while (job.started(1) < 2) job.step();
  for (int i = 0; i < 20; ++i) job.step();
  EXPECT_EQ(job.machine(0).outbox_bytes(), ByteCount(0));
  job.kill(1);
  job.restart(1);
  for (int i = 0; i < 50 && job.failures().empty(); ++i) job.step();
  ASSERT_FALSE(job.failures().empty());
  EXPECT_EQ(job.failures()[0].failure, Failure::not_kept);
}

/// A machine without a fabric or a peer: the test plays both.
struct Lone {
  explicit Lone(ByteCount inbox = ByteCount::kib(64))
      : machine({.self = NodeId(0), .nodes = 2, .inbox = inbox}, Instant()) {
    up();
  }
  void up() {
    machine.on_completion(Instant(), {.kind = CompletionKind::peer_up, .peer = NodeId(1)}, out);
  }
  void hear(const Frame& frame, std::span<const std::byte> body = {}) {
    std::vector<std::byte> bytes(longest_control_frame);
    wire::Writer writer(bytes);
    encode(writer, frame);
    bytes.resize(writer.size());
    bytes.insert(bytes.end(), body.begin(), body.end());
    machine.on_completion(Instant(), {.peer = NodeId(1), .data = bytes}, out);
  }
  std::vector<FrameKind> said() {
    machine.pump(out);
    std::vector<FrameKind> kinds;
    for (const TxOp& op : out.tx.view()) {
      const auto frame = decode(op.segments[0]);
      kinds.push_back(frame ? frame->kind : FrameKind::eager);  // its body is another segment
    }
    out.posted(out.tx.size());
    return kinds;
  }
  MessageMachine machine;
  TransmitQueue out;
};

TEST(machine, refuses_frames_before_a_hello_and_beyond_the_credit) {
  const std::vector<std::byte> body(1000);
  const Frame eager{.kind = FrameKind::eager, .size = body.size()};
  Lone before;
  before.hear(eager, body);
  EXPECT_EQ(before.machine.refused_frames(), 1u);
  EXPECT_THAT(before.machine.offenders(), ::testing::ElementsAre(NodeId(1)));

  Lone flooded(ByteCount::kib(32));
  flooded.hear({.kind = FrameKind::hello, .version = protocol_version, .granted = 1 << 16});
  Frame next = eager;
  for (; next.serial < 100; ++next.serial) flooded.hear(next, body);
  EXPECT_GT(flooded.machine.refused_frames(), 0u);
  EXPECT_LE(flooded.machine.inbox_bytes(), ByteCount::kib(32));

  Lone other_version;
  std::array<std::byte, 8> room{};
  const Operation waits = other_version.machine.receive(NodeId(1), {}, room);
  other_version.hear({.kind = FrameKind::hello, .version = protocol_version + 1});
  ASSERT_TRUE(other_version.machine.is_done(waits));
  EXPECT_EQ(other_version.machine.take(waits).failure, Failure::bad_protocol);
}

TEST(machine, a_small_message_leaves_at_once_and_a_large_one_is_announced) {
  Lone one;
  const std::vector<std::byte> small(100), large(100'000);
  (void)one.machine.take(one.machine.send(NodeId(1), {}, small));
  const Operation waits = one.machine.send(NodeId(1), {}, large);
  EXPECT_THAT(one.said(), ::testing::ElementsAre(FrameKind::hello));
  one.hear({.kind = FrameKind::hello, .version = protocol_version, .granted = 1 << 16});
  EXPECT_THAT(one.said(), ::testing::ElementsAre(FrameKind::eager, FrameKind::announce));
  EXPECT_FALSE(one.machine.is_done(waits));
  one.hear({.kind = FrameKind::have, .serial = 1});
  EXPECT_TRUE(one.machine.is_done(waits)) << "the peer has it from an earlier life";
}

TEST(machine, sends_on_the_level_of_this_process_else_of_the_receiver_as_it_is_when_it_sends) {
  MessageMachine machine({.self = NodeId(0), .nodes = 3, .level = ServiceLevel(1)}, Instant());
  TransmitQueue out;
  const auto level_to = [&](std::uint32_t peer) {
    Completion up{.kind = CompletionKind::peer_up, .peer = NodeId(peer)};
    up.incarnation = Incarnation(1);
    machine.on_completion(Instant(), up, out);
    (void)machine.send(NodeId(peer), {}, std::span<const std::byte>());
    machine.pump(out);
    EXPECT_FALSE(out.tx.empty());
    const std::uint8_t level = out.tx.empty() ? 0 : out.tx.view().back().service_level.value();
    out.posted(out.tx.size());
    return level;
  };
  EXPECT_EQ(level_to(1), 1) << "the job's";
  using Levels = std::vector<std::optional<std::uint8_t>>;
  machine.set_levels(Levels{std::nullopt, 5, std::nullopt});
  EXPECT_EQ(level_to(1), 5);
  EXPECT_EQ(level_to(2), 1);
  machine.set_levels(Levels{3, 5, std::nullopt});
  EXPECT_EQ(level_to(1), 3);
  EXPECT_EQ(level_to(2), 3);
}

/// The frames of a machine, one by one, when a test plays its peer and its fabric.
class Conversation {
 public:
  explicit Conversation(const MessageOptions& options) : machine(options, Instant()) {}
  void event(CompletionKind kind, std::uint32_t life) {
    Completion completion;
    completion.kind = kind;
    completion.peer = NodeId(1);
    completion.incarnation = Incarnation(life);
    machine.on_completion(Instant(), completion, out_);
  }
  void hears(const Frame& frame) {
    std::array<std::byte, longest_control_frame> room;
    wire::Writer writer(room);
    encode(writer, frame);
    Completion completion;
    completion.kind = CompletionKind::received;
    completion.peer = NodeId(1);
    completion.data = writer.view();
    machine.on_completion(Instant(), completion, out_);
  }
  /// Everything that it has to say now.
  std::vector<Frame> says() {
    machine.pump(out_);
    std::vector<Frame> frames;
    for (const TxOp& op : out_.tx) {
      const auto frame = decode(op.segments[0]);
      EXPECT_TRUE(frame.has_value());
      if (frame) frames.push_back(*frame);
    }
    out_.posted(out_.tx.size());
    return frames;
  }
  MessageMachine machine;

 private:
  TransmitQueue out_;
};

TEST(machine, a_message_with_a_head_leaves_at_once_also_where_messages_are_kept) {
  Conversation with({.self = NodeId(0), .nodes = 2, .retain = true});
  const Frame hello{.kind = FrameKind::hello, .version = protocol_version, .granted = 1 << 20};
  const std::vector<std::byte> head(16, std::byte{1}), body(8, std::byte{2});
  with.event(CompletionKind::peer_up, 1);
  with.hears(hello);
  (void)with.says();
  std::vector<std::byte> left;
  const auto operation = with.machine.send_at_once(
      NodeId(1), {.tag = Tag(1)}, head, body, [&](std::span<const std::byte> header) {
        left.assign(header.begin(), header.end());
        left.insert(left.end(), body.begin(), body.end());
        return true;
      });
  ASSERT_TRUE(operation.has_value());
  const auto first = decode_eager(left);
  ASSERT_TRUE(first.has_value());
  // A later life of its receiver gets the same.
  with.event(CompletionKind::peer_down, 1);
  with.event(CompletionKind::peer_up, 2);
  with.hears(hello);
  with.hears({.kind = FrameKind::get, .flow = {.tag = Tag(1)}});
  const auto again = with.says();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again.back().kind, FrameKind::eager);
  EXPECT_EQ(again.back().digest, first->digest);
}

// Connections that cross may be there for one side only, for a moment.
TEST(machine, tells_a_new_life_in_each_connection_that_it_has_to_ask) {
  Conversation with({.self = NodeId(0), .nodes = 2, .retain = true});
  const Frame hello{.kind = FrameKind::hello, .version = protocol_version, .granted = 1 << 20};
  (void)with.machine.take(with.machine.send(NodeId(1), {.tag = Tag(1)}, {}));
  with.event(CompletionKind::peer_up, 1);
  with.hears(hello);
  EXPECT_FALSE(with.says().front().pulls);
  with.hears({.kind = FrameKind::credit, .granted = 1 << 20, .received = 1});
  with.event(CompletionKind::peer_down, 1);

  // The first time it never hears of the connection; the second time the connection is lost before
  // it has read the hello.
  with.event(CompletionKind::peer_up, 2);
  EXPECT_TRUE(with.says().front().pulls);
  with.event(CompletionKind::peer_down, 2);
  with.event(CompletionKind::peer_up, 2);
  with.hears(hello);
  EXPECT_TRUE(with.says().front().pulls);
  with.event(CompletionKind::peer_down, 2);
  with.event(CompletionKind::peer_up, 2);
  with.hears(hello);
  EXPECT_TRUE(with.says().front().pulls);

  // It asks, so it has heard.
  with.hears({.kind = FrameKind::get, .flow = {.tag = Tag(1)}});
  const auto answer = with.says();
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].kind, FrameKind::eager);
  with.event(CompletionKind::peer_down, 2);
  with.event(CompletionKind::peer_up, 2);
  with.hears(hello);
  // Messages of the first life are not pushed to this one, however often connections break.
  const auto after = with.says();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_TRUE(after[0].pulls);
}

}  // namespace
}  // namespace weft::message::testing

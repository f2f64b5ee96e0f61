// SPDX-License-Identifier: Apache-2.0
// A message that follows the last one of its flow, on one connection, does not repeat its name.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/message/machine.hpp"
#include "core/message/taken_for_test.hpp"

namespace weft::message {
namespace {

using testing::Taken;

constexpr NodeId peer(1);
constexpr FlowKey a{.generation = Generation(1), .tag = Tag(7)};
constexpr FlowKey b{.generation = Generation(1), .tag = Tag(8)};

/// One machine whose peer is the test.
class NextFrame : public ::testing::Test {
 protected:
  NextFrame() { connect(); }
  void connect(Incarnation life = Incarnation(1)) {
    machine_.on_completion(
        Instant(), {.kind = CompletionKind::peer_up, .peer = peer, .incarnation = life}, out_);
    come(encoded({.kind = FrameKind::hello, .version = protocol_version, .granted = 1 << 20}));
    pump();
  }
  void disconnect() {
    machine_.on_completion(Instant(), {.kind = CompletionKind::peer_down, .peer = peer}, out_);
  }
  static std::vector<std::byte> encoded(const Frame& frame) {
    std::vector<std::byte> bytes(longest_control_frame);
    wire::Writer writer(bytes);
    encode(writer, frame);
    bytes.resize(writer.size());
    return bytes;
  }
  void come(const std::vector<std::byte>& bytes) {
    machine_.on_completion(Instant(), {.peer = peer, .data = bytes}, out_);
  }
  void come_eager(const FlowKey& flow, Serial serial, char content, ToldDigest digest = 0) {
    auto bytes =
        encoded({.kind = FrameKind::eager, .flow = flow, .serial = serial, .digest = digest});
    bytes.push_back(static_cast<std::byte>(content));
    come(bytes);
  }
  void come_next(Serial serial, char content, ToldDigest digest = 0) {
    std::vector<std::byte> bytes(next_header_bytes + 1, static_cast<std::byte>(content));
    const std::uint64_t header = next_header(serial, digest);
    std::memcpy(bytes.data(), &header, sizeof header);
    come(bytes);
  }
  void pump() { (void)say(); }
  /// The frames that it sends now.
  std::vector<Frame> say() {
    machine_.pump(out_);
    std::vector<Frame> frames;
    for (const TxOp& op : out_.tx.view()) {
      if (const auto frame = decode(op.segments[0])) frames.push_back(*frame);
    }
    out_.posted(out_.tx.size());
    return frames;
  }
  bool is_offended() const { return !machine_.offenders().empty(); }
  /// The bytes before a message's content.
  std::size_t send(const FlowKey& flow) {
    const std::array<std::byte, 8> content{};
    std::size_t header = 0;
    const auto left =
        machine_.send_at_once(peer, flow, {}, content, [&](std::span<const std::byte> bytes) {
          header = bytes.size();
          return true;
        });
    EXPECT_TRUE(left.has_value());
    return header;
  }

  MessageMachine machine_{{.self = NodeId(0), .nodes = 2, .inbox = ByteCount::mib(1)}, Instant()};
  TransmitQueue out_{64, 16 << 10};
  Taken to_a_, to_b_;
};

TEST_F(NextFrame, names_are_sent_where_the_flow_changes_and_on_each_connection) {
  EXPECT_EQ(send(a), header_bytes);
  EXPECT_EQ(send(a), next_header_bytes);
  EXPECT_EQ(send(a), next_header_bytes);
  EXPECT_EQ(send(b), header_bytes);
  EXPECT_EQ(send(b), next_header_bytes);
  EXPECT_EQ(send(a), header_bytes);
  // Through the queue messages leave with their names, too.
  const std::array<std::byte, 8> content{};
  (void)machine_.send(peer, b, content);
  pump();
  EXPECT_EQ(send(a), header_bytes);
  // All of them have come: none is sent again.
  come(encoded({.kind = FrameKind::credit, .granted = 1 << 20, .received = 8}));
  disconnect();
  connect();
  EXPECT_EQ(send(a), header_bytes);
  EXPECT_EQ(send(a), next_header_bytes);
}

TEST_F(NextFrame, has_its_name_where_many_flows_were_used_in_between) {
  EXPECT_EQ(send(a), header_bytes);
  EXPECT_EQ(send(a), next_header_bytes);
  std::uint64_t sent = 2;
  for (std::uint32_t tag = 100; tag < 400; ++tag) {
    EXPECT_EQ(send({.generation = Generation(1), .tag = Tag(tag)}), header_bytes);
    // It has come: its flow may rest.
    come(encoded({.kind = FrameKind::credit, .granted = 1 << 20, .received = ++sent}));
  }
  EXPECT_LT(machine_.active_flows(), 300u);
  EXPECT_EQ(send(a), header_bytes);
  EXPECT_EQ(send(a), next_header_bytes);
}

TEST_F(NextFrame, goes_to_the_flow_of_the_last_message) {
  machine_.listen(peer, a, to_a_);
  machine_.listen(peer, b, to_b_);
  come_eager(a, 0, '0');
  come_next(1, '1');
  come_next(2, '2');
  come_eager(b, 0, 'x');
  come_next(1, 'y');
  come_eager(a, 3, '3');
  come_eager(b, 2, 'z');
  come_eager(a, 4, '4');
  come_next(5, '5');
  EXPECT_EQ(to_a_.text, "012345");
  EXPECT_EQ(to_b_.text, "xyz");
  EXPECT_FALSE(is_offended());
}

TEST_F(NextFrame, finds_posted_receives_and_waits_for_later_ones) {
  std::array<std::byte, 1> first{}, second{};
  const Operation one = machine_.receive(peer, a, first);
  come_eager(a, 0, '0');
  come_next(1, '1');
  const Operation two = machine_.receive(peer, a, second);
  ASSERT_TRUE(machine_.is_done(one) && machine_.is_done(two));
  EXPECT_EQ(first[0], std::byte{'0'});
  EXPECT_EQ(second[0], std::byte{'1'});
}

TEST_F(NextFrame, that_follows_nothing_is_refused) {
  machine_.listen(peer, a, to_a_);
  come_next(0, '0');
  EXPECT_TRUE(is_offended());
  EXPECT_EQ(to_a_.text, "");
}

TEST_F(NextFrame, with_another_number_is_refused) {
  machine_.listen(peer, a, to_a_);
  come_eager(a, 0, '0');
  come_next(2, '2');
  EXPECT_TRUE(is_offended());
  EXPECT_EQ(to_a_.text, "0");
}

TEST_F(NextFrame, does_not_follow_a_message_of_an_earlier_connection) {
  machine_.listen(peer, a, to_a_);
  come_eager(a, 0, '0');
  disconnect();
  connect();
  come_next(1, '1');
  EXPECT_TRUE(is_offended());
  EXPECT_EQ(to_a_.text, "0");
}

TEST_F(NextFrame, numbers_are_compared_by_their_low_bytes) {
  machine_.listen(peer, a, to_a_);
  come_eager(a, 0, '0');
  come_eager(a, 0xff'ffff, 'x');  // early: it waits
  come_next(0x100'0000, 'y');
  EXPECT_FALSE(is_offended());
  EXPECT_EQ(to_a_.text, "0");
}

/// The peer's life ends, and another one connects.
TEST_F(NextFrame, of_a_later_life_is_compared_with_what_the_earlier_one_said) {
  machine_.listen(peer, a, to_a_);
  come_eager(a, 0, '0', 70);
  come_next(1, '1', 71);
  disconnect();
  connect(Incarnation(2));
  come_eager(a, 0, '0', 70);
  come_next(1, '1', 71);
  come_next(2, '2', 72);
  EXPECT_EQ(to_a_.text, "012");
  disconnect();
  connect(Incarnation(3));
  come_eager(a, 1, '1', 71);
  come_next(2, 'x', 99);
  come_next(3, '3', 73);
  EXPECT_EQ(to_a_.text, "012");
  const std::vector<Frame> said = say();
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back().kind, FrameKind::diverged);
  EXPECT_EQ(said.back().serial, 2u);
}

}  // namespace
}  // namespace weft::message

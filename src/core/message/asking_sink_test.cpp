// SPDX-License-Identifier: Apache-2.0
// A sink whose peer sends older messages only when asked asks for many at a time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/message/machine.hpp"
#include "core/message/taken_for_test.hpp"

namespace weft::message {
namespace {

using testing::Taken;

constexpr NodeId peer(1);
constexpr FlowKey flow{.generation = Generation(1), .tag = Tag(7)};

/// One machine whose peer, which keeps messages for it, is the test.
class AskingSink : public ::testing::Test {
 protected:
  AskingSink() {
    machine_.listen(peer, flow, taken_);
    connect();
  }
  void connect() {
    machine_.on_completion(
        Instant(), {.kind = CompletionKind::peer_up, .peer = peer, .incarnation = Incarnation(1)},
        out_);
    hear(
        {.kind = FrameKind::hello, .pulls = true, .version = protocol_version, .granted = 1 << 20});
  }
  void hear(const Frame& frame, const std::string& content = {}) {
    std::vector<std::byte> bytes(longest_control_frame);
    wire::Writer writer(bytes);
    encode(writer, frame);
    bytes.resize(writer.size());
    for (const char c : content) bytes.push_back(static_cast<std::byte>(c));
    machine_.on_completion(Instant(), {.peer = peer, .data = bytes}, out_);
  }
  void answer(Serial serial, char content) {
    hear({.kind = FrameKind::eager, .asked = true, .flow = flow, .serial = serial},
         std::string(1, content));
  }
  /// The messages that it asks for now.
  std::vector<Serial> asks() {
    std::vector<Serial> asked;
    for (bool has_more = true; has_more;) {
      has_more = !machine_.pump(out_);
      for (const TxOp& op : out_.tx.view()) {
        const auto frame = decode(op.segments[0]);
        if (frame && frame->kind == FrameKind::get) asked.push_back(frame->serial);
      }
      out_.posted(out_.tx.size());
    }
    return asked;
  }
  static std::vector<Serial> from_to(Serial from, Serial to) {
    std::vector<Serial> all;
    for (Serial s = from; s < to; ++s) all.push_back(s);
    return all;
  }

  MessageMachine machine_{{.self = NodeId(0), .nodes = 2, .inbox = ByteCount::mib(1)}, Instant()};
  TransmitQueue out_{64, 16 << 10};
  Taken taken_;
};

TEST_F(AskingSink, has_many_requests_under_way) {
  EXPECT_EQ(asks(), from_to(0, 64));
  for (Serial s = 0; s < 31; ++s) answer(s, 'a');
  EXPECT_EQ(asks(), from_to(64, 64)) << "half of them are still to come";
  answer(31, 'b');
  EXPECT_EQ(asks(), from_to(64, 96));
  EXPECT_EQ(taken_.text, std::string(31, 'a') + 'b');
}

TEST_F(AskingSink, takes_messages_that_come_by_themselves_from_some_place_on) {
  (void)asks();
  for (Serial s = 0; s < 3; ++s) answer(s, 'a');
  // The peer sends a new one before it has heard of the requests, and answers those that it can.
  hear({.kind = FrameKind::eager, .flow = flow, .serial = 5}, "d");
  answer(3, 'b');
  answer(4, 'c');
  EXPECT_EQ(taken_.text, "aaabcd");
  hear({.kind = FrameKind::eager, .flow = flow, .serial = 6}, "e");
  for (Serial s = 7; s < 200; ++s) hear({.kind = FrameKind::eager, .flow = flow, .serial = s}, "f");
  EXPECT_EQ(asks(), std::vector<Serial>{});
  EXPECT_EQ(taken_.text, "aaabcde" + std::string(193, 'f'));
}

TEST_F(AskingSink, asks_again_for_what_is_not_kept_when_it_gets_there) {
  (void)asks();
  hear({.kind = FrameKind::gone, .flow = flow, .serial = 2});
  answer(0, 'a');
  EXPECT_EQ(asks(), std::vector<Serial>{});
  answer(1, 'b');
  EXPECT_EQ(asks(), from_to(2, 3));
  hear({.kind = FrameKind::gone, .flow = flow, .serial = 2});
  EXPECT_EQ(taken_.text, "ab!");
}

TEST_F(AskingSink, asks_anew_on_another_connection) {
  (void)asks();
  answer(0, 'a');
  machine_.on_completion(Instant(), {.kind = CompletionKind::peer_down, .peer = peer}, out_);
  connect();
  EXPECT_EQ(asks(), from_to(1, 65));
}

}  // namespace
}  // namespace weft::message

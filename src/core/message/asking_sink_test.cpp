// SPDX-License-Identifier: Apache-2.0
// A sink whose peer sends older messages only when asked asks for many at a time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/message/one_machine_for_test.hpp"
#include "core/message/taken_for_test.hpp"

namespace weft::message {
namespace {

using testing::OneMachine;
using testing::Taken;

/// Its peer keeps messages for it.
class AskingSink : public OneMachine {
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
  void answer(Serial serial, char content) {
    hear({.kind = FrameKind::eager, .asked = true, .flow = flow, .serial = serial},
         std::string(1, content));
  }
  /// The messages that it asks for now.
  std::vector<Serial> asks() {
    std::vector<Serial> asked;
    for (const Frame& frame : leave(FrameKind::get)) asked.push_back(frame.serial);
    return asked;
  }
  /// The peer answers requests, so many of them from the first.
  void get_going(Serial until) {
    for (Serial s = taken_.text.size(); s < until; ++s) {
      (void)asks();
      answer(s, 'a');
    }
    (void)asks();
  }
  static std::vector<Serial> from_to(Serial from, Serial to) {
    std::vector<Serial> all;
    for (Serial s = from; s < to; ++s) all.push_back(s);
    return all;
  }

  Taken taken_;
};

TEST_F(AskingSink, asks_for_one_until_the_peer_has_any) {
  EXPECT_EQ(asks(), from_to(0, 1));
  EXPECT_EQ(asks(), from_to(1, 1));
}

TEST_F(AskingSink, has_the_more_requests_under_way_the_more_come) {
  EXPECT_EQ(asks(), from_to(0, 1));
  answer(0, 'a');
  EXPECT_EQ(asks(), from_to(1, 3));
  answer(1, 'a');
  EXPECT_EQ(asks(), from_to(3, 6));
  get_going(100);
  EXPECT_EQ(taken_.text, std::string(100, 'a'));
}

TEST_F(AskingSink, has_no_more_than_64_requests_under_way) {
  Serial asked = 0;
  for (Serial s = 0; s < 1000; ++s) {
    asked += asks().size();
    EXPECT_LE(asked, s + 64);
    EXPECT_TRUE(s < 10 || asked >= s + 32) << s;
    answer(s, 'a');
  }
}

TEST_F(AskingSink, takes_messages_that_come_by_themselves_from_some_place_on) {
  get_going(10);
  // The peer sends a new one before it has heard of the requests, and answers those that it can.
  hear({.kind = FrameKind::eager, .flow = flow, .serial = 12}, "d");
  answer(10, 'b');
  answer(11, 'c');
  EXPECT_EQ(taken_.text, std::string(10, 'a') + "bcd");
  for (Serial s = 13; s < 200; ++s) {
    hear({.kind = FrameKind::eager, .flow = flow, .serial = s}, "f");
  }
  EXPECT_EQ(asks(), std::vector<Serial>{});
  EXPECT_EQ(taken_.text, std::string(10, 'a') + "bcd" + std::string(187, 'f'));
}

TEST_F(AskingSink, asks_again_for_what_is_not_kept_when_it_gets_there) {
  get_going(10);
  hear({.kind = FrameKind::gone, .flow = flow, .serial = 12});
  answer(10, 'b');
  EXPECT_EQ(asks(), std::vector<Serial>{});
  answer(11, 'c');
  EXPECT_EQ(asks(), from_to(12, 13));
  hear({.kind = FrameKind::gone, .flow = flow, .serial = 12});
  EXPECT_EQ(taken_.text, std::string(10, 'a') + "bc!");
}

TEST_F(AskingSink, asks_anew_on_another_connection) {
  get_going(10);
  machine_.on_completion(Instant(), {.kind = CompletionKind::peer_down, .peer = peer}, out_);
  connect();
  EXPECT_EQ(asks(), from_to(10, 11));
}

/// Its peer asks for messages that do not exist yet.
class AskedAhead : public OneMachine {
 protected:
  void connect(std::uint64_t granted, const std::vector<Serial>& asked = {0, 1, 2}) {
    machine_.on_completion(
        Instant(), {.kind = CompletionKind::peer_up, .peer = peer, .incarnation = Incarnation(1)},
        out_);
    hear({.kind = FrameKind::hello, .version = protocol_version, .granted = granted});
    for (const Serial s : asked) hear({.kind = FrameKind::get, .flow = flow, .serial = s});
    (void)sent();
  }
  void send() { machine_.send(peer, flow, std::as_bytes(std::span("abc", 3))); }
  /// Whether the messages that leave now are answers.
  std::vector<bool> sent() {
    std::vector<bool> are_answers;
    for (const Frame& frame : leave(FrameKind::eager)) are_answers.push_back(frame.asked);
    return are_answers;
  }
};

TEST_F(AskedAhead, hears_by_a_message_that_comes_by_itself_that_it_need_not_ask) {
  connect(1 << 20);
  for (int i = 0; i < 3; ++i) send();
  EXPECT_EQ(sent(), (std::vector{false, false, false}));
  send();
  EXPECT_EQ(sent(), std::vector{false});
}

TEST_F(AskedAhead, gets_answers_from_the_first_that_has_no_room_on) {
  connect(credit_cost(3));
  for (int i = 0; i < 2; ++i) send();
  EXPECT_EQ(sent(), (std::vector{true, false})) << "answers leave first";
}

TEST_F(AskedAhead, has_no_messages_in_the_queue_that_it_asked_for) {
  connect(0, {});
  for (Serial serial = 0; serial < 3; ++serial) {
    send();
    EXPECT_EQ(machine_.last_sent_to(peer).serial, serial);
    EXPECT_TRUE(machine_.is_queued(peer, {flow, serial}));
  }
  EXPECT_EQ(machine_.queued_to(peer), 3U);
  hear({.kind = FrameKind::get, .flow = flow, .serial = 2});
  EXPECT_EQ(machine_.queued_to(peer), 2U);
  EXPECT_FALSE(machine_.is_queued(peer, {flow, 2}));
  EXPECT_TRUE(machine_.is_queued(peer, {flow, 1}));
  EXPECT_EQ(sent(), std::vector{true});
}

TEST_F(AskedAhead, leaves_no_entries_of_messages_that_it_asked_for_behind_one_that_waits) {
  connect(0, {});
  const FlowKey other{.generation = Generation(1), .tag = Tag(8)};
  machine_.send(peer, other, std::as_bytes(std::span("abc", 3)));
  for (Serial serial = 0; serial < 20'000; ++serial) {
    send();
    hear({.kind = FrameKind::get, .flow = flow, .serial = serial});
    ASSERT_EQ(sent(), std::vector{true});
    ASSERT_EQ(machine_.queued_to(peer), 1U);
  }
}

TEST_F(AskedAhead, hears_no_later_one_by_itself_whose_predecessors_it_has_to_ask_for) {
  connect(1 << 20);
  send();
  send();
  // Nothing has left. A later connection begins with what no connection has seen.
  machine_.on_completion(Instant(), {.kind = CompletionKind::peer_down, .peer = peer}, out_);
  machine_.on_completion(
      Instant(), {.kind = CompletionKind::peer_up, .peer = peer, .incarnation = Incarnation(2)},
      out_);
  hear({.kind = FrameKind::hello, .pulls = true, .version = protocol_version, .granted = 1 << 20});
  EXPECT_EQ(sent(), std::vector<bool>{}) << "the peer asks for both";
  send();
  EXPECT_EQ(sent(), std::vector{false});
}

TEST_F(AskedAhead, gets_answers_where_it_has_no_room_for_what_comes_by_itself) {
  connect(0);
  for (int i = 0; i < 3; ++i) send();
  EXPECT_EQ(sent(), (std::vector{true, true, true}));
  send();
  EXPECT_EQ(sent(), std::vector<bool>{});
}

}  // namespace
}  // namespace weft::message

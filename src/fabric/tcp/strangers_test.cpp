// SPDX-License-Identifier: Apache-2.0
// A stranger to the job is turned away and harms nothing; a peer that breaks the protocol loses its
// connection and nothing else.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>

#include "base/rng.hpp"
#include "fabric/tcp/tcp_test_support.hpp"

namespace weft::tcp {
namespace {

// Two nodes of a job that talk to each other, and a place for strangers that connect.
class Strangers : public ::testing::Test {
 protected:
  Strangers() : a_(with_limits(0)), b_(with_limits(1)) {
    introduce(a_, b_);
    EXPECT_TRUE(drive(all_, [&] { return a_.is_up(b_.id()) && b_.is_up(a_.id()); }));
  }
  static TcpOptions with_limits(std::uint32_t self) {
    TcpOptions options = options_for(self);
    options.max_unauthenticated = 8;
    options.handshake_timeout = Duration::milliseconds(300);
    return options;
  }
  void expect_unharmed() {
    const std::size_t before = b_.messages.size();
    ASSERT_TRUE(a_.send(b_.id(), "still there?"));
    EXPECT_TRUE(drive(all_, [&] { return b_.messages.size() == before + 1; }));
    EXPECT_EQ(a_.events.size(), 1u);
    EXPECT_EQ(b_.events.size(), 1u);
  }

  Party a_, b_;
  std::array<Party*, 2> all_ = {&a_, &b_};
};

TEST_F(Strangers, bytes_that_are_no_hello_are_turned_away) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 60; ++i) {
    Stranger stranger(a_.fabric().address());
    std::vector<std::byte> garbage(kHelloSize + rng.below(5000));
    for (auto& byte : garbage) byte = static_cast<std::byte>(rng.next());
    stranger.send(garbage);
    // The greeting is all that anybody is told; a reset may swallow even that.
    EXPECT_LE(stranger.read_to_end(all_), static_cast<int>(kGreetingSize));
  }
  expect_unharmed();
}

TEST_F(Strangers, a_visitor_who_says_too_little_is_shown_out_in_time) {
  Stranger silent(a_.fabric().address());
  Stranger slow(a_.fabric().address());
  GreetingBytes greeting;
  ASSERT_TRUE(slow.read(all_, greeting));
  const JobKey key = handshake_key(bytes(kTestSecret), "test");
  const HelloBytes hello = encode(key, greeting, {NodeId(7), Incarnation(1), NodeId(0)});
  // One byte of a correct hello at a time, as long as somebody listens.
  std::size_t said = 0;
  EXPECT_TRUE(drive(all_, [&] {
    return said + 1 == kHelloSize || !slow.send(std::span(hello).subspan(said++, 1));
  }));
  EXPECT_EQ(slow.read_to_end(all_), 0);
  EXPECT_EQ(silent.read_to_end(all_), static_cast<int>(kGreetingSize));
  expect_unharmed();
}

TEST_F(Strangers, a_crowd_at_the_door_does_not_keep_peers_out) {
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.push_back(std::make_unique<Stranger>(a_.fabric().address()));
    a_.step();
  }
  Party c(with_limits(2));
  introduce(a_, c);
  std::array<Party*, 3> three = {&a_, &b_, &c};
  EXPECT_TRUE(drive(three, [&] { return a_.is_up(c.id()) && c.is_up(a_.id()); }));
  for (auto& stranger : crowd) {
    EXPECT_EQ(stranger->read_to_end(three), static_cast<int>(kGreetingSize));
  }
  EXPECT_EQ(a_.events.size(), 2u);
}

TEST_F(Strangers, a_wrong_secret_or_job_is_told_nothing) {
  for (const auto& [secret, job] : {std::pair{"another secret of 32 bytes.......", "test"},
                                    {kTestSecret.data(), "another job"}}) {
    const JobKey key = handshake_key(bytes(secret), job);
    Stranger stranger(a_.fabric().address());
    Answer answer;
    EXPECT_FALSE(stranger.join(all_, key, {NodeId(1), Incarnation(9), NodeId(0)}, answer));
    EXPECT_EQ(stranger.read_to_end(all_), 0);
  }
  expect_unharmed();
}

TEST_F(Strangers, a_node_with_a_wrong_secret_never_comes_up) {
  TcpOptions options = with_limits(2);
  std::ranges::reverse(options.secret);
  Party c(options);
  introduce(a_, c);
  std::array<Party*, 3> three = {&a_, &b_, &c};
  // Each handshake that fails takes a moment; many of them happen meanwhile.
  drive_for(three, Duration::milliseconds(300));
  EXPECT_TRUE(c.events.empty());
  expect_unharmed();
}

TEST_F(Strangers, a_recorded_hello_opens_nothing) {
  Party c(with_limits(2));
  introduce(a_, c);
  std::array<Party*, 3> three = {&a_, &b_, &c};
  ASSERT_TRUE(drive(three, [&] { return a_.is_up(c.id()); }));
  const JobKey key = handshake_key(bytes(kTestSecret), "test");
  GreetingBytes first;
  Stranger recorder(a_.fabric().address());
  ASSERT_TRUE(recorder.read(three, first));
  const HelloBytes recorded = encode(key, first, {NodeId(2), Incarnation(5), NodeId(0)});
  Stranger replayer(a_.fabric().address());
  ASSERT_TRUE(replayer.send(recorded));
  EXPECT_LE(replayer.read_to_end(three), static_cast<int>(kGreetingSize));
  EXPECT_EQ(a_.events.size(), 2u);
}

TEST_F(Strangers, all_peers_of_a_large_job_may_connect_at_once) {
  Party last(with_limits(40));
  introduce(a_, last);
  std::vector<std::unique_ptr<Stranger>> peers;
  for (int i = 0; i < 30; ++i) {
    peers.push_back(std::make_unique<Stranger>(a_.fabric().address()));
  }
  GreetingBytes greeting;
  ASSERT_TRUE(peers.back()->read(all_, greeting)) << "all have been accepted";
  Answer answer;
  const JobKey key = handshake_key(bytes(kTestSecret), "test");
  EXPECT_TRUE(peers.front()->join(all_, key, {NodeId(9), Incarnation(1), NodeId(0)}, answer))
      << "it was shown out";
}

TEST_F(Strangers, a_hello_for_another_node_or_from_an_unknown_one_is_refused) {
  const JobKey key = handshake_key(bytes(kTestSecret), "test");
  Answer answer;
  Stranger lost(a_.fabric().address());
  EXPECT_FALSE(lost.join(all_, key, {NodeId(1), Incarnation(1), NodeId(3)}, answer));
  Stranger unknown(a_.fabric().address());
  ASSERT_TRUE(unknown.join(all_, key, {NodeId(9), Incarnation(1), NodeId(0)}, answer));
  EXPECT_EQ(answer.verdict, Verdict::unknown_peer);
  Stranger beyond(a_.fabric().address());
  ASSERT_TRUE(beyond.join(all_, key, {NodeId(~0u), Incarnation(1), NodeId(0)}, answer));
  EXPECT_EQ(answer.verdict, Verdict::unknown_peer);
  Stranger twin(a_.fabric().address());
  ASSERT_TRUE(twin.join(all_, key, {NodeId(1), Incarnation(1), NodeId(0)}, answer));
  EXPECT_EQ(answer.verdict, Verdict::duplicate);
  expect_unharmed();
}

/// Collects the log while it lives.
class HeardLog {
 public:
  HeardLog() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_)));
  }
  ~HeardLog() { spdlog::set_default_logger(before_); }
  std::size_t count(std::string_view words) const {
    const std::string all = text_.str();
    std::size_t n = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1)) {
      ++n;
    }
    return n;
  }

 private:
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream text_;
};

/// A listener that greets and hangs up without an answer, `times` times, and is gone then.
void hang_up_on(Party& party, int times) {
  auto address = parse_address("127.0.0.1:0");
  ASSERT_TRUE(address.ok());
  const auto listener = listen_on(*address, {});
  ASSERT_TRUE(listener.ok());
  ASSERT_TRUE(party.fabric().add_peer(NodeId(3), Incarnation(1), to_text(*address)).ok());
  std::array<Party*, 1> alone = {&party};
  for (int i = 0; i < times; ++i) {
    Descriptor visitor;
    ASSERT_TRUE(drive(alone, [&] {
      int error = 0;
      if (!visitor.open()) visitor = accept_from(listener->get(), {}, error);
      return visitor.open();
    }));
    const GreetingBytes greeting = make_greeting();
    ASSERT_EQ(::send(visitor.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(greeting.size()));
    // It has said its hello when there is something to read.
    std::byte first{};
    ASSERT_TRUE(drive(
        alone, [&] { return ::recv(visitor.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1; }));
  }
  drive_for(alone, Duration::milliseconds(100));
}

TEST_F(Strangers, a_peer_that_dies_in_the_handshake_is_not_called_unfriendly) {
  const HeardLog log;
  hang_up_on(a_, 1);
  EXPECT_EQ(log.count("did not let this node in"), 0u);
}

TEST_F(Strangers, a_peer_that_hangs_up_again_and_again_is_named_once) {
  const HeardLog log;
  hang_up_on(a_, 4);
  EXPECT_EQ(log.count("node 3 at"), 1u);
}

// A peer that proved itself and then says something wrong.
class RoguePeer : public Strangers {
 protected:
  RoguePeer() {
    // Nobody listens at the address; the rogue connects by itself.
    EXPECT_TRUE(a_.fabric().add_peer(NodeId(2), Incarnation(1), "unix:@weft-nobody").ok());
    Answer answer;
    EXPECT_TRUE(rogue_.join(all_, key_, {NodeId(2), Incarnation(1), NodeId(0)}, answer));
    EXPECT_EQ(answer.verdict, Verdict::accepted);
    EXPECT_TRUE(drive(all_, [&] { return a_.is_up(NodeId(2)); }));
  }
  void expect_thrown_out() {
    EXPECT_TRUE(drive(all_, [&] { return !a_.is_up(NodeId(2)); }));
    EXPECT_EQ(rogue_.read_to_end(all_), 0);
    a_.events.erase(a_.events.begin() + 1, a_.events.end());
    expect_unharmed();
  }

  JobKey key_ = handshake_key(bytes(kTestSecret), "test");
  Stranger rogue_{a_.fabric().address()};
};

TEST_F(RoguePeer, loses_its_connection_over_a_huge_message) {
  ASSERT_TRUE(rogue_.send(encode(FrameHeader{FrameType::message, 0xFFFFFFFF})));
  expect_thrown_out();
}

TEST_F(RoguePeer, loses_its_connection_over_a_huge_write) {
  std::vector<std::byte> memory(100);
  const auto region = a_.fabric().expose(memory);
  ASSERT_TRUE(rogue_.send(encode(FrameHeader{FrameType::write, 0xFFFFFFFF, region->remote.key})));
  expect_thrown_out();
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte b) { return b == std::byte{}; }));
}

TEST_F(RoguePeer, loses_its_connection_over_bytes_that_are_no_frame) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  std::vector<std::byte> garbage(10'000);
  for (auto& byte : garbage) byte = static_cast<std::byte>(rng.next());
  garbage[5] = std::byte{1};
  ASSERT_TRUE(rogue_.send(garbage));
  EXPECT_TRUE(drive(all_, [&] { return !a_.is_up(NodeId(2)); }));
  a_.events.erase(a_.events.begin() + 1, a_.events.end());
  expect_unharmed();
}

TEST_F(RoguePeer, cannot_write_into_a_region_that_is_retracted_meanwhile) {
  std::vector<std::byte> memory(1000);
  const auto region = a_.fabric().expose(memory);
  const std::vector<std::byte> half(500, std::byte{1});
  ASSERT_TRUE(rogue_.send(encode(FrameHeader{FrameType::write, 1000, region->remote.key})));
  ASSERT_TRUE(rogue_.send(half));
  ASSERT_TRUE(drive(all_, [&] { return memory[499] == std::byte{1}; }));
  a_.fabric().retract(*region);
  rogue_.send(half);
  EXPECT_TRUE(drive(all_, [&] { return !a_.is_up(NodeId(2)); }));
  EXPECT_EQ(memory[500], std::byte{0});
}

TEST_F(RoguePeer, that_hangs_up_is_down) {
  { const Stranger gone = std::move(rogue_); }
  EXPECT_TRUE(drive(all_, [&] { return !a_.is_up(NodeId(2)); }));
}

}  // namespace
}  // namespace weft::tcp

// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/handshake.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace weft::tcp {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

const Hello kHello{NodeId(3), Incarnation(7), NodeId(5),      0x1111,
                   0x2222,    0x4444,         Incarnation(8), 0x5555};
const Answer kAnswer{Verdict::accepted, NodeId(5), Incarnation(9), 0x3333, 0x6666};

struct Fixture {
  JobKey key = handshake_key(bytes("0123456789abcdef"), "job 1");
  GreetingBytes greeting = make_greeting();
  HelloBytes hello = encode(key, greeting, kHello);
  AnswerBytes answer = encode(key, greeting, hello, kAnswer);
};

TEST(handshake, each_side_reads_what_the_other_says) {
  Fixture f;
  EXPECT_TRUE(check_greeting(f.greeting).ok());
  const auto hello = decode_hello(f.key, f.greeting, f.hello);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->from, kHello.from);
  EXPECT_EQ(hello->incarnation, kHello.incarnation);
  EXPECT_EQ(hello->to, kHello.to);
  EXPECT_EQ(hello->session, kHello.session);
  EXPECT_EQ(hello->ended_session, kHello.ended_session);
  EXPECT_EQ(hello->process, kHello.process);
  EXPECT_EQ(hello->known, kHello.known);
  EXPECT_EQ(hello->known_process, kHello.known_process);
  const auto answer = decode_answer(f.key, f.greeting, f.hello, f.answer);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->verdict, kAnswer.verdict);
  EXPECT_EQ(answer->from, kAnswer.from);
  EXPECT_EQ(answer->incarnation, kAnswer.incarnation);
  EXPECT_EQ(answer->session, kAnswer.session);
  EXPECT_EQ(answer->process, kAnswer.process);
}

TEST(handshake, a_stale_answer_names_the_life_that_is_known) {
  for (const bool is_connected : {false, true}) {
    const KnownLife known{Incarnation(0xfedc'ba98), is_connected};
    const KnownLife back = KnownLife::of_session(known.to_session());
    EXPECT_EQ(back.incarnation, known.incarnation);
    EXPECT_EQ(back.is_connected, is_connected);
  }
}

TEST(handshake, another_secret_or_job_proves_nothing) {
  Fixture f;
  for (const auto& [secret, job] : {std::pair{"0123456789abcdeF", "job 1"},
                                    {"0123456789abcdef", "job 2"},
                                    {"0123456789abcdef0", "job 1"},
                                    {"1 0123456789abcdef", "job"}}) {
    const JobKey other = handshake_key(bytes(secret), job);
    const auto hello = decode_hello(other, f.greeting, f.hello);
    ASSERT_FALSE(hello.ok());
    EXPECT_EQ(hello.error().code, ErrorCode::unauthorised);
    EXPECT_FALSE(decode_answer(other, f.greeting, f.hello, f.answer).ok());
  }
}

TEST(handshake, any_changed_bit_is_noticed) {
  Fixture f;
  for (std::size_t i = 0; i < kHelloSize * 8; ++i) {
    HelloBytes changed = f.hello;
    changed[i / 8] ^= std::byte{1} << (i % 8);
    EXPECT_FALSE(decode_hello(f.key, f.greeting, changed).ok()) << i;
    EXPECT_FALSE(decode_answer(f.key, f.greeting, changed, f.answer).ok()) << i;
  }
  for (std::size_t i = 0; i < kAnswerSize * 8; ++i) {
    AnswerBytes changed = f.answer;
    changed[i / 8] ^= std::byte{1} << (i % 8);
    EXPECT_FALSE(decode_answer(f.key, f.greeting, f.hello, changed).ok()) << i;
  }
}

TEST(handshake, a_recorded_proof_does_not_fit_another_connection) {
  Fixture f;
  EXPECT_FALSE(decode_hello(f.key, make_greeting(), f.hello).ok());
  EXPECT_FALSE(decode_answer(f.key, make_greeting(), f.hello, f.answer).ok());
  const HelloBytes same_hello_again = encode(f.key, f.greeting, kHello);
  EXPECT_NE(same_hello_again, f.hello);
  EXPECT_FALSE(decode_answer(f.key, f.greeting, same_hello_again, f.answer).ok());
}

TEST(handshake, names_another_version) {
  Fixture f;
  f.greeting[4] = std::byte{3};
  const auto checked = check_greeting(f.greeting);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("version 3"), std::string::npos);
}

TEST(handshake, nonces_differ) {
  EXPECT_NE(make_greeting(), make_greeting());
}

}  // namespace
}  // namespace weft::tcp

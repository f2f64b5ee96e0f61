// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/hello.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "rdma/verbs/bench.hpp"

namespace weft::rdma {
namespace {

using testing::HasSubstr;

TEST(odp_bench, waits_for_a_read_to_fail_longer_than_adapters_take_and_not_for_ever) {
  constexpr Duration measured = Duration::milliseconds(500);  // per try, with any C of at most 16
  EXPECT_GT(longest_until_failure(1, 7), measured * 8);
  EXPECT_LT(longest_until_failure(1, 7), Duration::seconds(10));
  EXPECT_EQ(longest_until_failure(1, 7), longest_until_failure(16, 7));
  EXPECT_EQ(longest_until_failure(31, 0), Duration::nanoseconds(4 * (std::int64_t{4'096} << 31)));
}

Hello a_hello() {
  Hello hello;
  hello.wants_paged = true;
  hello.buffer_bytes = 8'192;
  hello.port = {.gid = {0xFE, 0x80, 1, 2}, .lid = 7, .mtu = 3, .read_depth = 16};
  hello.queue_pairs = {{17, 0xFF'FFFF}, {0xFF'FFFF, 1}};
  return hello;
}

Welcome a_welcome() {
  Welcome welcome;
  welcome.memory = fabric::MemoryMode::prefetched;
  welcome.address = 0x7F00'0000'1000;
  welcome.key = 0xABCD;
  welcome.queue_pairs = {{18, 5}};
  return welcome;
}

/// The message with one byte changed.
std::vector<std::byte> changed(std::vector<std::byte> bytes, std::size_t at, int value) {
  bytes.at(at) = static_cast<std::byte>(value);
  return bytes;
}

// Offsets of the fields of a hello.
constexpr std::size_t version_at = 8, kind_at = 10, purpose_at = 11, flags_at = 12, rnr_at = 13,
                      buffer_at = 14, mtu_at = 40, count_at = 42, first_number_at = 46;

TEST(exchange, hellos_and_answers_say_what_was_encoded) {
  EXPECT_EQ(*decode_hello(encode(a_hello())), a_hello());
  const auto welcome = decode_answer(encode(a_welcome()));
  ASSERT_TRUE(welcome.ok());
  EXPECT_EQ(std::get<Welcome>(*welcome), a_welcome());
  const auto refusal = decode_answer(encode(Refusal{"no memory"}));
  ASSERT_TRUE(refusal.ok());
  EXPECT_EQ(std::get<Refusal>(*refusal).why, "no memory");
}

TEST(exchange, a_hello_is_laid_out_as_formats_md_says) {
  std::string bytes("WEFTODPB\x01\x00\x01", 11);
  bytes += std::string("\x00\x01\x0E\x00\x20\x00\x00\x00\x00\x00\x00", 11);
  bytes += std::string("\xFE\x80\x01\x02", 4) + std::string(12, '\0');
  bytes += std::string("\x07\x00\x03\x10", 4);
  bytes += std::string("\x02\x00\x00\x00", 4);
  bytes += std::string("\x11\x00\x00\x00\xFF\xFF\xFF\x00", 8);
  bytes += std::string("\xFF\xFF\xFF\x00\x01\x00\x00\x00", 8);
  const auto encoded = encode(a_hello());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(encoded.data()), encoded.size()), bytes);
}

TEST(exchange, the_largest_hello_fits) {
  Hello hello = a_hello();
  hello.queue_pairs.assign(most_queue_pairs, {1, 2});
  EXPECT_LE(encode(hello).size(), longest_message);
  EXPECT_EQ(*decode_hello(encode(hello)), hello);
}

TEST(exchange, another_version_is_refused_by_its_number) {
  const auto hello = decode_hello(changed(encode(a_hello()), version_at, 9));
  ASSERT_FALSE(hello.ok());
  EXPECT_THAT(hello.error().message, HasSubstr("version 9"));
}

TEST(exchange, what_no_client_says_is_refused) {
  const auto good = encode(a_hello());
  for (const auto& [at, value] :
       std::vector<std::pair<std::size_t, int>>{{0, 'X'},
                                                {kind_at, 2},  // a welcome
                                                {kind_at, 0},
                                                {purpose_at, 2},
                                                {flags_at, 4},
                                                {rnr_at, 32},
                                                {buffer_at + 7, 1},  // 2^56 bytes
                                                {mtu_at, 0},
                                                {mtu_at, 6},
                                                {count_at, 0},
                                                {count_at, 3},  // more than there are
                                                {count_at + 3, 0xFF},
                                                {first_number_at + 3, 1}}) {  // 25 bits
    EXPECT_FALSE(decode_hello(changed(good, at, value)).ok()) << "byte " << at << " = " << value;
  }
  Hello empty = a_hello();
  empty.buffer_bytes = 0;
  EXPECT_FALSE(decode_hello(encode(empty)).ok());
}

TEST(exchange, messages_that_are_cut_or_too_long_are_refused) {
  for (const auto& whole : {encode(a_hello()), encode(a_welcome())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto cut = std::span(whole).first(size);
      EXPECT_FALSE(decode_hello(cut).ok()) << size;
      EXPECT_FALSE(decode_answer(cut).ok()) << size;
    }
    auto longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode_hello(longer).ok());
    EXPECT_FALSE(decode_answer(longer).ok());
  }
}

TEST(exchange, a_refusal_is_one_short_line_whatever_the_peer_sends) {
  const auto answer =
      decode_answer(encode(Refusal{"\x1b[2Jgone\n" + std::string(longest_refusal, 'x')}));
  ASSERT_TRUE(answer.ok());
  const std::string& why = std::get<Refusal>(*answer).why;
  EXPECT_EQ(why.size(), longest_refusal);
  EXPECT_TRUE(why.starts_with("?[2Jgone?x"));
}

}  // namespace
}  // namespace weft::rdma

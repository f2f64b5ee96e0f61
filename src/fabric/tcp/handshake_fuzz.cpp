// SPDX-License-Identifier: Apache-2.0
// Any bytes in place of each message of the handshake: nothing but the genuine one is accepted. The
// input is laid over a genuine message, so that it passes the first checks and reaches the others.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "fabric/tcp/handshake.hpp"

using namespace weft;
using namespace weft::tcp;

namespace {

template <std::size_t N>
std::array<std::byte, N> overlaid(std::array<std::byte, N> genuine,
                                  std::span<const std::uint8_t> input) {
  for (std::size_t i = 0; i < std::min(N, input.size()); ++i) {
    genuine[i] ^= static_cast<std::byte>(input[i]);
  }
  return genuine;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string_view kSecret = "a secret for the fuzzer";
  static const JobKey key = handshake_key(std::as_bytes(std::span(kSecret)), "job");
  static const GreetingBytes greeting = make_greeting();
  static const HelloBytes hello = encode(key, greeting, {NodeId(1), Incarnation(1), NodeId(2)});
  static const AnswerBytes answer =
      encode(key, greeting, hello, {Verdict::accepted, NodeId(2), Incarnation(1), 9});
  const std::span<const std::uint8_t> input(data, size);
  const auto other_greeting = overlaid(greeting, input);
  const auto other_hello = overlaid(hello, input);
  const auto other_answer = overlaid(answer, input);
  [[maybe_unused]] const bool fine = check_greeting(other_greeting).ok();
  WEFT_CHECK(decode_hello(key, greeting, other_hello).ok() == (other_hello == hello));
  WEFT_CHECK(decode_hello(key, other_greeting, hello).ok() == (other_greeting == greeting));
  WEFT_CHECK(decode_answer(key, greeting, hello, other_answer).ok() == (other_answer == answer));
  WEFT_CHECK(decode_answer(key, greeting, other_hello, answer).ok() == (other_hello == hello));
  return 0;
}

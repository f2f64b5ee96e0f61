// SPDX-License-Identifier: Apache-2.0
// Both ends of the exchange take any bytes, and a decoded message encodes to the same content.
#include <cstdint>

#include "base/check.hpp"
#include "rdma/verbs/hello.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::rdma;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto hello = decode_hello(bytes); hello.ok()) {
    WEFT_CHECK(hello->buffer_bytes > 0 && hello->buffer_bytes <= most_buffer_bytes);
    WEFT_CHECK(!hello->queue_pairs.empty() && hello->queue_pairs.size() <= most_queue_pairs);
    const auto again = decode_hello(encode(*hello));
    WEFT_CHECK(again.ok() && *again == *hello);
  }
  if (const auto answer = decode_answer(bytes); answer.ok()) {
    const auto encoded = std::visit([](const auto& one) { return encode(one); }, *answer);
    WEFT_CHECK(encoded.size() <= longest_message);
    const auto again = decode_answer(encoded);
    WEFT_CHECK(again.ok() && *again == *answer);
  }
  return 0;
}

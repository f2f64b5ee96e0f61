// SPDX-License-Identifier: Apache-2.0
// Digest of a flow: all messages of its sender so far, in one word. It exposes a later life of the
// sender that sends something else.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/message/name.hpp"

namespace weft::message {

/// The digest of a flow without messages.
inline constexpr std::uint64_t first_digest = 0x9e37'79b9'7f4a'7c15;

/// Returns the digest after one more message. It covers the message's serial, its length and its
/// bytes, which are `head` and `body`; of more than 1 KiB it covers 128 words spread over them.
/// Never returns 0, which stands for unknown.
inline std::uint64_t digest_after(std::uint64_t digest, Serial serial,
                                  std::span<const std::byte> head,
                                  std::span<const std::byte> body) {
  constexpr std::size_t word = sizeof(std::uint64_t), most_words = 128;
  const auto mix = [&](std::uint64_t value) {
    digest = (std::rotl(digest, 23) ^ value) * 0xbf58'476d'1ce4'e5b9;
  };
  const auto read = [&](std::size_t at, std::size_t length) {
    std::uint64_t value = 0;
    if (length == 0) return value;
    if (at >= head.size()) {
      std::memcpy(&value, body.data() + (at - head.size()), length);
    } else if (at + length <= head.size()) {
      std::memcpy(&value, head.data() + at, length);
    } else {
      std::byte both[word];
      const std::size_t of_head = head.size() - at;
      std::memcpy(both, head.data() + at, of_head);
      std::memcpy(both + of_head, body.data(), length - of_head);
      std::memcpy(&value, both, length);
    }
    return value;
  };
  const std::size_t size = head.size() + body.size();
  mix(serial ^ std::rotl(std::uint64_t{size}, 40));
  const std::size_t stride = std::max(word, size / most_words);
  for (std::size_t at = 0; at + word <= size; at += stride) mix(read(at, word));
  // The last word: short messages may have no other, and long ones end behind the last stride.
  const std::size_t length = std::min(word, size);
  if (stride != word || size % word != 0) mix(read(size - length, length));
  digest ^= digest >> 31;
  return digest == 0 ? 1 : digest;
}
inline std::uint64_t digest_after(std::uint64_t digest, Serial serial,
                                  std::span<const std::byte> bytes) {
  return digest_after(digest, serial, {}, bytes);
}

}  // namespace weft::message

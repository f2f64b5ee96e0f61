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

/// What a frame says of a digest: half of it, which hardly ever is the same for different messages.
/// 0: unknown.
using ToldDigest = std::uint32_t;
constexpr ToldDigest told(std::uint64_t digest) {
  const auto half = static_cast<ToldDigest>(digest);
  return half == 0 && digest != 0 ? 1 : half;
}

/// Returns the digest after one more message. It covers the message's serial, its length and its
/// bytes, which are `head` and `body`; of more than 1 KiB it covers 128 words spread over them.
/// Never returns 0, which stands for unknown.
inline std::uint64_t digest_after(std::uint64_t digest, Serial serial,
                                  std::span<const std::byte> head,
                                  std::span<const std::byte> body) {
  constexpr std::size_t word = sizeof(std::uint64_t), most_words = 128;
  constexpr std::uint64_t factor = 0xbf58'476d'1ce4'e5b9;
  const std::size_t size = head.size() + body.size();
  // Words are mixed independently of each other, and not one behind the other, which takes longer.
  std::uint64_t sum = 0, place = 0;
  const auto mix = [&](std::uint64_t value) {
    const std::uint64_t mixed = (value ^ place) * factor;
    sum += mixed ^ mixed >> 32;
    place += first_digest;
  };
  const auto mix_words = [&](std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += word) {
      std::uint64_t value;
      std::memcpy(&value, bytes.data() + at, word);
      mix(value);
    }
  };
  mix(serial ^ std::rotl(std::uint64_t{size}, 40));
  if ((head.size() | body.size()) % word == 0 && size <= most_words * word) {  // mostly
    mix_words(head);
    mix_words(body);
  } else {
    const auto read = [&](std::size_t at, std::size_t length) {
      std::uint64_t value = 0;
      std::byte bytes[word] = {};
      const std::size_t of_head = at < head.size() ? std::min(length, head.size() - at) : 0;
      if (of_head > 0) std::memcpy(bytes, head.data() + at, of_head);
      if (length > of_head) {
        std::memcpy(bytes + of_head, body.data() + (at + of_head - head.size()), length - of_head);
      }
      std::memcpy(&value, bytes, word);
      return value;
    };
    const std::size_t stride = std::max(word, size / most_words);
    for (std::size_t at = 0; at + word <= size; at += stride) mix(read(at, word));
    // The last word: short messages may have no other, and long ones end behind the last stride.
    const std::size_t length = std::min(word, size);
    if (stride != word || size % word != 0) mix(read(size - length, length));
  }
  digest = (std::rotl(digest, 23) ^ sum) * factor;
  digest ^= digest >> 31;
  return digest == 0 ? 1 : digest;
}
inline std::uint64_t digest_after(std::uint64_t digest, Serial serial,
                                  std::span<const std::byte> bytes) {
  return digest_after(digest, serial, {}, bytes);
}

}  // namespace weft::message

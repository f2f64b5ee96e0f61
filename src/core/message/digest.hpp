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

/// Of no message yet.
inline constexpr std::uint64_t first_digest = 0x9e37'79b9'7f4a'7c15;

/// Of one more message: its serial, its length, and its bytes; of more than 1 KiB 128 words spread
/// over them. Never 0, which stands for unknown.
inline std::uint64_t digest_after(std::uint64_t digest, Serial serial,
                                  std::span<const std::byte> bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t), most_words = 128;
  const auto mix = [&](std::uint64_t value) {
    digest = (std::rotl(digest, 23) ^ value) * 0xbf58'476d'1ce4'e5b9;
  };
  mix(serial);
  mix(bytes.size());
  const std::size_t stride = std::max(word, bytes.size() / most_words);
  std::size_t at = 0;
  for (; at + word <= bytes.size(); at += stride) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, word);
    mix(value);
  }
  // The last word: short messages have no other, and long ones may end behind the last stride.
  std::uint64_t last = 0;
  const std::size_t length = std::min(word, bytes.size());
  if (length > 0) std::memcpy(&last, bytes.data() + bytes.size() - length, length);
  mix(last);
  digest ^= digest >> 31;
  return digest == 0 ? 1 : digest;
}

}  // namespace weft::message

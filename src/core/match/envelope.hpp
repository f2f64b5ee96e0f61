// SPDX-License-Identifier: Apache-2.0
// Envelopes: the fields by which messages are matched, and patterns of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::match {

inline constexpr std::uint32_t any_source = 0xffff'ffff;
inline constexpr std::int32_t any_tag = -1;

/// A message's context (one for each communicator and purpose), its sender's rank there and its
/// tag, which is not negative; or a receive's pattern, whose source and tag may be wildcards.
struct Envelope {
  std::uint64_t context = 0;
  std::uint32_t source = 0;
  std::int32_t tag = 0;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

/// Kinds of patterns: the bits say which fields are open.
inline constexpr std::size_t open_source = 1;
inline constexpr std::size_t open_tag = 2;
inline constexpr std::size_t patterns = 4;

constexpr std::size_t kind_of(Envelope pattern) {
  return (pattern.source == any_source ? open_source : 0) | (pattern.tag == any_tag ? open_tag : 0);
}

/// The pattern of that kind that fits the message.
constexpr Envelope pattern_of(Envelope message, std::size_t kind) {
  return {message.context, (kind & open_source) != 0 ? any_source : message.source,
          (kind & open_tag) != 0 ? any_tag : message.tag};
}

constexpr bool fits(Envelope pattern, Envelope message) {
  return pattern == pattern_of(message, kind_of(pattern));
}

}  // namespace weft::match

// SPDX-License-Identifier: Apache-2.0
#include "trace/events/pairing.hpp"

namespace weft::trace {

std::size_t MessageKeyHash::operator()(const MessageKey& key) const {
  std::uint64_t hash = std::uint64_t{key.from} << 32 | key.to;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  mix(key.communicator);
  mix(static_cast<std::uint64_t>(key.tag));
  mix(key.bytes);
  return hash;
}

}  // namespace weft::trace

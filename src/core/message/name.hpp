// SPDX-License-Identifier: Apache-2.0
// How messages are named: flow and serial (paper 4, 4.5.4, equations 4.2 and 4.3). Sender and
// receiver count the messages of a flow by themselves and come to the same names, also in another
// life of theirs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/message.hpp"

namespace weft::message {

/// The purpose of a message. Messages of different types do not interfere with each other.
enum class MessageType : std::uint8_t { point_to_point = 1, collective = 2 };

/// A flow between two known processes.
struct FlowKey {
  Generation generation{};
  Tag tag{};
  MessageType type = MessageType::point_to_point;

  auto operator<=>(const FlowKey&) const = default;
};

struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const {
    const std::uint64_t low =
        std::uint64_t{key.tag.value()} << 8 | static_cast<std::uint64_t>(key.type);
    std::uint64_t mixed = (key.generation.value() ^ low * 0x9e3779b97f4a7c15ULL);
    mixed ^= mixed >> 32;
    return static_cast<std::size_t>(mixed * 0xbf58476d1ce4e5b9ULL);
  }
};

/// The number of a message within its flow, from 0.
using Serial = std::uint64_t;

/// A message between two processes, in one direction.
struct Name {
  FlowKey flow;
  Serial serial = 0;
};

}  // namespace weft::message

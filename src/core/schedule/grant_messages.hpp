// SPDX-License-Identifier: Apache-2.0
// The messages of the grant schedule: 13 bytes, little-endian; docs/formats.md has the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/schedule/schedule.hpp"
#include "wire/codec.hpp"

namespace weft::schedule {

enum class GrantKind : std::uint8_t {
  // From a compute node.
  grant = 0,
  grant_and_tell = 1,  ///< also wants to hear the agreed number
  // From an input node.
  ended = 2,   ///< nothing from that round on: its stream ends before
  passed = 3,  ///< nothing below that round that has not come: it is done already
  agreed = 4,  ///< so many grants are agreed on
};

struct GrantMessage {
  GrantKind kind{};
  std::uint64_t round = 0;   ///< grants: the first that the input node may not send yet
  std::uint32_t number = 0;  ///< in `agreed`; with a grant the compute node's wish
};

inline void encode(std::uint32_t to, const GrantMessage& said, MessageBox& out) {
  Message m;
  m.to = to;
  wire::Writer writer(m.bytes);
  writer.put(static_cast<std::uint8_t>(said.kind));
  writer.put(said.round);
  writer.put(said.number);
  m.size = static_cast<std::uint32_t>(writer.size());
  out.push_back(m);
}

/// False when the bytes are no such message.
inline bool decode(std::span<const std::byte> bytes, GrantMessage& said) {
  wire::Reader in(bytes);
  said.kind = static_cast<GrantKind>(in.get<std::uint8_t>());
  said.round = in.get<std::uint64_t>();
  said.number = in.get<std::uint32_t>();
  return in.done() && said.kind <= GrantKind::agreed;
}

}  // namespace weft::schedule

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
  grant = 0,           ///< the input node may send all rounds below `round`
  grant_and_tell = 1,  ///< the same, and the compute node asks for the agreed number
  // From an input node.
  ended = 2,   ///< its stream ends: it sends no round from `round` on
  passed = 3,  ///< it sends no round below `round` that it has not begun to send
  agreed = 4,  ///< the compute nodes agree on `number` grants in flight
};

struct GrantMessage {
  GrantKind kind{};
  std::uint64_t round = 0;
  std::uint32_t number = 0;  ///< with a grant: the compute node's wish (GrantAgreement)
};

/// Appends the message for node `to`; `out` has room for it.
inline void encode(std::uint32_t to, const GrantMessage& said, MessageBox& out) {
  Message m;
  m.to = to;
  wire::Writer writer(m.bytes);
  writer.put(static_cast<std::uint8_t>(said.kind));
  writer.fields(said.round, said.number);
  m.size = static_cast<std::uint32_t>(writer.size());
  out.push_back(m);
}

/// Reads a message that came from outside. False: the bytes are no such message.
inline bool decode(std::span<const std::byte> bytes, GrantMessage& said) {
  wire::Reader in(bytes);
  said.kind = static_cast<GrantKind>(in.get<std::uint8_t>());
  in.fields(said.round, said.number);
  return in.done() && said.kind <= GrantKind::agreed;
}

}  // namespace weft::schedule

// SPDX-License-Identifier: Apache-2.0
// Flight: an operation on its way through the simulated network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/pool.hpp"
#include "weft/fabric.hpp"

namespace weft::sim {

struct Flight {
  enum class Kind : std::uint8_t { welcome, send, write };
  Kind kind = Kind::send;
  bool leads_on = false;  ///< a greeting: when it has left its host, the next one may go
  NodeId from{}, to{};
  std::uint64_t to_serial = 0;  ///< endpoint
  std::uint64_t link = 0;       ///< connection
  std::uint64_t sequence = 0;   ///< within the connection and direction; greeting: its endpoint
  RemoteRegion region{};
  std::uint64_t region_offset = 0;
  std::array<std::span<const std::byte>, 2> segments{};  ///< of a write: the poster's memory
  std::vector<std::byte> data;                           ///< of a send
  std::uint32_t next = kNone;

  std::uint64_t bytes() const {
    if (kind == Kind::write) return segments[0].size() + segments[1].size();
    return data.size();
  }
};

}  // namespace weft::sim

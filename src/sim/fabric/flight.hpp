// SPDX-License-Identifier: Apache-2.0
// Flight: an operation on its way through the simulated network.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/pool.hpp"
#include "weft/fabric.hpp"

namespace weft::sim {

/// A life of a node, the first one is 1: no two processes of a job are the same. Plain data: goes
/// from one part of a simulation to another.
struct Process {
  NodeId node{};
  std::uint32_t life = 0;

  bool operator==(const Process&) const = default;
};

struct Flight {
  enum class Kind : std::uint8_t { welcome, send, write };
  Kind kind = Kind::send;
  std::uint8_t level = 0;  ///< service level on which it was launched
  bool leads_on = false;   ///< a greeting: when it has left its host, the next one may go
  Process from{}, to{};
  std::uint32_t from_attempt = 0;  ///< of its connection, as its end has numbered it
  std::uint32_t to_attempt = 0;    ///< as the other end has; 0: a greeting that does not know
  std::uint32_t sequence = 0;      ///< within the connection and direction
  std::uint32_t next = kNone;
  RemoteRegion region{};
  std::uint64_t region_offset = 0;
  std::uint64_t bytes = 0;
  /// The bytes of a write: in the poster's memory or in `data`, which may hold a part of them.
  std::array<std::span<const std::byte>, 2> segments{};
  std::vector<std::byte> data;

  /// Keeps at most `most` bytes of a write, and needs the poster's memory no more.
  void detach(std::size_t most) {
    std::vector<std::byte> kept;
    for (const auto& segment : segments) {
      const auto part = segment.first(std::min(segment.size(), most - kept.size()));
      kept.insert(kept.end(), part.begin(), part.end());
    }
    data = std::move(kept);
    segments = {data, {}};
  }
};

}  // namespace weft::sim

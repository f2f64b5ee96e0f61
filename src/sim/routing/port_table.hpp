// SPDX-License-Identifier: Apache-2.0
// Tables of the allowed output ports per switch and edge switch (one with hosts), for topologies of
// which nothing else is known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Immutable. About 4 bytes and 2 per port for each pair of switch and edge switch.
class PortTable {
 public:
  /// All ports on ways of fewest hops. Errors: more than 2^26 pairs.
  static Result<PortTable> shortest(const Topology& topology);
  /// Ports on ways that never go up after going down. Up is towards the root, the switch nearest to
  /// all edge switches; within a distance from it towards the lower number. Errors: the same.
  static Result<PortTable> updown(const Topology& topology);

  /// The ports at a switch for this host; its own port when it is connected here.
  std::span<const PortNumber> ports(std::uint32_t at, std::uint32_t host) const {
    const HostInfo& info = hosts_[host];
    if (info.edge == at) return {&info.port, 1};
    const std::size_t entry = std::size_t{at} * edges_ + info.column;
    return {ports_.data() + first_[entry], first_[entry + 1] - first_[entry]};
  }

 private:
  struct HostInfo {
    std::uint32_t edge = 0;    // switch
    std::uint32_t column = 0;  // of the table
    PortNumber port{};
  };
  class Builder;
  std::uint32_t edges_ = 0;
  std::vector<HostInfo> hosts_;
  std::vector<std::uint32_t> first_;
  std::vector<PortNumber> ports_;
};

}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
// The loads of a network's links in a window, by their place and by level.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/network.hpp"

namespace weft::qos {

struct PlaceLoad {
  std::string links;                  ///< "from hosts", "up 1 to 2", "down 2 to 1", "to hosts"
  std::array<double, 16> by_level{};  ///< of their capacity
};

/// A host or a switch.
struct LoadedVertex {
  std::string name;
  std::uint32_t height = 0;  ///< cables to the nearest host
};

/// One direction of a cable.
struct LinkLoad {
  std::uint32_t from = 0, to = 0;     ///< vertices
  std::array<double, 16> by_level{};  ///< of its capacity
};

struct NetworkLoads {
  std::vector<PlaceLoad> places;  ///< that have links, from hosts to the highest switches and back
  std::vector<LoadedVertex> vertices;  ///< hosts first
  std::vector<LinkLoad> links;
};

NetworkLoads link_loads(const sim::Network& network, PicoDuration window);

}  // namespace weft::qos

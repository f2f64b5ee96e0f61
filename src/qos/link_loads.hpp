// SPDX-License-Identifier: Apache-2.0
// What the links of a network carried in a window, by their place and by level.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/network/network.hpp"

namespace weft::qos {

struct PlaceLoad {
  std::string links;                  ///< "from hosts", "up 1 to 2", "down 2 to 1", "to hosts"
  std::array<double, 16> by_level{};  ///< of what they could have carried
};

/// Places that have links, from hosts to the highest switches and back.
std::vector<PlaceLoad> link_loads(const sim::Network& network, PicoDuration window);

}  // namespace weft::qos

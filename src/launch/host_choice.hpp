// SPDX-License-Identifier: Apache-2.0
// Which of a launcher's hosts a rank goes to.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "launch/host.hpp"

namespace weft {

/// The host with the fewest ranks, as `ranks_of(host)` counts them, of those that are not given up.
/// Null: none is left.
template <class RanksOf>
Host* host_with_fewest(const std::vector<std::unique_ptr<Host>>& hosts,
                       const std::set<const Host*>& given_up, RanksOf&& ranks_of) {
  Host* best = nullptr;
  for (const auto& host : hosts) {
    if (given_up.count(host.get()) > 0) continue;
    if (best == nullptr || ranks_of(host.get()) < ranks_of(best)) best = host.get();
  }
  return best;
}

}  // namespace weft

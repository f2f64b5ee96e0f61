// SPDX-License-Identifier: Apache-2.0
// Whether packets could ever wait for each other in a circle: the channel dependency graph (Dally
// and Seitz 1987) of a router on a topology, and a cycle in it, named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/routing/router.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// A virtual channel: packets wait for room in it.
struct VirtualChannel {
  LinkId link{};
  std::uint8_t channel = 0;
};

struct DeadlockCheck {
  bool free() const { return cycle.empty(); }
  std::vector<VirtualChannel> cycle;  ///< each waits for the next, the last for the first
  std::size_t dependencies = 0;       ///< edges of the graph
  std::uint32_t destinations = 0;     ///< hosts that were followed as destinations

  /// "switch 3 port 2 -> switch 4, class 0; …", at most 32 of them; empty when free.
  std::string describe(const Topology& topology) const;
};

struct DeadlockOptions {
  /// Pairs of an edge switch and a destination to follow. Above it destinations are sampled evenly.
  std::uint64_t most_pairs = 1u << 22;
  /// Choices to look at: no further destination is begun after so many.
  std::uint64_t most_steps = ~std::uint64_t{0};
};

/// Follows all choices of the router, from one host of each edge switch (which host it is makes no
/// difference after the first switch) to every host, or to as many as the options allow; the result
/// says to how many. Aborts when the router delivers to the wrong host or names a port or class
/// that does not exist.
DeadlockCheck check_deadlock(const Topology& topology, const Router& router,
                             const DeadlockOptions& options = {});

/// The check before a simulation begins: it takes at most some tenths of a second, for a network of
/// any size; beyond it destinations are sampled. Errors: the router can make packets wait in a
/// circle, which the message names, with a router that cannot.
Result<void> refuse_deadlocks(const Topology& topology, const Router& router);

}  // namespace weft::sim

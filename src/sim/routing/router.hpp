// SPDX-License-Identifier: Apache-2.0
// Router: which output port a packet takes at each switch, and in which virtual-channel class, so
// that no cycle of waiting packets can form. One object serves all switches; what differs per
// packet is in its RouteState, what differs per switch comes in as its load and its random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// What of a packet the routing looks at and changes. 16 bytes, carried by each packet.
struct RouteState {
  std::uint32_t source = 0;       ///< host
  std::uint32_t destination = 0;  ///< host
  std::uint32_t waypoint = 0;     ///< router's own: Valiant's intermediate group or switch, a hash
  std::uint8_t phase = 0;         ///< router's own: 0 at the source
  std::uint8_t channel = 0;       ///< virtual-channel class of the link that it last came over
  std::uint16_t spare = 0;
};

/// Bytes that wait at this switch for each of its output ports.
class PortLoad {
 public:
  explicit PortLoad(std::span<const std::uint32_t> queued_bytes) : queued_(queued_bytes) {}
  std::uint32_t queued(PortNumber p) const { return queued_[p.value()]; }

 private:
  std::span<const std::uint32_t> queued_;
};

/// Where to, next.
struct Hop {
  PortNumber port{};
  std::uint8_t channel = 0;  ///< virtual-channel class on the link behind that port
};

class Router {
 public:
  virtual ~Router() = default;
  virtual std::string_view name() const = 0;
  /// How many virtual-channel classes each service level needs, at least 1.
  virtual std::uint8_t channels() const = 0;
  /// A packet of `flow` (same number for packets that must keep one path, see `ecmp`) is about to
  /// leave `source`. Fills the state. The host's only port is its hop, in class 0.
  virtual void start(RouteState& state, std::uint32_t source, std::uint32_t destination,
                     std::uint64_t flow, Rng& rng) const = 0;
  /// The hop at switch `at`, which the packet entered by `in`. May change the state (not its ends);
  /// `rng` is the switch's. No allocation, no locks: this is called for every packet and hop.
  virtual Hop next(Vertex at, PortNumber in, RouteState& state, const PortLoad& load,
                   Rng& rng) const = 0;
  /// Every hop that `next` might choose here, with the state after it; for the check of deadlocks
  /// and for tests. Appends.
  struct Choice {
    Hop hop;
    RouteState after;
  };
  virtual void choices(Vertex at, PortNumber in, const RouteState& state,
                       std::vector<Choice>& out) const = 0;
  /// Every state that `start` might produce for these ends. Appends.
  virtual void starts(std::uint32_t source, std::uint32_t destination,
                      std::vector<RouteState>& out) const = 0;
};

}  // namespace weft::sim

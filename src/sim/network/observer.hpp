// SPDX-License-Identifier: Apache-2.0
// NetworkObserver: looks on while a network works, and changes nothing: it schedules no events, so
// that the same happens with an observer as without.
#pragma once

#include <cstdint>

#include "net/link_model.hpp"
#include "sim/network/packet.hpp"
#include "sim/topology/topology.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// Called during events of the network; must not call the network.
class NetworkObserver {
 public:
  virtual ~NetworkObserver() = default;
  /// `bytes` more bytes of the service level wait for the link, until `on_transmit`: a packet with
  /// its header in the buffers of the link's switch, or payload of a message at the link's host.
  virtual void on_queued(PicoInstant now, LinkId link, std::uint8_t level, std::uint64_t bytes) = 0;
  /// A packet of `message` goes onto the link; `waited` are the bytes of it that were queued. The
  /// link is busy from `transit.start`, which is now, to `transit.departure`.
  virtual void on_transmit(LinkId link, const Packet& packet, const Message& message,
                           std::uint64_t waited, const net::Transit& transit) = 0;
  /// The last byte is at the destination.
  virtual void on_delivered(PicoInstant now, const Message& message) = 0;
};

}  // namespace weft::sim

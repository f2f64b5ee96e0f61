// SPDX-License-Identifier: Apache-2.0
// Packets and messages as the network model holds them.
#pragma once

#include <cstdint>

#include "sim/network/pool.hpp"
#include "sim/routing/router.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// A packet in the network takes a cache line, and is in one list at a time.
struct alignas(64) Packet {
  PicoInstant tail{};  ///< when its last byte can leave the switch that it is at
  RouteState route{};
  std::uint32_t message = kNone;  ///< record at the network
  std::uint32_t bytes = 0;        ///< with its header
  std::uint32_t next = kNone;
  std::uint32_t arrived_by = kNone;  ///< number of the link whose buffer it lies in
  std::uint16_t lane = 0;            ///< of that link
  std::uint16_t queue = 0;           ///< queue, of the lane that it waits for; before: its output
  bool last = false;                 ///< no packet of the message follows
  bool alone = false;                ///< it has all of its message
};
static_assert(sizeof(Packet) == 64);

/// The payload of an arrival's event: the packet and, if the router foresees it, its next hop. That
/// of a wake-up has the packet that is likely to go, or at a host the message, and its lane.
class Arrival {
 public:
  explicit Arrival(std::uint64_t payload) : payload_(payload) {}
  /// `first_lane`: of the packet's level.
  Arrival(std::uint32_t packet, KnownHop next, std::uint32_t first_lane) : payload_(packet) {
    if (!next) return;
    payload_ |= known | std::uint64_t{first_lane + next.hop().channel} << 56 |
                std::uint64_t{next.bits()} << 32;
  }

  Arrival(std::uint32_t first, std::uint32_t lane) : payload_(std::uint64_t{lane} << 56 | first) {}

  std::uint64_t payload() const { return payload_; }
  std::uint32_t packet() const { return static_cast<std::uint32_t>(payload_); }
  bool knows_hop() const { return (payload_ & known) != 0; }
  Hop hop() const {
    return {.port = PortNumber(static_cast<std::uint16_t>(payload_ >> 32)),
            .channel = static_cast<std::uint8_t>(payload_ >> 48)};
  }
  /// The lane for which it will wait, of the next hop's link.
  std::uint32_t lane() const { return static_cast<std::uint32_t>(payload_ >> 56 & 63); }

 private:
  static constexpr std::uint64_t known = std::uint64_t{1} << 63;

  std::uint64_t payload_;
};

/// A message that a user of the network sends.
struct MessageRequest {
  std::uint32_t source = 0;       ///< host
  std::uint32_t destination = 0;  ///< host; not the source
  std::uint64_t bytes = 0;        ///< payload; at least 1
  std::uint8_t level = 0;
  /// Header bytes of each of its packets; 0: NetworkOptions::packet_overhead.
  std::uint8_t header = 0;
  std::uint16_t user = 0;   ///< its listener is called (Network::add_user)
  std::uint32_t queue = 0;  ///< messages keep their order, and wait, within their queue pair
  std::uint64_t flow = 0;   ///< routers that hash keep one flow on one path
  std::uint64_t tag = 0;    ///< handed back
  bool skips_gap = false;   ///< the injection gap does not delay it: an acknowledgement
  /// A lossy link may lose it for good, and tells its user (NetworkUser::on_lost). At most `mtu`
  /// bytes.
  bool may_be_lost = false;
};

/// A message from its posting to its arrival takes two cache lines.
struct alignas(64) Message {
  MessageRequest request;
  std::uint64_t to_send = 0;    ///< payload bytes not yet in packets
  std::uint64_t to_arrive = 0;  ///< payload bytes not yet at the destination
  PicoInstant posted{};
  PicoInstant arrives{};  ///< when the last byte does that the destination's link has sent
  std::uint32_t next = kNone;
  std::uint32_t behind = kNone;  ///< next message to the same host, which leaves after this one
  bool sent = false;  ///< its user knows that all of it has left; parts may yet be sent again
  std::uint32_t packets = 0;  ///< that are here
  // In a network that is divided among processes:
  std::uint64_t serial = 0;  ///< unique, and the same in all parts
  std::uint32_t record = 0;  ///< its number in the part that sent it
  bool foreign = false;      ///< came from another part
  bool listed = false;       ///< is found by its serial
};
static_assert(sizeof(Message) == 128);

}  // namespace weft::sim

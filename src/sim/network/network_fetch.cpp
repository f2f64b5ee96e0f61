// SPDX-License-Identifier: Apache-2.0
// What the network fetches into the cache for events that are likely to happen soon: first the
// records that the event names, later those that these name. Nobody can predict whether an event is
// an arrival or a wake-up of a switch, so no branch depends on it: both are looked up, and one is
// chosen. Where there is nothing to look up it is record 0, which is in the cache.
#include <cstddef>
#include <cstdint>

#include "sim/network/network.hpp"

namespace weft::sim {
namespace {

/// All bits, or none.
std::uint64_t mask_of(bool is_so) {
  return 0 - std::uint64_t{is_so};
}

std::uint64_t either(std::uint64_t mask, std::uint64_t first, std::uint64_t second) {
  return (first & mask) | (second & ~mask);
}

[[gnu::always_inline]] inline void fetch_line(std::uint64_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
}

std::uint64_t address_of(const void* record) {
  return reinterpret_cast<std::uint64_t>(record);
}

}  // namespace

void Network::fetch_adapter(std::uint32_t number, std::uint8_t level, Ahead ahead) const {
  const Adapter& adapter = adapters_[std::size_t{number} * options_.levels.size() + level];
  if (ahead == Ahead::late) return adapter.flows.fetch();
  __builtin_prefetch(&adapter, 1);
  __builtin_prefetch(&transmitters_[number], 1);
  __builtin_prefetch(&lanes_[first_lane(number) + level * channels_], 1);
}

void Network::fetch_sender(std::uint32_t host, std::uint8_t level, Ahead ahead) const {
  fetch_adapter(number_of(host), level, ahead);
}

/// For a host that is about to send: the payload names its message.
void Network::fetch_host(const Event& event, Ahead ahead) const {
  const Arrival next(event.payload);
  if (ahead == Ahead::early) {
    const std::uint64_t message = address_of(messages_.data()) + next.packet() * sizeof(Message);
    fetch_line(message);
    fetch_line(message + 64);
  }
  // Links of hosts have the hosts' numbers.
  fetch_adapter(event.target, facts_[next.lane()].level, ahead);
}

void Network::fetch(const Event& event, Ahead ahead) const {
  if (event.kind == EventKind::packet_lost) [[unlikely]]
    return;
  const std::uint64_t arrives = mask_of(event.kind == EventKind::packet_arrives);
  if ((event.detail & ~arrives) == kHostWakes) [[unlikely]]
    return fetch_host(event, ahead);
  const Arrival arrival(event.payload);
  // The link that the packet will leave by, if that is known, or that wakes.
  const Vertex at(event.target & static_cast<std::uint32_t>(arrives));
  const std::uint32_t out = first_links_[at.value()] + arrival.hop().port.value();
  const auto number = static_cast<std::uint32_t>(either(arrives, out, event.target));
  const Lane* lanes = &lanes_[first_lane(number)];
  const Lane* lane = lanes + arrival.lane();
  if (ahead == Ahead::early) {
    __builtin_prefetch(&packets_[arrival.packet()], 1);
    __builtin_prefetch(&transmitters_[number], 1);
    __builtin_prefetch(lanes, 1);
    __builtin_prefetch(lane, 1);
    return;
  }
  // Of a packet the lanes that get its room back when it goes on or, at a host, its message; and
  // the queue that it will join or leave.
  const Packet& packet = packets_[arrival.packet()];
  const std::uint64_t arrived = mask_of(packet.arrived_by == kNone);
  const std::uint64_t here = mask_of((packet.arrived_by & kElsewhere) == 0);
  const auto by = static_cast<std::uint32_t>(packet.arrived_by & here);
  const std::uint64_t room = address_of(&lanes_[first_lane(by) + facts_[packet.lane].channel]);
  const std::uint64_t used = address_of(&lanes_[first_lane(by) + packet.lane]);
  const std::uint64_t message = address_of(messages_.data()) + packet.message * sizeof(Message);
  fetch_line(either(arrived, message, room));
  fetch_line(either(arrived, message + 64, used));
  const std::uint64_t in = either(arrives, event.detail, packet.queue);
  const std::uint64_t queue = (lane->round.queues + in) & mask_of(lane->round.queues != kNone);
  fetch_line(address_of(queues_.data()) + queue * sizeof(InputQueue));
}

}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
// Packets that come in by a slower link than they leave by.
#include "sim/network/network.hpp"

namespace weft::sim {

/// A packet from a slower link than its output begins to leave when its end will just be in time:
/// until then the output is there for others. Its arrival happens again then. Packets of one input
/// keep their order: a link that has become faster brings later ones while an earlier one waits.
bool Network::waits_for_rest(const Event& event, Hop hop, Bandwidth rate) {
  const std::uint32_t p = Arrival(event.payload).packet();
  Packet& packet = packets_[p];
  const bool happens_again = event.source == event.target;
  if (!happens_again && packet.tail <= engine_.now()) return false;
  if (resting_.empty()) resting_.resize(transmitters_.size());
  InputQueue& input = resting_[first_links_[event.target] + event.detail];
  const PicoInstant start = start_in_time(packet, rate);
  if (happens_again) {
    if (start > engine_.now()) {  // the output has become faster
      arrive_again(event, p, start);
      return true;
    }
    input.head = packet.next;
    // Whether that one's end is in time is asked then.
    if (input.head != kNone) arrive_again(event, input.head, engine_.now());
    return false;
  }
  const bool is_first = input.head == kNone;
  if (is_first && start <= engine_.now()) return false;
  packet.next = kNone;
  packet.queue = hop.port.value();
  (is_first ? input.head : packets_[input.tail].next) = p;
  input.tail = p;
  if (is_first) arrive_again(event, p, start);
  return true;
}

/// When the packet may begin to leave by a link of that rate so that its end is in time; now or
/// earlier: at once.
PicoInstant Network::start_in_time(const Packet& packet, Bandwidth rate) const {
  const PicoDuration rest = packet.tail - engine_.now();
  if (rest.ticks() <= 0) return engine_.now();
  // 64 bits hold it (check_network). Both sides are rounded: less than a picosecond is no rest.
  const std::uint64_t work = packet.bytes * PicosecondTick::per_second;
  const std::uint64_t per_second = rate.bytes_per_second();
  const auto whole = static_cast<std::uint64_t>(rest.ticks() - 1);
  if (net::LinkClock::Wide{whole} * per_second < work) return engine_.now();
  const PicoDuration needed(static_cast<std::int64_t>((work + per_second - 1) / per_second));
  return packet.tail - needed;
}

/// The packet waits at the input at which the event happens, and its hop is known.
void Network::arrive_again(const Event& event, std::uint32_t p, PicoInstant at) {
  const Packet& packet = packets_[p];
  const Hop hop{.port = PortNumber(packet.queue), .channel = packet.route.channel};
  const Arrival again(p, hop, facts_[packet.lane].first);
  engine_.schedule(event.target, at, EventKind::packet_arrives, event.target, event.detail,
                   again.payload());
}

}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
// Packets and credits that pass from one part of a divided network to another.
#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "sim/network/network.hpp"

namespace weft::sim {
namespace {

/// The next record of a batch.
template <class T>
T take(std::span<const std::byte>& batch) {
  WEFT_CHECK(batch.size() >= sizeof(T), "{} bytes of a crossing", batch.size());
  T record;
  std::memcpy(&record, batch.data(), sizeof record);
  batch = batch.subspan(sizeof record);
  return record;
}

constexpr std::uint64_t no_serial = ~std::uint64_t{0};

/// Returns the message's request, as a crossing tells it.
template <class Crossing>
MessageRequest request_of(const Crossing& c) {
  return {.source = c.from_host,
          .destination = c.to_host,
          .bytes = c.message_bytes,
          .level = c.level,
          .user = c.user,
          .flow = c.flow,
          .tag = c.tag};
}

/// At least so long takes a packet of so many bytes.
PicoDuration time_of(std::uint32_t bytes, Bandwidth rate) {
  if (rate.bytes_per_second() == 0) return {};
  return PicoDuration(static_cast<std::int64_t>(std::uint64_t{bytes} * 1'000'000'000'000ULL /
                                                rate.bytes_per_second()));
}

}  // namespace

PicoDuration Network::lookahead(const Guarantees& expected) const {
  WEFT_CHECK(border_ != nullptr);
  // The time that the smallest packet takes on a link, at any expected rate.
  const auto sending = [&](LinkId l) {
    const Bandwidth rate = options_.link(topology_.kind(l)).rate;
    const bool has_limit = rate.bytes_per_second() != 0;
    return time_of(expected.smallest_packet, has_limit ? std::max(rate, expected.fastest) : rate);
  };
  PicoDuration least = PicoDuration::max();
  for (std::uint32_t i = 0; i < topology_.links(); ++i) {
    const LinkId l(i);
    const Vertex peer = topology_.peer(l).vertex;
    const PicoDuration cable = latency(topology_.kind(l));
    if (expected.lossy) least = std::min(least, cable + sending(l) + options_.retransmit_after);
    if (border_->owner(topology_.port(l).vertex) == border_->owner(peer)) continue;
    const bool to_host = topology_.is_host(peer);
    PicoDuration data = cable;
    if (to_host || !options_.cut_through) data += sending(l);
    if (!to_host) data += options_.switch_delay;
    least = std::min(least, data);
    if (to_host) continue;  // its room is the transmitter's own affair
    // Room comes back when the packet has left the switch by another link.
    PicoDuration leaving = PicoDuration::max();
    const std::uint32_t first = topology_.link({peer, PortNumber(0)}).value();
    for (std::uint32_t o = first; o < first + topology_.ports(peer); ++o) {
      leaving = std::min(leaving, sending(LinkId(o)));
    }
    least = std::min(least, cable + leaving);
  }
  // If nothing crosses, users have no one to send words to.
  return least == PicoDuration::max() ? least : std::min(least, expected.words_matter_after);
}

/// Hands the packet over, which arrives at `at`. A host's message stays until the host has been
/// told of its departure.
void Network::send_across(Port port, PicoInstant at, std::uint32_t p) {
  const Transmitter& t = port.transmitter;
  const Packet& packet = packets_[p];
  const std::uint32_t m = packet.message;
  Message& message = messages_[m];
  const std::uint32_t source = t.own.value();
  const MessageRequest& request = message.request;
  border_->send(t.peer, PacketCrossing{.bytes = packet.bytes,
                                       .time = at,
                                       .source = source,
                                       .sequence = engine_.next_sequence(source),
                                       .target = t.peer.value(),
                                       .arrived_by = link(port).value(),
                                       .tail = packet.tail,
                                       .route = packet.route,
                                       .port = t.peer_port.value(),
                                       .lane = packet.lane,
                                       .user = request.user,
                                       .level = request.level,
                                       .last = packet.last,
                                       .from_host = request.source,
                                       .to_host = request.destination,
                                       .message_bytes = request.bytes,
                                       .flow = request.flow,
                                       .tag = request.tag,
                                       .posted = message.posted,
                                       .serial = message.serial,
                                       .record = message.record});
  packets_.give_back(p);
  --message.packets;
  if (!t.at_host) release(m);
}

/// The packet came from another part: its room comes back there.
void Network::give_back_across(const Packet& packet, PicoInstant departure) {
  const LinkId by(packet.arrived_by & ~kElsewhere);
  border_->send(topology_.port(by).vertex,
                CreditCrossing{.link = by.value(),
                               .lane = packet.lane,
                               .bytes = packet.bytes,
                               .at = departure + latency(topology_.kind(by))});
}

/// Forgets a message when none of it is left here, and nothing will look for its record.
void Network::release(std::uint32_t m) {
  const Message& message = messages_[m];
  if (message.packets > 0 || message.to_send > 0) return;
  const bool expected = owns(topology_.host(message.request.destination));
  const bool remade = message.foreign && message.request.bytes <= options_.mtu;
  if (!expected || remade) forget(m);
}

void Network::forget(std::uint32_t m) {
  const Message& message = messages_[m];
  if (message.listed) foreign_.erase(message.serial);
  messages_[m].serial = no_serial;
  messages_.give_back(m);
}

/// The record of a packet's message: the one from which it was sent, if that is here and waits for
/// it; else one that was made for an earlier packet; else a new one.
std::uint32_t Network::adopt(const PacketCrossing& c) {
  const bool ends_here = owns(topology_.host(c.to_host));
  if (c.serial >> kSerialBits == border_->self() && ends_here) {
    WEFT_CHECK(c.record < messages_.size() && messages_[c.record].serial == c.serial);
    return c.record;
  }
  const bool alone = c.message_bytes <= options_.mtu;  // no other packet needs to find it
  if (!alone) {
    const auto known = foreign_.find(c.serial);
    if (known != foreign_.end()) return known->second;
  }
  const std::uint32_t m = messages_.take();
  messages_[m] = {.request = request_of(c),
                  .to_arrive = c.message_bytes,
                  .posted = c.posted,
                  .serial = c.serial,
                  .record = c.record,
                  .foreign = true,
                  .listed = !alone};
  if (!alone) foreign_.emplace(c.serial, m);
  return m;
}

void Network::receive_packet(const PacketCrossing& c) {
  const Vertex at(c.target);
  WEFT_CHECK(c.target < topology_.vertices() && owns(at) && c.port < topology_.ports(at) &&
                 c.source < topology_.vertices() && c.lane < lane_count_ &&
                 c.from_host < topology_.hosts() && c.to_host < topology_.hosts() &&
                 c.user < users_.size() && c.message_bytes > 0 && c.bytes > 0 &&
                 c.arrived_by < topology_.links(),
             "a packet for vertex {} port {} lane {}", c.target, c.port, c.lane);
  const std::uint32_t m = adopt(c);
  ++messages_[m].packets;
  const bool to_host = topology_.is_host(at);
  const std::uint32_t p = packets_.take();
  packets_[p] = {.tail = c.tail,
                 .route = c.route,
                 .message = m,
                 .bytes = c.bytes,
                 .arrived_by = to_host ? kNone : kElsewhere | c.arrived_by,
                 .lane = c.lane,
                 .last = c.last != 0,
                 .alone = c.message_bytes <= options_.mtu};
  const Arrival next(p, to_host ? KnownHop() : router_.foresee(at, c.route), facts_[c.lane].first);
  engine_.schedule_foreign({.time = c.time,
                            .sequence = c.sequence,
                            .source = c.source,
                            .target = c.target,
                            .kind = EventKind::packet_arrives,
                            .detail = c.port,
                            .payload = next.payload()});
}

void Network::receive_credit(const CreditCrossing& c) {
  WEFT_CHECK(c.link < topology_.links() && owns(topology_.port(LinkId(c.link)).vertex) &&
                 c.lane < lane_count_,
             "room for link {} lane {}", c.link, c.lane);
  return_credit(port(number_of(LinkId(c.link))), c.at, c.bytes, c.lane);
}

/// The record of a message of which something is to be sent again. When all of it had left, it was
/// forgotten here.
std::uint32_t Network::sender_of(const LossCrossing& c) {
  if (c.record < messages_.size() && messages_[c.record].serial == c.serial) return c.record;
  const auto known = foreign_.find(c.serial);
  if (known != foreign_.end()) {
    messages_[known->second].sent = true;
    return known->second;
  }
  const bool alone = c.message_bytes <= options_.mtu;
  const std::uint32_t m = messages_.take();
  messages_[m] = {.request = request_of(c),
                  .to_arrive = c.message_bytes,
                  .posted = c.posted,
                  .sent = true,
                  .serial = c.serial,
                  .record = m,
                  .listed = !alone};
  if (!alone) foreign_.emplace(c.serial, m);
  return m;
}

void Network::receive_loss(const LossCrossing& c) {
  WEFT_CHECK(c.source < topology_.vertices() && c.from_host < topology_.hosts() &&
                 owns(topology_.host(c.from_host)) && c.to_host < topology_.hosts() &&
                 c.user < users_.size() && c.level < options_.levels.size() && c.payload > 0 &&
                 c.payload <= options_.mtu,
             "{} bytes for host {} to send again", c.payload, c.from_host);
  const std::uint32_t m = sender_of(c);
  ++messages_[m].packets;
  engine_.schedule_foreign({.time = c.time,
                            .sequence = c.sequence,
                            .source = c.source,
                            .target = topology_.host(c.from_host).value(),
                            .kind = EventKind::packet_lost,
                            .detail = 0,
                            .payload = std::uint64_t{m} << 32 | c.payload});
}

void NetworkUser::on_told(std::span<const std::byte> word) {
  WEFT_CHECK(false, "{} bytes for a user that tells nothing", word.size());
}

void Network::tell(std::uint32_t host, std::uint16_t user, PicoInstant matters_from,
                   std::initializer_list<std::span<const std::byte>> word) {
  WEFT_CHECK(!owns(topology_.host(host)));
  border_->send(topology_.host(host), user, matters_from, word);
}

void Network::receive_word(const WordCrossing& c, std::span<const std::byte>& batch) {
  WEFT_CHECK(c.user < users_.size() && c.bytes <= batch.size(), "{} bytes for user {}", c.bytes,
             c.user);
  const auto word = batch.first(c.bytes);
  batch = batch.subspan(c.bytes);
  users_[c.user]->on_told(word);
}

void Network::receive(std::span<const std::byte> batch) {
  while (!batch.empty()) {
    CrossingKind kind{};
    WEFT_CHECK(batch.size() >= sizeof kind, "{} bytes of a crossing", batch.size());
    std::memcpy(&kind, batch.data(), sizeof kind);
    if (kind == CrossingKind::packet) {
      receive_packet(take<PacketCrossing>(batch));
    } else if (kind == CrossingKind::loss) {
      receive_loss(take<LossCrossing>(batch));
    } else if (kind == CrossingKind::word) {
      const auto word = take<WordCrossing>(batch);
      receive_word(word, batch);
    } else {
      WEFT_CHECK(kind == CrossingKind::credit, "a crossing of kind {}",
                 static_cast<std::uint32_t>(kind));
      receive_credit(take<CreditCrossing>(batch));
    }
  }
}

}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
// Links that are declared lossy, and hosts that send again.
#include <utility>

#include "sim/network/network.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t million = 1'000'000;

}  // namespace

void Network::set_loss(LinkId link, std::uint32_t parts_per_million) {
  if (!is_here(link)) return;
  const auto at = losses_.try_emplace(link, Loss{.rng = loss_rng_.split(link.value())}).first;
  at->second.parts_per_million = parts_per_million;
  looks_closer_ = true;
}

bool Network::loses(LinkId l) {
  const auto at = losses_.find(l);
  if (at == losses_.end() || at->second.parts_per_million == 0) return false;
  return at->second.rng.below(million) < at->second.parts_per_million;
}

/// Returns whether the record of the packet's message remains.
bool Network::lose(Port port, std::uint32_t lane_index, std::uint32_t p, PicoInstant arrival) {
  const Packet packet = packets_[p];
  packets_.give_back(p);
  ++lost_;
  const Transmitter& t = port.transmitter;
  return_credit(port, arrival + latency(t.kind), packet.bytes, lane_index);
  const Message& message = messages_[packet.message];
  const MessageRequest& request = message.request;
  if (request.may_be_lost) {
    Message gone = message;
    forget(packet.message);
    NetworkUser& user = *users_[gone.request.user];
    // Its host's own link has lost it. The user may post more, which may take the record.
    if (!std::exchange(gone.sent, true)) user.on_sent(gone, t.clock.free_at());
    user.on_lost(gone);
    return false;
  }
  const Vertex host = topology_.host(request.source);
  const std::uint32_t source = t.own.value();
  const std::uint32_t payload = packet.bytes - header_of(request);
  const PicoInstant again = arrival + options_.retransmit_after;
  if (owns(host) && !message.foreign) {
    engine_.schedule(source, again, EventKind::packet_lost, host.value(), 0,
                     std::uint64_t{packet.message} << 32 | payload);
    return true;
  }
  const LossCrossing crossing{.payload = payload,
                              .time = again,
                              .source = source,
                              .sequence = engine_.next_sequence(source),
                              .from_host = request.source,
                              .to_host = request.destination,
                              .message_bytes = request.bytes,
                              .flow = request.flow,
                              .tag = request.tag,
                              .posted = message.posted,
                              .serial = message.serial,
                              .record = message.record,
                              .user = request.user,
                              .level = request.level};
  // A message that came back to its part was sent from another record than this one.
  if (owns(host)) {
    receive_loss(crossing);
  } else {
    border_->send(host, crossing);
  }
  --messages_[packet.message].packets;
  release(packet.message);
  return true;
}

void Network::send_again(const Event& event) {
  const auto m = static_cast<std::uint32_t>(event.payload >> 32);
  Message& message = messages_[m];
  --message.packets;  // the lost one
  // While there is something to send it has its place among the host's messages.
  const bool is_waiting = message.to_send > 0;
  const std::uint64_t again = event.payload & 0xffff'ffff;
  message.to_send += again;
  if (observer_ != nullptr) {
    const Vertex host = topology_.host(message.request.source);
    observer_->on_queued(engine_.now(), topology_.link({host, PortNumber(0)}),
                         message.request.level, again);
  }
  if (!is_waiting) add_message(m);
}

}  // namespace weft::sim

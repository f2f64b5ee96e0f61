// SPDX-License-Identifier: Apache-2.0
// Links that are declared lossy, and hosts that send again.
#include "sim/network/network.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t million = 1'000'000;

}  // namespace

void Network::set_loss(LinkId link, std::uint32_t parts_per_million) {
  const auto at = losses_.try_emplace(link, Loss{.rng = loss_rng_.split(link.value())}).first;
  at->second.parts_per_million = parts_per_million;
}

bool Network::loses(LinkId l) {
  const auto at = losses_.find(l);
  if (at == losses_.end() || at->second.parts_per_million == 0) return false;
  return at->second.rng.below(million) < at->second.parts_per_million;
}

void Network::lose(LinkId l, std::uint32_t lane_index, std::uint32_t p, PicoInstant arrival) {
  const Packet packet = packets_[p];
  packets_.give_back(p);
  ++lost_;
  return_credit(l, lane_index, packet.bytes,
                arrival + transmitters_[l.value()].link.parameters().latency);
  const Vertex host = topology_.host(messages_[packet.message].request.source);
  engine_.schedule(topology_.port(l).vertex.value(), arrival + options_.retransmit_after,
                   EventKind::packet_lost, host.value(), 0,
                   std::uint64_t{packet.message} << 32 | (packet.bytes - options_.packet_overhead));
}

void Network::send_again(const Event& event) {
  const auto m = static_cast<std::uint32_t>(event.payload >> 32);
  Message& message = messages_[m];
  // While there is something to send it has its place among the host's messages.
  const bool is_waiting = message.to_send > 0;
  message.to_send += event.payload & 0xffff'ffff;
  if (!is_waiting) add_message(m);
}

}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
// The responder of a reliable connection: takes requests in the order of their PSNs, and says so
// when one is missing, or when a page is.
#include "net/rc/adapter.hpp"

namespace weft::net::rc {
namespace {

using wire::Opcode;

std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
  return bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
}

Opcode response_opcode(std::uint32_t i, std::uint32_t count) {
  if (count == 1) return Opcode::read_response_only;
  if (i == 0) return Opcode::read_response_first;
  return i + 1 == count ? Opcode::read_response_last : Opcode::read_response_middle;
}

bool ends_message(Opcode opcode) {
  return opcode == Opcode::send_last || opcode == Opcode::send_only ||
         opcode == Opcode::write_last || opcode == Opcode::write_only;
}

}  // namespace

void Adapter::send_nak(std::uint32_t number, std::uint8_t syndrome, Outbox& out) {
  out.packets.push_back({.opcode = Opcode::acknowledge,
                         .syndrome = syndrome,
                         .message_number = queue_pairs_[number].messages,
                         .queue_pair = number,
                         .psn = queue_pairs_[number].expected});
}

bool Adapter::reaches_memory(Instant now, const Packet& packet) {
  const bool is_read = packet.opcode == Opcode::read_request;
  const bool is_send = packet.opcode <= Opcode::send_only_immediate;
  if (is_send) return true;  // receive buffers are touched before they are posted
  const std::uint64_t bytes = is_read ? packet.length : packet.payload;
  if (bytes == 0) return true;
  const std::uint64_t last = (packet.address + bytes - 1) / page_bytes;
  bool all = true;
  for (std::uint64_t page = packet.address / page_bytes; page <= last; ++page) {
    if (pages_.is_resident(page)) continue;
    pages_.fault(now, page);
    all = false;
  }
  return all;
}

void Adapter::answer(std::uint32_t number, const Packet& packet, Outbox& out) {
  const std::uint32_t messages = queue_pairs_[number].messages;
  if (packet.opcode != Opcode::read_request) {
    if (!packet.wants_ack) return;
    out.packets.push_back({.opcode = Opcode::acknowledge,
                           .syndrome = wire::ack_syndrome,
                           .message_number = messages,
                           .queue_pair = number,
                           .psn = packet.psn});
    return;
  }
  const std::uint32_t count = packets_of(packet.length, options_.mtu);
  for (std::uint32_t i = 0; i < count; ++i) {
    out.packets.push_back({.opcode = response_opcode(i, count),
                           .syndrome = wire::ack_syndrome,
                           .message_number = messages,
                           .queue_pair = number,
                           .psn = (packet.psn + i) & wire::psn_mask,
                           .payload = std::min(options_.mtu, packet.length - i * options_.mtu)});
  }
}

void Adapter::on_request(Instant now, std::uint32_t number, const Packet& packet, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  const std::int32_t ahead = wire::psn_distance(packet.psn, qp.expected);
  if (ahead > 0) {
    // After a NAK every packet is dropped until the one that it asked for has come.
    if (qp.is_nak_sent || qp.is_rnr) return;
    qp.is_nak_sent = true;
    ++counters_.sequence_naks;
    return send_nak(number, wire::sequence_nak_syndrome, out);
  }
  // A SEND or WRITE that was carried out once is acknowledged without its memory.
  if (ahead < 0 && packet.opcode != Opcode::read_request) return answer(number, packet, out);
  const bool begins_send =
      packet.opcode == Opcode::send_first || packet.opcode == Opcode::send_only;
  if (ahead == 0 && begins_send && qp.receives == 0) {
    qp.is_rnr = true;
    qp.is_nak_sent = false;
    ++counters_.rnr_naks;
    return send_nak(number, wire::rnr_nak_syndrome(options_.rnr_timer), out);
  }
  if (!reaches_memory(now, packet)) {
    // A READ that was answered once needs its page again. The responder may not refuse a request
    // that it has taken, so it is silent: the requester's timeout brings the READ a third time.
    if (ahead < 0) return;
    if (qp.is_nak_coming) return;
    qp.is_rnr = qp.is_nak_coming = true;
    qp.is_nak_sent = false;
    return set_timer(now + profile_.fault_detection, number, TimerKind::rnr_nak, qp.nak_number);
  }
  if (ahead == 0) {
    const std::uint32_t taken =
        packet.opcode == Opcode::read_request ? packets_of(packet.length, options_.mtu) : 1;
    qp.expected = (qp.expected + taken) & wire::psn_mask;
    qp.is_nak_sent = qp.is_rnr = false;
    if (packet.opcode == Opcode::read_request || ends_message(packet.opcode)) {
      qp.messages = (qp.messages + 1) & wire::message_number_mask;
    }
    if (ends_message(packet.opcode)) {
      const bool is_send = packet.opcode < Opcode::write_first;
      if (is_send && qp.receives != unlimited) --qp.receives;
      out.received.push_back(number);
    }
  }
  answer(number, packet, out);
}

}  // namespace weft::net::rc

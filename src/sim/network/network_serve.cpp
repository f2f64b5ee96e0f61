// SPDX-License-Identifier: Apache-2.0
// What a transmitter does: choose a lane by priority, weight and credit, send a packet, and say
// when to look again.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.hpp"
#include "sim/network/network.hpp"

namespace weft::sim {

void Network::wake_at(LinkId l, PicoInstant at) {
  Transmitter& t = transmitters_[l.value()];
  if (t.wake <= at) return;
  t.wake = at;
  engine_.schedule_wake(topology_.port(l).vertex.value(), at, EventKind::port_wakes, l.value());
}

bool Network::serve(LinkId l) {
  {
    const Transmitter& t = transmitters_[l.value()];
    if (t.waiting == 0 || !t.up) return false;
    const PicoInstant free = t.link.idle_from();
    if (free > engine_.now()) {
      wake_at(l, free);
      return false;
    }
  }
  const int chosen = pick_lane(l);
  if (chosen < 0) return false;
  const auto lane_index = static_cast<std::uint32_t>(chosen);
  const bool at_host = transmitters_[l.value()].at_host;
  const std::uint32_t p = at_host ? make_packet(l, lane_index) : take_packet(l, lane_index);
  const bool message_sent = at_host && packets_[p].last;
  const std::uint32_t m = packets_[p].message;
  transmit(l, lane_index, p);
  const Transmitter& t = transmitters_[l.value()];
  const PicoInstant free = t.link.idle_from();
  if (t.waiting != 0) wake_at(l, free);
  // Last, since the user may post more.
  if (message_sent && !std::exchange(messages_[m].sent, true)) {
    users_[messages_[m].request.user]->on_sent(messages_[m], free);
  }
  if (border_ != nullptr && at_host) release(m);
  return true;
}

std::uint32_t Network::head_bytes(const Transmitter& t, const Lane& lane) const {
  if (!t.at_host) return packets_[queues_[lane.round_head].head].bytes;
  const std::uint64_t left = messages_[lane.round_head].to_send;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, options_.mtu)) +
         options_.packet_overhead;
}

PicoInstant Network::credit_time(Lane& lane, std::uint32_t bytes) {
  const PicoInstant now = engine_.now();
  while (lane.returns_head != kNone && returns_[lane.returns_head].at <= now) {
    const std::uint32_t r = lane.returns_head;
    lane.credits += returns_[r].bytes;
    lane.returns_head = returns_[r].next;
    returns_.give_back(r);
  }
  if (lane.returns_head == kNone) lane.returns_tail = kNone;
  if (lane.credits >= bytes) return now;
  std::int64_t credits = lane.credits;
  for (std::uint32_t r = lane.returns_head; r != kNone; r = returns_[r].next) {
    credits += returns_[r].bytes;
    if (credits >= bytes) return returns_[r].at;
  }
  return PicoInstant::never();
}

/// Whether the lane's next packet fits into the buffer behind the link; if not, sees to it that the
/// transmitter looks again when it does. That may be earlier than is known now: more credits may
/// become known, not in the order of their time.
bool Network::has_credit(LinkId l, Lane& lane) {
  const std::uint32_t bytes = head_bytes(transmitters_[l.value()], lane);
  const PicoInstant when = credit_time(lane, bytes);
  lane.starved = when > engine_.now();
  if (lane.starved) wake_at(l, when);
  return !lane.starved;
}

int Network::pick_lane(LinkId l) {
  const std::uint64_t waiting = transmitters_[l.value()].waiting;
  for (std::size_t priority = 0; priority < priority_lanes_.size(); ++priority) {
    std::uint64_t able = 0;
    for (std::uint64_t left = waiting & priority_lanes_[priority]; left != 0; left &= left - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
      if (has_credit(l, lane(l, i)) && (!transmitters_[l.value()].at_host || gap_is_over(l, i))) {
        able |= std::uint64_t{1} << i;
      }
    }
    if (able == 0) continue;
    if (std::has_single_bit(priority_lanes_[priority])) return std::countr_zero(able);
    return static_cast<int>(turn_of(l, priority, able));
  }
  return -1;
}

/// Weighted round robin among lanes of one priority: the lane whose turn it is goes on until its
/// allowance is used up, or it cannot; then it is the next one's turn. What a packet exceeds the
/// allowance by is taken from the next one, so that shares hold in bytes.
std::uint32_t Network::turn_of(LinkId l, std::size_t priority, std::uint64_t able) {
  const std::uint64_t members = priority_lanes_[priority];
  const auto quantum = static_cast<std::int32_t>(options_.mtu + options_.packet_overhead);
  std::uint8_t& turn = turns_[l.value() * priority_lanes_.size() + priority];
  for (;;) {
    Lane& candidate = lane(l, turn);
    const bool can = (able >> turn & 1) != 0;
    if (can && candidate.allowance > 0) {
      candidate.allowance -=
          static_cast<std::int32_t>(head_bytes(transmitters_[l.value()], candidate));
      return turn;
    }
    // An unused allowance is not saved up; a debt is kept.
    candidate.allowance = std::min(candidate.allowance, 0);
    const std::uint64_t behind = members & ~((std::uint64_t{2} << turn) - 1);
    turn = static_cast<std::uint8_t>(std::countr_zero(behind != 0 ? behind : members));
    // A packet is at most the quantum, and so is a debt: whoever can has its turn within a round.
    if ((able >> turn & 1) != 0) {
      lane(l, turn).allowance += options_.levels[turn / channels_].weight * quantum;
    }
  }
}

std::uint32_t Network::take_packet(LinkId l, std::uint32_t lane_index) {
  Transmitter& t = transmitters_[l.value()];
  Lane& from = lane(l, lane_index);
  const std::uint32_t q = from.round_head;
  InputQueue& queue = queues_[q];
  const std::uint32_t p = queue.head;
  queue.head = packets_[p].next;
  from.round_head = queue.next;
  queue.next = kNone;
  if (queue.head != kNone) {  // to the end of the round
    if (from.round_head == kNone) {
      from.round_head = q;
    } else {
      queues_[from.round_tail].next = q;
    }
    from.round_tail = q;
  } else if (from.round_head == kNone) {
    t.waiting &= ~(std::uint64_t{1} << lane_index);
  }
  queued_[l.value()] -= packets_[p].bytes;
  return p;
}

void Network::transmit(LinkId l, std::uint32_t lane_index, std::uint32_t p) {
  Transmitter& t = transmitters_[l.value()];
  Packet& packet = packets_[p];
  net::Transit transit = t.link.send(engine_.now(), ByteCount(packet.bytes));
  if (transit.departure < packet.tail) {  // its end has not come in yet: the link waits for it
    t.link.occupy_until(packet.tail);
    transit.departure = packet.tail;
    transit.arrival = packet.tail + t.link.parameters().latency;
  }
  if (packet.arrived_by != kNone) {
    const LinkId by(packet.arrived_by);
    const PicoDuration back = transmitters_[by.value()].link.parameters().latency;
    const PicoInstant returned = transit.departure + back;
    const Vertex sender = topology_.port(by).vertex;
    if (owns(sender)) {
      return_credit(by, packet.lane, packet.bytes, returned);
    } else {
      border_->send(
          sender,
          CreditCrossing{
              .link = by.value(), .lane = packet.lane, .bytes = packet.bytes, .at = returned});
    }
  }
  Lane& to = lane(l, lane_index);
  to.credits -= packet.bytes;
  WEFT_CHECK(to.credits >= 0, "link {} overruns the buffer behind it", l.value());
  counters_[l.value()].packets += 1;
  counters_[l.value()].bytes += packet.bytes;
  if (observer_ != nullptr) {
    const std::uint64_t waited = packet.bytes - (t.at_host ? options_.packet_overhead : 0);
    observer_->on_transmit(l, packet, messages_[packet.message], waited, transit);
  }
  if (!losses_.empty() && loses(l)) return lose(l, lane_index, p, transit.arrival);
  packet.arrived_by = l.value();
  packet.lane = static_cast<std::uint16_t>(lane_index);

  PicoInstant at = transit.arrival;
  if (t.to_host) {
    // A host takes what comes: the room is free again at once.
    packet.arrived_by = kNone;
    return_credit(l, lane_index, packet.bytes, transit.arrival + t.link.parameters().latency);
  } else {
    packet.tail = transit.arrival + options_.switch_delay;
    at = packet.tail;
    if (options_.cut_through) {
      at = transit.start + t.link.parameters().latency + options_.switch_delay;
    }
  }
  if (!owns(t.peer.vertex)) return send_across(l, at, p);
  engine_.schedule(topology_.port(l).vertex.value(), at, EventKind::packet_arrives,
                   t.peer.vertex.value(), t.peer.port.value(), p);
}

void Network::return_credit(LinkId l, std::uint32_t lane_index, std::uint32_t bytes,
                            PicoInstant at) {
  Lane& to = lane(l, lane_index);
  const std::uint32_t r = returns_.take();
  returns_[r] = {.at = at, .bytes = bytes, .next = kNone};
  if (to.returns_head == kNone) {
    to.returns_head = to.returns_tail = r;
  } else if (returns_[to.returns_tail].at <= at) {
    returns_[to.returns_tail].next = r;
    to.returns_tail = r;
  } else {  // packets for different outputs leave a buffer in any order
    std::uint32_t* link = &to.returns_head;
    while (returns_[*link].at <= at) link = &returns_[*link].next;
    returns_[r].next = *link;
    *link = r;
  }
  if (to.starved) wake_at(l, credit_time(to, head_bytes(transmitters_[l.value()], to)));
}

}  // namespace weft::sim

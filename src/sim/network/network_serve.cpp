// SPDX-License-Identifier: Apache-2.0
// Packets' arrivals and the work of a transmitter: choose a lane by priority, weight and credit,
// send a packet, and say when to look again.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.hpp"
#include "sim/network/network.hpp"

namespace weft::sim {
namespace {

/// The next member of the set behind `level`, round about: `level` itself if there is no other.
std::uint32_t after(std::uint32_t level, std::uint16_t members) {
  const std::uint32_t behind = members & ~((2U << level) - 1);
  return static_cast<std::uint32_t>(std::countr_zero(behind != 0 ? behind : members));
}

/// Without a count of bits, which is a call on processors of unknown age.
bool is_single(std::uint16_t members) {
  return members != 0 && (members & (members - 1)) == 0;
}

}  // namespace

void Network::on_event(const Event& event) {
  if (event.kind == EventKind::packet_arrives) {
    on_arrival(event);
    return;
  }
  if (event.kind == EventKind::packet_lost) {
    send_again(event);
    return;
  }
  const Port woken = port(LinkId(event.target));
  Transmitter& t = woken.transmitter;
  if (t.wake != event.time) return;  // something earlier happened in between
  t.wake = PicoInstant::never();
  if (serve(woken)) engine_.count_wake();
}

void Network::on_arrival(const Event& event) {
  const auto p = static_cast<std::uint32_t>(event.payload);
  const Vertex at(event.target);
  ++hops_;
  if (topology_.is_host(at)) {
    deliver(p);
    return;
  }
  Packet& packet = packets_[p];
  const PortNumber in(event.detail);
  const LinkId first = topology_.link({at, PortNumber(0)});
  const std::uint32_t level = level_of_[packet.lane];
  const Port of_first = port(first);
  const Transmitter& t = of_first.transmitter;
  const PortLoad load({&level_state(of_first, level).queued, lane_count_ * sizeof(Lane)},
                      {&t.clock.free_at(), sizeof t}, {&t.rate, sizeof t}, engine_.now());
  const Hop hop = router_.next(at, in, packet.route, load, rngs_[at.value()]);
  packet.route.channel = hop.channel;
  const std::uint32_t number = hop.port.value();
  const Port out{(&of_first.transmitter)[number], of_first.lanes + number * lane_count_};
  enqueue(out, level * channels_ + hop.channel, in, p);
}

void Network::enqueue(Port out, std::uint32_t lane_index, PortNumber in, std::uint32_t p) {
  Packet& packet = packets_[p];
  const std::uint8_t level = level_of_[lane_index];
  if (observer_ != nullptr) observer_->on_queued(engine_.now(), link(out), level, packet.bytes);
  if (passes_at_once(out, lane_index, packet.bytes)) return transmit(out, lane_index, p);
  Transmitter& t = out.transmitter;
  Round& round = out.lanes[lane_index].round;
  if (round.queues == kNone) round.queues = queues_.take(t.queue_kind);
  packet.queue = options_.output_queues ? std::uint16_t{0} : in.value();
  const std::uint32_t q = round.queues + packet.queue;
  InputQueue& queue = queues_[q];
  packet.next = kNone;
  LevelState& of_level = level_state(out, level);
  of_level.queued += packet.bytes;
  of_level.waited -= ticks_of(engine_.now());
  if (queue.head != kNone) {
    packets_[queue.tail].next = p;
    queue.tail = p;
    return;  // the queue has its place in the round already
  }
  queue.head = queue.tail = p;
  queue.next = kNone;
  if (round.head == kNone) {
    round.head = p;
  } else {
    queues_[round.tail].next = q;
  }
  round.tail = q;
  t.waiting |= std::uint64_t{1} << lane_index;
  serve(out);
}

void Network::wake_at(Port port, PicoInstant at) {
  Transmitter& t = port.transmitter;
  if (t.wake <= at) return;
  t.wake = at;
  engine_.schedule_wake(t.own.value(), at, EventKind::port_wakes, link(port).value());
}

bool Network::serve(Port port) {
  Transmitter& t = port.transmitter;
  if (t.waiting == 0 || !t.up) return false;
  if (t.clock.free_at() > engine_.now()) {
    wake_at(port, t.clock.free_at());
    return false;
  }
  const std::uint32_t lane_index = pick(port);
  if (lane_index == kNone) return false;
  const std::uint32_t p = t.at_host ? make_packet(port, lane_index) : take_packet(port, lane_index);
  const bool message_sent = t.at_host && packets_[p].last;
  const std::uint32_t m = packets_[p].message;
  transmit(port, lane_index, p);
  const PicoInstant free = t.clock.free_at();
  if (t.waiting != 0) wake_at(port, free);
  // Last, since the user may post more.
  if (message_sent && !std::exchange(messages_[m].sent, true)) {
    users_[messages_[m].request.user]->on_sent(messages_[m], free);
  }
  if (border_ != nullptr && t.at_host) release(m);
  return true;
}

/// A packet that meets nobody goes on without having waited: the link is free, there is room behind
/// it, and it is the turn of its level as it would be if it had been queued.
bool Network::passes_at_once(Port port, std::uint32_t lane_index, std::uint32_t bytes) {
  const Transmitter& t = port.transmitter;
  if (t.waiting != 0 || !t.up || t.clock.free_at() > engine_.now()) return false;
  Room& behind = room(port, lane_index);
  take_returns(port, behind);
  if (!behind.fits(port.lanes[lane_index].used, bytes, reserve_)) return false;
  std::uint32_t priority = 0;
  while ((priorities_[priority].lanes >> lane_index & 1) == 0) ++priority;
  const std::uint32_t level = level_of_[lane_index];
  charge(port, priority, lane_index, static_cast<std::uint16_t>(1U << level), bytes);
  return true;
}

std::uint32_t Network::head_bytes(Port port, std::uint32_t lane_index) const {
  const std::uint32_t head = port.lanes[lane_index].round.head;
  if (!port.transmitter.at_host) return packets_[head].bytes;
  const Message& message = messages_[head];
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(message.to_send, options_.mtu)) +
         header_of(message.request);
}

/// Room that has come back by now.
void Network::take_returns(Port port, Room& of) {
  while (of.has_return() && of.next_at <= engine_.now()) {
    of.give_back(port.lanes[of.next_lane].used, of.next_bytes, reserve_);
    of.next_bytes = 0;
    if (of.last_return != kNone) advance_returns(of);
  }
}

/// The first of the other returns is the earliest one now.
void Network::advance_returns(Room& of) {
  const std::uint32_t last = of.last_return;
  const std::uint32_t first = returns_[last].next;
  set_next(of, returns_[first]);
  if (first == last) {
    of.last_return = kNone;
  } else {
    returns_[last].next = returns_[first].next;
  }
  returns_.give_back(first);
}

void Network::set_next(Room& of, const CreditReturn& earliest) {
  of.next_at = earliest.at;
  of.next_bytes = earliest.bytes & 0x3fffff;
  of.next_lane = earliest.lane & 63;
}

/// Whether the lane's next packet fits into the buffer behind the link; if not, sees to it that the
/// transmitter looks again when some room comes back. That may be earlier than is known now: more
/// credits may become known, not in the order of their time.
bool Network::has_credit(Port port, std::uint32_t lane_index) {
  Room& behind = room(port, lane_index);
  take_returns(port, behind);
  const std::uint32_t used = port.lanes[lane_index].used;
  const bool fits = behind.fits(used, head_bytes(port, lane_index), reserve_);
  behind.starved = fits ? 0 : 1;
  if (!fits && behind.has_return()) wake_at(port, behind.next_at);
  return fits;
}

std::uint16_t Network::waiting_levels(std::uint64_t lanes) const {
  if (channels_ == 1) return static_cast<std::uint16_t>(lanes);
  std::uint32_t levels = 0;
  for (; lanes != 0; lanes &= lanes - 1) levels |= 1U << level_of_[std::countr_zero(lanes)];
  return static_cast<std::uint16_t>(levels);
}

/// The lane of the level that may send: its channel classes take turns. kNone: none can.
std::uint32_t Network::able_lane(Port port, std::uint32_t level) {
  const std::uint32_t first = level * channels_;
  if (port.transmitter.at_host) {  // hosts send in class 0
    if (!gap_is_over(port, first)) return kNone;
  } else if (channels_ > 1) {
    return able_class(port, level);
  }
  return has_credit(port, first) ? first : kNone;
}

std::uint32_t Network::able_class(Port port, std::uint32_t level) {
  const Transmitter& t = port.transmitter;
  const std::uint32_t first = level * channels_;
  const std::uint64_t turns = class_turns_[link(port).value()];
  const auto last = static_cast<std::uint32_t>(turns >> (4 * level) & 15);
  for (std::uint32_t i = 1; i <= channels_; ++i) {
    const std::uint32_t lane_index = first + (last + i) % channels_;
    if ((t.waiting >> lane_index & 1) != 0 && has_credit(port, lane_index)) return lane_index;
  }
  return kNone;
}

/// The lane that sends next, charged for its packet; kNone: none can.
std::uint32_t Network::pick(Port port) {
  const std::uint64_t waiting = port.transmitter.waiting;
  for (std::uint32_t priority = 0; priority < priorities_.size(); ++priority) {
    const std::uint16_t levels = waiting_levels(waiting & priorities_[priority].lanes);
    if (levels == 0) continue;
    const std::uint32_t lane_index =
        is_single(levels) ? able_lane(port, static_cast<std::uint32_t>(std::countr_zero(levels)))
                          : choose(port, priority, levels);
    if (lane_index == kNone) continue;
    charge(port, priority, lane_index, levels, head_bytes(port, lane_index));
    return lane_index;
  }
  return kNone;
}

/// Weighted round robin among several waiting levels of one priority: the level whose turn it is
/// goes on until its allowance is used up; then it is the next one's turn. A level that waits for
/// credits in its turn is passed over; it keeps the rest of its allowance, and goes first when it
/// can. Changes nothing of that: how often it is asked depends on how the work is split.
std::uint32_t Network::choose(Port port, std::uint32_t priority, std::uint16_t waiting) {
  const Transmitter& t = port.transmitter;
  for (std::uint32_t left = t.passed_over & waiting; left != 0; left &= left - 1) {
    const std::uint32_t able = able_lane(port, static_cast<std::uint32_t>(std::countr_zero(left)));
    if (able != kNone) return able;
  }
  const std::uint32_t turn = turn_of(t, priority);
  if ((waiting >> turn & 1) != 0 && level_state(port, turn).allowance > 0) {
    const std::uint32_t able = able_lane(port, turn);
    if (able != kNone) return able;
  }
  const std::uint32_t first = after(turn, waiting);
  std::uint32_t next = first;
  do {
    const std::uint32_t able = able_lane(port, next);
    if (able != kNone) return able;
    next = after(next, waiting);
  } while (next != first);
  return kNone;
}

/// The lane sends so many bytes: its level's turn comes, if it was not, and is charged. A packet's
/// excess over the allowance is taken from the next one, so that shares hold in bytes.
void Network::charge(Port port, std::uint32_t priority, std::uint32_t lane_index,
                     std::uint16_t waiting, std::uint32_t bytes) {
  const std::uint32_t level = level_of_[lane_index];
  if (channels_ > 1) {
    const std::uint64_t channel = lane_index - level * channels_;
    std::uint64_t& class_turns = class_turns_[link(port).value()];
    class_turns &= ~(std::uint64_t{15} << (4 * level));
    class_turns |= channel << (4 * level);
  }
  if (is_single(priorities_[priority].levels)) return;
  charge_level(port, priority, level, waiting, bytes);
}

void Network::charge_level(Port port, std::uint32_t priority, std::uint32_t level,
                           std::uint16_t waiting, std::uint32_t bytes) {
  Transmitter& t = port.transmitter;
  const std::uint16_t members = priorities_[priority].levels;
  // A level that has nothing to send saves nothing up.
  for (std::uint32_t left = t.passed_over & members & ~waiting; left != 0; left &= left - 1) {
    pass(port, static_cast<std::uint32_t>(std::countr_zero(left)), false);
  }
  LevelState& of = level_state(port, level);
  const bool passed_over = (t.passed_over >> level & 1) != 0;
  const bool goes_on = turn_of(t, priority) == level && of.allowance > 0;
  if (!passed_over && !goes_on) move_turn(port, priority, level, waiting);
  of.allowance -= static_cast<std::int32_t>(bytes);
  if (of.allowance <= 0) pass(port, level, false);
}

/// The turn is over for the level: one that waits for credits keeps its allowance, others only a
/// debt.
void Network::pass(Port port, std::uint32_t level, bool starved) {
  Transmitter& t = port.transmitter;
  LevelState& of = level_state(port, level);
  if (!starved) of.allowance = std::min(of.allowance, 0);
  const std::uint32_t others = t.passed_over & ~(1U << level);
  t.passed_over = static_cast<std::uint16_t>(of.allowance > 0 ? others | 1U << level : others);
}

/// From the level whose turn it was to the one that sends now. Those in between wait for credits:
/// each gets this round's allowance, and saves up no more than that.
void Network::move_turn(Port port, std::uint32_t priority, std::uint32_t level,
                        std::uint16_t waiting) {
  Transmitter& t = port.transmitter;
  const std::uint32_t before = turn_of(t, priority);
  pass(port, before, (waiting >> before & 1) != 0);
  const auto quantum = static_cast<std::int32_t>(options_.mtu + options_.packet_overhead);
  for (std::uint32_t next = after(before, waiting);; next = after(next, waiting)) {
    LevelState& of = level_state(port, next);
    const std::int32_t share = options_.levels[next].weight * quantum;
    of.allowance = std::min(of.allowance + share, share);
    if (next == level) break;
    pass(port, next, true);
  }
  t.turns &= ~(std::uint64_t{15} << (4 * priority));
  t.turns |= std::uint64_t{level} << (4 * priority);
}

std::uint32_t Network::take_packet(Port port, std::uint32_t lane_index) {
  Transmitter& t = port.transmitter;
  Round& from = port.lanes[lane_index].round;
  const std::uint32_t p = from.head;
  const std::uint32_t q = from.queues + packets_[p].queue;
  InputQueue& queue = queues_[q];
  queue.head = packets_[p].next;
  const std::uint32_t next = std::exchange(queue.next, kNone);
  from.head = next == kNone ? queue.head : queues_[next].head;
  if (queue.head != kNone) {  // to the end of the round
    if (next != kNone) queues_[from.tail].next = q;
    from.tail = q;
  } else if (next == kNone) {
    t.waiting &= ~(std::uint64_t{1} << lane_index);
    queues_.give_back(t.queue_kind, std::exchange(from.queues, kNone));
  }
  LevelState& level = level_state(port, level_of_[lane_index]);
  level.queued -= packets_[p].bytes;
  level.waited += ticks_of(engine_.now());
  return p;
}

/// The packet goes on: its room in the buffer that it lies in comes back to the sender.
void Network::leave_buffer(const Packet& packet, PicoInstant departure) {
  const Port by = port(LinkId(packet.arrived_by));
  const PicoInstant returned = departure + latencies_[room(by, packet.lane).kind];
  if (border_ == nullptr || owns(by.transmitter.own)) {
    return_credit(by, packet.lane, packet.bytes, returned);
  } else {
    border_->send(
        by.transmitter.own,
        CreditCrossing{
            .link = packet.arrived_by, .lane = packet.lane, .bytes = packet.bytes, .at = returned});
  }
}

/// Takes room behind the link, and counts the packet.
void Network::take_room(Port port, std::uint32_t lane_index, std::uint32_t bytes) {
  Room& behind = room(port, lane_index);
  std::uint32_t& used = port.lanes[lane_index].used;
  WEFT_CHECK(behind.fits(used, bytes, reserve_), "link {} overruns the buffer behind it",
             link(port).value());
  behind.take(used, bytes, reserve_);
  const std::uint8_t level = level_of_[lane_index];
  Lane& counts = port.lanes[level * channels_];
  if (++counts.packets == 0) ++packets_overflown_[{link(port).value(), level}];
  counts.level.bytes += bytes;
}

void Network::transmit(Port port, std::uint32_t lane_index, std::uint32_t p) {
  Transmitter& t = port.transmitter;
  Packet& packet = packets_[p];
  auto [start, departure] = t.clock.send(engine_.now(), packet.bytes, t.rate);
  if (departure < packet.tail) {  // its end has not come in yet: the link waits for it
    t.clock.occupy_until(packet.tail);
    departure = packet.tail;
  }
  const PicoDuration cable = latency(t.kind);
  const PicoInstant arrival = departure + cable;
  if (packet.arrived_by != kNone) leave_buffer(packet, departure);
  take_room(port, lane_index, packet.bytes);
  if (observer_ != nullptr) {
    const Message& message = messages_[packet.message];
    const std::uint64_t waited = packet.bytes - (t.at_host ? header_of(message.request) : 0);
    observer_->on_transmit(link(port), packet, message, waited, {start, departure, arrival});
  }
  if (!losses_.empty() && loses(link(port))) return lose(port, lane_index, p, arrival);
  packet.lane = static_cast<std::uint16_t>(lane_index);

  PicoInstant at = arrival;
  if (t.to_host) {
    // A host takes every packet: the room is free again at once.
    packet.arrived_by = kNone;
    return_credit(port, lane_index, packet.bytes, arrival + cable);
  } else {
    packet.arrived_by = link(port).value();
    packet.tail = arrival + options_.switch_delay;
    at = options_.cut_through ? start + cable + options_.switch_delay : packet.tail;
  }
  if (!owns(t.peer)) return send_across(port, at, p);
  engine_.schedule(t.own.value(), at, EventKind::packet_arrives, t.peer.value(),
                   t.peer_port.value(), p);
}

void Network::return_credit(Port port, std::uint32_t lane_index, std::uint32_t bytes,
                            PicoInstant at) {
  Room& to = room(port, lane_index);
  const CreditReturn more{.at = at, .bytes = bytes, .lane = lane_index, .next = kNone};
  // A link that waits for credits has to be woken for those that have come back.
  if (to.starved == 0) take_returns(port, to);
  if (!to.has_return()) {
    set_next(to, more);
  } else if (at < to.next_at) {
    add_return(to, {.at = to.next_at, .bytes = to.next_bytes, .lane = to.next_lane}, true);
    set_next(to, more);
  } else {
    add_return(to, more, false);
  }
  if (to.starved == 0) return;
  // Room may have come back already while the link was busy with another lane.
  const PicoInstant free = std::max(port.transmitter.clock.free_at(), engine_.now());
  wake_at(port, std::max(free, to.next_at));
}

/// Behind the earliest return, in order of time: before all others if it `is_first`, else behind
/// those that come at the same time. Mostly it is the last; but packets for different outputs leave
/// a buffer in any order.
void Network::add_return(Room& to, const CreditReturn& more, bool is_first) {
  const std::uint32_t r = returns_.take();
  returns_[r] = more;
  const std::uint32_t last = to.last_return;
  if (last == kNone) {
    returns_[r].next = r;
    to.last_return = r;
    return;
  }
  std::uint32_t before = last;
  const bool is_last = !is_first && returns_[last].at <= more.at;
  if (!is_first && !is_last) {
    while (returns_[returns_[before].next].at <= more.at) before = returns_[before].next;
  }
  returns_[r].next = returns_[before].next;
  returns_[before].next = r;
  if (is_last) to.last_return = r;
}

}  // namespace weft::sim

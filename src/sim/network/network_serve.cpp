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
  // The set stands here twice in a row, which spares a branch that the processor cannot predict.
  const std::uint64_t twice = std::uint64_t{members} << 16 | members;
  return static_cast<std::uint32_t>(std::countr_zero(twice >> (level + 1)) + level + 1) & 15;
}

/// Member by member: assigned as a whole, they would be put together in memory first, and the
/// processor would wait until it can read there what was written in smaller parts.
void fill(CreditReturn& to, PicoInstant at, std::uint32_t bytes, std::uint32_t lane,
          std::uint32_t next) {
  to.at = at;
  to.bytes = bytes;
  to.lane = lane;
  to.next = next;
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
  const Port woken = port(event.target);
  Transmitter& t = woken.transmitter;
  if (t.wake != event.time) return;  // something earlier happened in between
  t.wake = PicoInstant::never();
  if (serve(woken)) engine_.count_wake();
}

/// The packet's hop at its switch, which has links from `first` on.
Hop Network::hop_of(const Event& event, Packet& packet, const Port& first) {
  const Arrival arrival(event.payload);
  if (arrival.knows_hop()) return arrival.hop();
  const Transmitter& t = first.transmitter;
  const PortLoad load({&state_of(first, packet.lane).queued, lane_stride_ * sizeof(Lane)},
                      {&t.clock.free_at(), sizeof t}, {&t.rate, sizeof t}, engine_.now(),
                      options_.mtu + options_.packet_overhead);
  return router_.next(Vertex(event.target), PortNumber(event.detail), packet.route, load,
                      rng(Vertex(event.target)));
}

void Network::on_arrival(const Event& event) {
  const Arrival arrival(event.payload);
  const std::uint32_t p = arrival.packet();
  const Vertex at(event.target);
  // A packet for a host has no known hop: mostly one question tells.
  if (!arrival.knows_hop() && topology_.is_host(at)) {
    ++hops_;
    deliver(p);
    return;
  }
  Packet& packet = packets_[p];
  const Port first = port(first_links_[at.value()]);
  const Hop hop = hop_of(event, packet, first);
  packet.route.channel = hop.channel;
  const std::uint32_t number = hop.port.value();
  const Port out{(&first.transmitter)[number], first.lanes + number * lane_stride_};
  if (rates_differ_ && waits_for_rest(event, hop, out.transmitter.rate)) return;
  ++hops_;
  enqueue(out, facts_[packet.lane].first + hop.channel, PortNumber(event.detail), p);
}

void Network::enqueue(Port out, std::uint32_t lane_index, PortNumber in, std::uint32_t p) {
  Packet& packet = packets_[p];
  if (observer_ != nullptr) [[unlikely]]
    tell_queued(out, lane_index, packet.bytes);
  if (passes_at_once(out, lane_index, packet.bytes)) {
    transmit<false>(out, lane_index, p);
    return;
  }
  LevelState& level = state_of(out, lane_index);
  level.queued += packet.bytes;
  level.waited -= ticks_of(engine_.now());
  packet.next = kNone;
  if (!join_queue(out, lane_index, in, p)) return;
  out.transmitter.waiting |= std::uint64_t{1} << lane_index;
  serve_as<false>(out);
}

/// The packet goes to the end of its queue. Returns whether it is the first one there.
bool Network::join_queue(Port out, std::uint32_t lane_index, PortNumber in, std::uint32_t p) {
  Round& round = out.lanes[lane_index].round;
  if (options_.output_queues) {
    const bool is_first = round.head == kNone;
    (is_first ? round.head : packets_[round.tail].next) = p;
    round.tail = p;
    return is_first;
  }
  if (round.queues == kNone) round.queues = queues_.take(out.transmitter.queue_kind);
  Packet& packet = packets_[p];
  packet.queue = in.value();
  const std::uint32_t q = round.queues + packet.queue;
  InputQueue& queue = queues_[q];
  if (queue.head != kNone) {
    packets_[queue.tail].next = p;
    queue.tail = p;
    return false;  // the queue has its place in the round already
  }
  queue = {.head = p, .tail = p};
  if (round.head == kNone) {
    round.head = p;
  } else {
    queues_[round.tail].next = q;
  }
  round.tail = q;
  return true;
}

void Network::tell_queued(Port out, std::uint32_t lane_index, std::uint32_t bytes) {
  observer_->on_queued(engine_.now(), link(out), facts_[lane_index].level, bytes);
}

void Network::wake_at(Port port, PicoInstant at) {
  Transmitter& t = port.transmitter;
  if (t.wake <= at) return;
  t.wake = at;
  // Nothing but fetches looks at what is likely to go.
  const std::uint64_t likely = engine_.fetches_ahead() ? likely_next(port).payload() : 0;
  engine_.schedule_wake(t.own.value(), at, EventKind::port_wakes, number_of(port),
                        t.at_host ? kHostWakes : 0, likely);
}

/// What the transmitter will most likely send when it looks: of the first lane that waits behind
/// that of the last turn.
Arrival Network::likely_next(Port port) const {
  const Transmitter& t = port.transmitter;
  if (t.waiting == 0) return {0, 0};
  const std::uint32_t last = (turn_of(t, 0) + 1) * channels_ - 1;
  const std::uint64_t behind = t.waiting & (~std::uint64_t{1} << last);
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(behind != 0 ? behind : t.waiting));
  return {port.lanes[lane].round.head, lane};
}

bool Network::serve(Port port) {
  return port.transmitter.at_host ? serve_as<true>(port) : serve_as<false>(port);
}

template <bool kAtHost>
bool Network::serve_as(Port port) {
  Transmitter& t = port.transmitter;
  if (t.waiting == 0 || !t.up) return false;
  if (t.clock.free_at() > engine_.now()) {
    wake_at(port, t.clock.free_at());
    return false;
  }
  const Pick picked = pick<kAtHost>(port);
  if (picked.lane == kNone) return false;
  const std::uint32_t p = kAtHost ? make_packet(port, picked.lane) : take_packet(port, picked.lane);
  charge(port, picked, packets_[p].bytes);
  const bool message_sent = kAtHost && packets_[p].last;
  const std::uint32_t m = packets_[p].message;
  const bool is_kept = transmit<kAtHost>(port, picked.lane, p);
  const PicoInstant free = t.clock.free_at();
  if (t.waiting != 0) wake_at(port, free);
  if (kAtHost && !is_kept) return true;
  // Last, since the user may post more.
  if (message_sent && !std::exchange(messages_[m].sent, true)) {
    users_[messages_[m].request.user]->on_sent(messages_[m], free);
  }
  if (kAtHost && border_ != nullptr) release(m);
  return true;
}

/// A packet that meets nobody goes on without having waited: the link is free, there is room behind
/// it, and it is the turn of its level as it would be if it had been queued.
bool Network::passes_at_once(Port port, std::uint32_t lane_index, std::uint32_t bytes) {
  const Transmitter& t = port.transmitter;
  if (t.waiting != 0 || !t.up || t.clock.free_at() > engine_.now()) return false;
  if (!t.never_starves) {
    Room& behind = room(port, lane_index);
    take_returns(port, behind);
    if (!behind.fits(port.lanes[lane_index].used, bytes, reserve_)) return false;
  }
  const auto alone = static_cast<std::uint16_t>(1U << facts_[lane_index].level);
  charge(port, {.lane = lane_index, .waiting = alone}, bytes);
  return true;
}

template <bool kAtHost>
std::uint32_t Network::head_bytes(Port port, std::uint32_t lane_index) const {
  const std::uint32_t head = port.lanes[lane_index].round.head;
  if constexpr (!kAtHost) return packets_[head].bytes;
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
  const CreditReturn& earliest = returns_[first];
  set_next(of, earliest.at, earliest.bytes, earliest.lane);
  if (first == last) {
    of.last_return = kNone;
  } else {
    returns_[last].next = returns_[first].next;
  }
  returns_.give_back(first);
}

void Network::set_next(Room& of, PicoInstant at, std::uint32_t bytes, std::uint32_t lane) {
  of.next_at = at;
  of.next_bytes = bytes & 0x3fffff;
  of.next_lane = lane & 63;
}

/// Whether the lane's next packet fits into the buffer behind the link; if not, sees to it that the
/// transmitter looks again when some room comes back. That may be earlier than is known now: more
/// credits may become known, not in the order of their time.
template <bool kAtHost>
bool Network::has_credit(Port port, std::uint32_t lane_index) {
  if (!kAtHost && port.transmitter.never_starves) return true;
  Room& behind = room(port, lane_index);
  take_returns(port, behind);
  const std::uint32_t used = port.lanes[lane_index].used;
  const bool fits = behind.fits(used, head_bytes<kAtHost>(port, lane_index), reserve_);
  behind.starved = fits ? 0 : 1;
  if (!fits && behind.has_return()) wake_at(port, behind.next_at);
  return fits;
}

std::uint16_t Network::waiting_levels(std::uint64_t lanes) const {
  if (channels_ == 1) return static_cast<std::uint16_t>(lanes);
  std::uint32_t levels = 0;
  for (; lanes != 0; lanes &= lanes - 1) levels |= 1U << facts_[std::countr_zero(lanes)].level;
  return static_cast<std::uint16_t>(levels);
}

/// The lane of the level that may send: its channel classes take turns. kNone: none can.
template <bool kAtHost>
std::uint32_t Network::able_lane(Port port, std::uint32_t level) {
  const std::uint32_t first = level * channels_;
  if (kAtHost) {  // hosts send in class 0
    if (!gap_is_over(port, first)) return kNone;
  } else if (channels_ > 1) {
    return able_class(port, level);
  }
  return has_credit<kAtHost>(port, first) ? first : kNone;
}

std::uint32_t Network::able_class(Port port, std::uint32_t level) {
  const Transmitter& t = port.transmitter;
  const std::uint32_t first = level * channels_;
  const std::uint64_t turns = class_turns_[number_of(port)];
  const auto last = static_cast<std::uint32_t>(turns >> (4 * level) & 15);
  for (std::uint32_t i = 1; i <= channels_; ++i) {
    const std::uint32_t lane_index = first + (last + i) % channels_;
    if ((t.waiting >> lane_index & 1) != 0 && has_credit<false>(port, lane_index))
      return lane_index;
  }
  return kNone;
}

/// The lane that sends next; kNone: none can.
template <bool kAtHost>
Network::Pick Network::pick(Port port) {
  const std::uint64_t waiting = port.transmitter.waiting;
  for (std::uint32_t priority = 0; priority < priorities_.size(); ++priority) {
    const std::uint16_t levels = waiting_levels(waiting & priorities_[priority].lanes);
    if (levels == 0) continue;
    const std::uint32_t lane_index =
        is_single(levels)
            ? able_lane<kAtHost>(port, static_cast<std::uint32_t>(std::countr_zero(levels)))
            : choose<kAtHost>(port, priority, levels);
    if (lane_index != kNone) return {.lane = lane_index, .waiting = levels};
  }
  return {};
}

/// Weighted round robin among several waiting levels of one priority: the level whose turn it is
/// goes on until its allowance is used up; then it is the next one's turn. A level that waits for
/// credits in its turn is passed over; it keeps the rest of its allowance, and goes first when it
/// can. Changes nothing of that: how often it is asked depends on how the work is split.
template <bool kAtHost>
std::uint32_t Network::choose(Port port, std::uint32_t priority, std::uint16_t waiting) {
  const Transmitter& t = port.transmitter;
  for (std::uint32_t left = t.passed_over & waiting; left != 0; left &= left - 1) {
    const auto level = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::uint32_t able = able_lane<kAtHost>(port, level);
    if (able != kNone) return able;
  }
  const std::uint32_t turn = turn_of(t, priority);
  if ((waiting >> turn & 1) != 0 && level_state(port, turn).allowance > 0) {
    const std::uint32_t able = able_lane<kAtHost>(port, turn);
    if (able != kNone) return able;
  }
  const std::uint32_t first = after(turn, waiting);
  std::uint32_t next = first;
  do {
    const std::uint32_t able = able_lane<kAtHost>(port, next);
    if (able != kNone) return able;
    next = after(next, waiting);
  } while (next != first);
  return kNone;
}

/// The lane sends so many bytes: its level's turn comes, if it was not, and is charged.
void Network::charge(Port port, Pick pick, std::uint32_t bytes) {
  Transmitter& t = port.transmitter;
  const LaneFacts facts = facts_[pick.lane];
  const std::uint32_t level = facts.level;
  if (channels_ > 1) {
    std::uint64_t& class_turns = class_turns_[number_of(port)];
    class_turns &= ~(std::uint64_t{15} << (4 * level));
    class_turns |= std::uint64_t{facts.channel} << (4 * level);
  }
  const std::uint16_t members = priorities_[facts.priority].levels;
  if (is_single(members)) return;
  // Mostly one level waits, and has one turn after the other.
  LevelState& of = state_of(port, pick.lane);
  const bool is_turn = turn_of(t, facts.priority) == level && (t.passed_over & members) == 0;
  const bool is_alone = pick.waiting == 1U << level;
  if (!is_turn || (of.allowance <= 0 && !is_alone)) {
    return charge_turn(port, facts.priority, level, pick.waiting, bytes);
  }
  if (of.allowance <= 0) of.allowance += allowances_[level];
  of.allowance -= static_cast<std::int32_t>(bytes);
}

/// The same where turns pass from level to level. A packet's excess over the allowance is taken
/// from the next one, so that shares hold in bytes.
void Network::charge_turn(Port port, std::uint32_t priority, std::uint32_t level,
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
  for (std::uint32_t next = after(before, waiting);; next = after(next, waiting)) {
    LevelState& of = level_state(port, next);
    of.allowance = std::min(of.allowance + allowances_[next], allowances_[next]);
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
  const Packet& packet = packets_[p];
  LevelState& level = state_of(port, lane_index);
  level.queued -= packet.bytes;
  level.waited += ticks_of(engine_.now());
  if (options_.output_queues) {
    from.head = packet.next;
    if (from.head == kNone) t.waiting &= ~(std::uint64_t{1} << lane_index);
    return p;
  }
  const std::uint32_t q = from.queues + packet.queue;
  InputQueue& queue = queues_[q];
  queue.head = packet.next;
  const std::uint32_t next = std::exchange(queue.next, kNone);
  from.head = next == kNone ? queue.head : queues_[next].head;
  if (queue.head != kNone) {  // to the end of the round
    if (next != kNone) queues_[from.tail].next = q;
    from.tail = q;
  } else if (next == kNone) {
    t.waiting &= ~(std::uint64_t{1} << lane_index);
    queues_.give_back(t.queue_kind, std::exchange(from.queues, kNone));
  }
  return p;
}

/// The packet goes on: its room in the buffer that it lies in comes back to the sender.
void Network::leave_buffer(const Packet& packet, PicoInstant departure) {
  if ((packet.arrived_by & kElsewhere) != 0) [[unlikely]]
    return give_back_across(packet, departure);
  const Port by = port(packet.arrived_by);
  const PicoInstant returned = departure + latencies_[room(by, packet.lane).kind];
  note_return(by, returned, packet.bytes, packet.lane);
}

/// Takes room behind the link.
void Network::take_room(Port port, std::uint32_t lane_index, std::uint32_t bytes) {
  Room& behind = room(port, lane_index);
  std::uint32_t& used = port.lanes[lane_index].used;
  WEFT_CHECK(behind.fits(used, bytes, reserve_), "link {} overruns the buffer behind it",
             link(port).value());
  behind.shared -= Room::of_shared(used, bytes, reserve_);
  used += bytes;
}

void Network::count_packet(Port port, std::uint32_t lane_index, std::uint32_t bytes) {
  const LaneFacts facts = facts_[lane_index];
  Lane& counts = port.lanes[facts.first];
  counts.level.bytes += bytes;
  if (++counts.packets == 0) [[unlikely]]
    count_overflow(port, facts.level);
}

void Network::count_overflow(Port port, std::uint32_t level) {
  ++packets_overflown_[{number_of(port), static_cast<std::uint8_t>(level)}];
}

/// The link is free, and begins to send now. false: it has lost the packet's message for good.
template <bool kAtHost>
bool Network::transmit(Port port, std::uint32_t lane_index, std::uint32_t p) {
  Transmitter& t = port.transmitter;
  Packet& packet = packets_[p];
  auto [start, departure] = t.clock.send(engine_.now(), packet.bytes, t.rate);
  if (!kAtHost && departure < packet.tail) {  // its end has not come in yet: the link waits for it
    t.clock.occupy_until(packet.tail);
    departure = packet.tail;
  }
  const PicoDuration cable = latency(t.kind);
  const PicoInstant arrival = departure + cable;
  if (!kAtHost) leave_buffer(packet, departure);
  if (!t.never_starves) take_room(port, lane_index, packet.bytes);
  count_packet(port, lane_index, packet.bytes);
  if (looks_closer_ && is_lost(port, p, {start, departure, arrival})) {
    return lose(port, lane_index, p, arrival);
  }
  packet.lane = static_cast<std::uint16_t>(lane_index);

  PicoInstant at = arrival;
  if (t.to_host) {
    // A host takes every packet: the room is free again at once.
    packet.arrived_by = kNone;
    return_credit(port, arrival + cable, packet.bytes, lane_index);
    if (!packet.alone && owns(t.peer) && arrives_unheard(port, p, at)) return true;
  } else {
    packet.arrived_by = number_of(port);
    packet.tail = arrival + options_.switch_delay;
    at = options_.cut_through ? start + cable + options_.switch_delay : packet.tail;
  }
  if (!owns(t.peer)) [[unlikely]] {
    send_across(port, at, p);
    return true;
  }
  const Arrival next(p, t.to_host ? KnownHop() : router_.foresee(t.peer, packet.route),
                     facts_[lane_index].first);
  engine_.schedule(t.own.value(), at, EventKind::packet_arrives, t.peer.value(),
                   t.peer_port.value(), next.payload());
  return true;
}

/// Packets of a message reach their host by one link, so the last one that it sends completes the
/// message. Nobody hears of the arrivals before, which are therefore counted now, and are no
/// events. A link that has become faster may deliver the last packet before another one: `at` waits
/// for it.
bool Network::arrives_unheard(Port port, std::uint32_t p, PicoInstant& at) {
  const Packet& packet = packets_[p];
  Message& message = messages_[packet.message];
  const std::uint64_t payload = packet.bytes - header_of(message.request);
  at = message.arrives = std::max(message.arrives, at);
  if (message.to_arrive <= payload) return false;
  message.to_arrive -= payload;
  --message.packets;
  packets_.give_back(p);
  ++hops_;
  ++delivered_;
  const Transmitter& t = port.transmitter;
  engine_.count(t.own.value(), at, EventKind::packet_arrives, t.peer.value());
  return true;
}

/// The rare part of a transmission: an observer hears of it, and a lossy link may lose the packet.
bool Network::is_lost(Port port, std::uint32_t p, const net::Transit& transit) {
  const Packet& packet = packets_[p];
  if (observer_ != nullptr) {
    const Message& message = messages_[packet.message];
    const std::uint64_t header = port.transmitter.at_host ? header_of(message.request) : 0;
    observer_->on_transmit(link(port), packet, message, packet.bytes - header, transit);
  }
  return !losses_.empty() && loses(link(port));
}

void Network::return_credit(Port port, PicoInstant at, std::uint32_t bytes, std::uint32_t lane) {
  if (!port.transmitter.never_starves) note_return(port, at, bytes, lane);
}

/// Room comes back to the transmitter at that time. Its members are not in a record, since that
/// would go through memory.
void Network::note_return(Port port, PicoInstant at, std::uint32_t bytes, std::uint32_t lane) {
  Room& to = room(port, lane);
  // A link that waits for credits has to be woken for those that have come back.
  if (to.starved == 0) take_returns(port, to);
  if (!to.has_return()) {
    set_next(to, at, bytes, lane);
  } else if (at < to.next_at) {
    insert_return(to, to.next_at, to.next_bytes, to.next_lane);
    set_next(to, at, bytes, lane);
  } else {
    add_return(to, at, bytes, lane);
  }
  if (to.starved == 0) return;
  // Room may have come back already while the link was busy with another lane.
  const PicoInstant free = std::max(port.transmitter.clock.free_at(), engine_.now());
  wake_at(port, std::max(free, to.next_at));
}

/// Inserts a return behind the earliest one, in order of time, after others of the same time.
/// A new return is mostly the last; but packets for different outputs leave a buffer in any order.
void Network::add_return(Room& to, PicoInstant at, std::uint32_t bytes, std::uint32_t lane) {
  const std::uint32_t last = to.last_return;
  if (last == kNone) return insert_return(to, at, bytes, lane);
  const bool is_last = returns_[last].at <= at;
  std::uint32_t before = last;
  if (!is_last) {
    while (returns_[returns_[before].next].at <= at) before = returns_[before].next;
  }
  const std::uint32_t r = returns_.take();
  fill(returns_[r], at, bytes, lane, returns_[before].next);
  returns_[before].next = r;
  if (is_last) to.last_return = r;
}

/// Inserts a return in front of all others but the earliest.
void Network::insert_return(Room& to, PicoInstant at, std::uint32_t bytes, std::uint32_t lane) {
  const std::uint32_t r = returns_.take();
  std::uint32_t next = r;
  if (to.last_return == kNone) {
    to.last_return = r;
  } else {
    next = std::exchange(returns_[to.last_return].next, r);
  }
  fill(returns_[r], at, bytes, lane, next);
}

}  // namespace weft::sim

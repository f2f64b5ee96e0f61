// SPDX-License-Identifier: Apache-2.0
// Hosts' adapters: messages to one destination go out one after the other; of the destinations'
// first messages some at a time go out packet by packet in turn.
#include <algorithm>

#include "sim/network/network.hpp"

namespace weft::sim {
namespace {

std::uint64_t queue_pair(const MessageRequest& request) {
  return request.destination | std::uint64_t{request.queue} << 32;
}

}  // namespace

Network::Adapter& Network::adapter_of(const MessageRequest& request) {
  return adapters_[std::size_t{number_of(request.source)} * options_.levels.size() + request.level];
}

/// Adapters have a path of their own for messages that fit a packet, or take turns between many
/// queues.
bool Network::is_small(const MessageRequest& request) const {
  return request.bytes <= options_.mtu;
}

void Network::add_message(std::uint32_t m) {
  const MessageRequest& request = messages_[m].request;
  Adapter& adapter = adapter_of(request);
  Flow& flow = adapter.flows.at(queue_pair(request));
  messages_[m].behind = kNone;
  if (flow.tail != kNone) {
    messages_[flow.tail].behind = m;
    flow.tail = m;
    return;
  }
  flow.tail = m;
  line_up(adapter, m);
  admit(adapter);
  serve(port(number_of(request.source)));
}

/// A flow's first message takes its place: among those that have their turns, or that wait for one.
void Network::line_up(Adapter& adapter, std::uint32_t m) {
  if (is_small(messages_[m].request)) {
    join_round(m);
    return;
  }
  messages_[m].next = kNone;
  if (adapter.waiting_head == kNone) {
    adapter.waiting_head = m;
  } else {
    messages_[adapter.waiting_tail].next = m;
  }
  adapter.waiting_tail = m;
}

void Network::admit(Adapter& adapter) {
  while (adapter.in_turn < options_.interleaved_messages && adapter.waiting_head != kNone) {
    const std::uint32_t m = adapter.waiting_head;
    adapter.waiting_head = messages_[m].next;
    ++adapter.in_turn;
    join_round(m);
  }
}

/// All of a flow's first message has left: the next one lines up behind other flows' messages.
void Network::end_turns(std::uint32_t m) {
  const MessageRequest& request = messages_[m].request;
  Adapter& adapter = adapter_of(request);
  if (!is_small(request)) --adapter.in_turn;
  const std::uint32_t next = messages_[m].behind;
  if (next != kNone) {
    line_up(adapter, next);
  } else {
    adapter.flows.erase(queue_pair(request));
  }
  admit(adapter);
}

void Network::join_round(std::uint32_t m) {
  const MessageRequest& request = messages_[m].request;
  join_round(port(number_of(request.source)), request.level * channels_,
             m);  // hosts send in class 0
}

void Network::join_round(Port port, std::uint32_t lane_index, std::uint32_t m) {
  Round& round = port.lanes[lane_index].round;
  messages_[m].next = kNone;
  if (round.head == kNone) {
    round.head = m;
    port.transmitter.waiting |= std::uint64_t{1} << lane_index;
  } else {
    messages_[round.tail].next = m;
  }
  round.tail = m;
}

/// LogGP's g: between the first packets of two messages of a host lies at least the gap. Asked of
/// every lane that might be chosen; `make_packet` charges the one that is.
bool Network::gap_is_over(Port port, std::uint32_t lane_index) {
  const PicoInstant next_start = next_starts_[number_of(port)];  // as its host's number
  if (next_start <= engine_.now()) return true;                  // mostly
  const Message& message = messages_[port.lanes[lane_index].round.head];
  if (message.to_send < message.request.bytes || message.request.skips_gap) return true;
  wake_at(port, next_start);
  return false;
}

std::uint32_t Network::make_packet(Port port, std::uint32_t lane_index) {
  Round& round = port.lanes[lane_index].round;
  const std::uint32_t m = round.head;
  Message& message = messages_[m];
  const MessageRequest& request = message.request;
  const auto payload =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(message.to_send, options_.mtu));
  if (message.to_send >= request.bytes && !request.skips_gap) {  // its first packet
    next_starts_[number_of(request.source)] = engine_.now() + options_.injection_gap;
  }
  port.lanes[lane_index].level.waited += ticks_of(engine_.now()) - ticks_of(message.posted);
  message.to_send -= payload;
  ++message.packets;
  const std::uint32_t p = packets_.take();
  Packet& packet = packets_[p];
  packet = {.message = m,
            .bytes = payload + header_of(request),
            .last = message.to_send == 0,
            .alone = payload == request.bytes};
  router_.start(packet.route, request.source, request.destination, request.flow,
                rngs_[number_of(request.source)]);
  round.head = message.next;
  if (round.head == kNone) {
    port.transmitter.waiting &= ~(std::uint64_t{1} << lane_index);
  }
  if (packet.last) {
    end_turns(m);
  } else if (options_.second_turn_probability > 0 && round.head != kNone &&
             rngs_[number_of(request.source)].uniform() < options_.second_turn_probability) {
    message.next = round.head;  // once more
    round.head = m;
  } else {
    join_round(port, lane_index, m);
  }
  return p;
}

}  // namespace weft::sim

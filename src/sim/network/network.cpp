// SPDX-License-Identifier: Apache-2.0
// Building the network, packets' arrivals, and what users ask for. network_serve.cpp has the
// transmitters.
#include "sim/network/network.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace weft::sim {
namespace {

const LinkOptions& options_of(const NetworkOptions& options, CableKind kind) {
  switch (kind) {
    case CableKind::host:
      return options.host_link;
    case CableKind::global:
      return options.global_link;
    case CableKind::local:
      break;
  }
  return options.local_link;
}

}  // namespace

Network::Network(const Topology& topology, const Router& router, const NetworkOptions& options,
                 Engine& engine, std::uint64_t seed)
    : topology_(topology),
      router_(router),
      options_(options),
      engine_(engine),
      lane_count_(static_cast<std::uint32_t>(options.levels.size()) * router.channels()),
      channels_(router.channels()),
      queued_(topology.links(), 0),
      counters_(topology.links()),
      loss_rng_(Rng(seed).split(0x1055'0000'0000)) {
  WEFT_CHECK(check_network(options).ok() && lane_count_ <= 64);
  engine.handle(EventKind::packet_arrives, *this);
  engine.handle(EventKind::port_wakes, *this);
  engine.handle(EventKind::packet_lost, *this);
  const Rng root(seed);
  rngs_.reserve(topology.vertices());
  for (std::uint32_t v = 0; v < topology.vertices(); ++v) rngs_.push_back(root.split(v));

  Lane lane;
  lane.credits = options.buffer_bytes;
  lanes_.assign(std::size_t{topology.links()} * lane_count_, lane);
  transmitters_.reserve(topology.links());
  std::size_t queues = 0;
  for (std::uint32_t i = 0; i < topology.links(); ++i) {
    const PortRef own = topology.port(LinkId(i));
    const LinkOptions& like = options_of(options, topology.kind(LinkId(i)));
    Transmitter t{.link = net::LinkModel({.rate = like.rate, .latency = like.latency}),
                  .peer = topology.peer(LinkId(i))};
    t.at_host = topology.is_host(own.vertex);
    t.to_host = topology.is_host(t.peer.vertex);
    if (!t.at_host) {
      t.inputs = static_cast<std::uint16_t>(topology.ports(own.vertex));
      t.base_queue = static_cast<std::uint32_t>(queues);
      queues += std::size_t{t.inputs} * lane_count_;
    }
    transmitters_.push_back(t);
  }
  WEFT_CHECK(queues < kNone, "{} queues are more than can be numbered", queues);
  queues_.resize(queues);
  adapters_.resize(std::size_t{topology.hosts()} * options.levels.size());
  next_starts_.resize(topology.hosts());
  set_levels(options.levels);
}

void Network::set_levels(std::span<const LevelOptions> levels) {
  WEFT_CHECK(levels.size() * channels_ == lane_count_);
  options_.levels.assign(levels.begin(), levels.end());
  std::vector<std::uint8_t> priorities;
  for (const LevelOptions& level : levels) priorities.push_back(level.priority);
  std::sort(priorities.rbegin(), priorities.rend());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  priority_lanes_.clear();
  for (const std::uint8_t priority : priorities) {
    std::uint64_t mask = 0;
    for (std::uint32_t l = 0; l < lane_count_; ++l) {
      if (levels[l / channels_].priority == priority) mask |= std::uint64_t{1} << l;
    }
    priority_lanes_.push_back(mask);
  }
  // Each round begins with the lane behind the last one: the first.
  turns_.clear();
  for (std::uint32_t l = 0; l < topology_.links(); ++l) {
    for (const std::uint64_t mask : priority_lanes_) {
      turns_.push_back(static_cast<std::uint8_t>(63 - std::countl_zero(mask)));
    }
  }
}

std::uint16_t Network::add_user(NetworkUser& user) {
  users_.push_back(&user);
  return static_cast<std::uint16_t>(users_.size() - 1);
}

void Network::send(const MessageRequest& request) {
  WEFT_CHECK(request.bytes > 0 && request.source != request.destination &&
                 request.level < options_.levels.size(),
             "{} bytes from host {} to host {} at level {}", request.bytes, request.source,
             request.destination, request.level);
  const std::uint32_t m = messages_.take();
  messages_[m] = {.request = request,
                  .to_send = request.bytes,
                  .to_arrive = request.bytes,
                  .posted = engine_.now()};
  if (border_ != nullptr) {
    WEFT_CHECK(owns(topology_.host(request.source)));
    messages_[m].serial = std::uint64_t{border_->self()} << kSerialBits | next_serial_++;
    messages_[m].record = m;
  }
  if (observer_ != nullptr) {
    const LinkId link = topology_.link({topology_.host(request.source), PortNumber(0)});
    observer_->on_queued(engine_.now(), link, request.bytes);
  }
  add_message(m);
}

void Network::on_event(const Event& event) {
  if (event.kind == EventKind::packet_arrives) {
    on_arrival(event);
    return;
  }
  if (event.kind == EventKind::packet_lost) {
    send_again(event);
    return;
  }
  const LinkId l(event.target);
  Transmitter& t = transmitters_[l.value()];
  if (t.wake != event.time) return;  // something earlier happened in between
  t.wake = PicoInstant::never();
  if (serve(l)) engine_.count_wake();
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
  const PortLoad load({queued_.data() + first.value(), topology_.ports(at)});
  const Hop hop = router_.next(at, in, packet.route, load, rngs_[at.value()]);
  packet.route.channel = hop.channel;
  const std::uint32_t level = packet.lane / channels_;
  enqueue(LinkId(first.value() + hop.port.value()), level * channels_ + hop.channel, in, p);
}

void Network::deliver(std::uint32_t p) {
  const std::uint32_t m = packets_[p].message;
  const std::uint64_t payload = packets_[p].bytes - options_.packet_overhead;
  packets_.give_back(p);
  ++delivered_;
  Message& message = messages_[m];
  --message.packets;
  message.to_arrive -= payload;
  if (message.to_arrive > 0) return;
  const Message done = message;  // the user may post more and move the record
  if (observer_ != nullptr) observer_->on_delivered(engine_.now(), done);
  forget(m);
  users_[done.request.user]->on_arrived(done);
}

void Network::enqueue(LinkId out, std::uint32_t lane_index, PortNumber in, std::uint32_t p) {
  Transmitter& t = transmitters_[out.value()];
  // In order of arrival all inputs are one queue.
  InputQueue& queue = input_queue(t, lane_index, options_.output_queues ? PortNumber(0) : in);
  Packet& packet = packets_[p];
  packet.next = kNone;
  queued_[out.value()] += packet.bytes;
  if (observer_ != nullptr) observer_->on_queued(engine_.now(), out, packet.bytes);
  if (queue.head != kNone) {
    packets_[queue.tail].next = p;
    queue.tail = p;
    return;  // the queue has its place in the round already
  }
  queue.head = queue.tail = p;
  queue.next = kNone;
  const auto q = static_cast<std::uint32_t>(&queue - queues_.data());
  Lane& to = lane(out, lane_index);
  if (to.round_head == kNone) {
    to.round_head = q;
  } else {
    queues_[to.round_tail].next = q;
  }
  to.round_tail = q;
  t.waiting |= std::uint64_t{1} << lane_index;
  serve(out);
}

void Network::set_rate(LinkId link, Bandwidth rate) {
  transmitters_[link.value()].link.set_rate(engine_.now(), rate);
  serve(link);
}

Bandwidth Network::rate(LinkId link) const {
  return transmitters_[link.value()].link.parameters().rate;
}

void Network::set_up(LinkId link, bool up) {
  transmitters_[link.value()].up = up;
  if (up) serve(link);
}

bool Network::at_rest() const {
  if (packets_.in_use() != 0 || messages_.in_use() != 0) return false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    std::int64_t credits = lanes_[i].credits;
    for (std::uint32_t r = lanes_[i].returns_head; r != kNone; r = returns_[r].next) {
      credits += returns_[r].bytes;
    }
    if (credits != options_.buffer_bytes) return false;
  }
  return true;
}

std::size_t Network::memory_bytes() const {
  std::size_t flows = 0;
  for (const Adapter& adapter : adapters_) flows += adapter.flows.memory_bytes();
  return flows + transmitters_.capacity() * sizeof(Transmitter) + lanes_.capacity() * sizeof(Lane) +
         queued_.capacity() * sizeof(std::uint32_t) + counters_.capacity() * sizeof(LinkCounters) +
         queues_.capacity() * sizeof(InputQueue) + rngs_.capacity() * sizeof(Rng) +
         packets_.capacity_bytes() + messages_.capacity_bytes() + returns_.capacity_bytes() +
         adapters_.capacity() * sizeof(Adapter);
}

}  // namespace weft::sim

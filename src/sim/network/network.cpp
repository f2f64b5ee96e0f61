// SPDX-License-Identifier: Apache-2.0
// Building the network, deliveries, and calls of users. network_serve.cpp has the transmitters.
#include "sim/network/network.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/check.hpp"

namespace weft::sim {
namespace {

/// Links of that size, with a lane each, stay in the caches of a core, and need no prefetches. Most
/// levels are idle most of the time, so that only one counts.
constexpr std::size_t kSmallBytes = 512 << 10;

}  // namespace

Network::Network(const Topology& topology, const Router& router, const NetworkOptions& options,
                 Engine& engine, std::uint64_t seed, Border* border)
    : topology_(topology),
      router_(router),
      options_(options),
      engine_(engine),
      lane_count_(static_cast<std::uint32_t>(options.levels.size()) * router.channels()),
      lane_stride_(lane_count_ % 4 == 0 ? lane_count_ + 1 : lane_count_),
      channels_(router.channels()),
      reserve_(level_reserve(options)),
      loss_rng_(Rng(seed).split(0x1055'0000'0000)),
      border_(border) {
  WEFT_CHECK(check_network(options).ok() && lane_count_ <= 64);
  engine.handle(EventKind::packet_arrives, *this);
  engine.handle(EventKind::port_wakes, *this);
  engine.handle(EventKind::packet_lost, *this);
  for (std::uint32_t l = 0; l < lane_count_; ++l) {
    const std::uint32_t level = l / channels_;
    facts_[l] = {.level = static_cast<std::uint8_t>(level),
                 .channel = static_cast<std::uint8_t>(l % channels_),
                 .first = static_cast<std::uint8_t>(level * channels_)};
  }
  for (const CableKind kind : {CableKind::host, CableKind::local, CableKind::global}) {
    latencies_[static_cast<std::size_t>(kind)] = options_.link(kind).latency;
    rates_differ_ = rates_differ_ || options_.link(kind).rate != options_.host_link.rate;
  }
  build(seed);
}

/// Makes the records of all vertices that are simulated here.
void Network::build(std::uint64_t seed) {
  numbers_.assign(topology_.vertices(), kNone);
  first_links_.assign(topology_.vertices(), kNone);
  std::uint32_t hosts = 0, vertices = 0, links = 0;
  for (std::uint32_t v = 0; v < topology_.vertices(); ++v) {
    if (!owns(Vertex(v))) continue;
    numbers_[v] = vertices++;
    first_links_[v] = links;
    links += topology_.ports(Vertex(v));
    hosts += topology_.is_host(Vertex(v)) ? 1 : 0;
  }
  // Caches find few places for lines that lie multiples of many lines apart, as the first lanes of
  // links would with 16 levels.
  lanes_.resize(std::size_t{links} * lane_stride_);
  if (channels_ > 1) class_turns_.resize(links);
  transmitters_.reserve(links);
  const Rng root(seed);
  rngs_.reserve(vertices);
  for (std::uint32_t v = 0; v < topology_.vertices(); ++v) {
    if (!owns(Vertex(v))) continue;
    build_transmitters(Vertex(v));
    rngs_.push_back(root.split(v));
  }
  adapters_.resize(std::size_t{hosts} * options_.levels.size());
  next_starts_.resize(hosts);
  set_levels(options_.levels);
  engine_.fetch_ahead_if(links * (sizeof(Transmitter) + channels_ * sizeof(Lane)) > kSmallBytes);
}

void Network::build_transmitters(Vertex own) {
  for (std::uint32_t i = 0; i < topology_.ports(own); ++i) {
    const LinkId l = topology_.link({own, PortNumber(static_cast<std::uint16_t>(i))});
    const LinkOptions& like = options_.link(topology_.kind(l));
    const PortRef peer = topology_.peer(l);
    Transmitter t{.rate = like.rate,
                  .own = own,
                  .peer = peer.vertex,
                  .peer_port = peer.port,
                  .kind = topology_.kind(l)};
    t.at_host = topology_.is_host(own);
    t.to_host = topology_.is_host(t.peer);
    t.never_starves = never_starves(t);
    if (!t.at_host && !options_.output_queues) t.queue_kind = queues_.kind(topology_.ports(own));
    transmitters_.push_back(t);
    for (std::uint32_t channel = 0; channel < channels_; ++channel) {
      Room& room = lanes_[first_lane(number_of(l)) + channel].room;
      room.shared = options_.buffer_bytes - reserve_;
      room.kind = static_cast<std::uint32_t>(topology_.kind(l)) & 3;
    }
  }
}

/// A host takes every packet, so that room for it is missing only until its credit is back, for
/// twice the latency: the link sends no more meanwhile than at its rate, and parts of two packets.
/// If the part of the buffer that levels share has room for that, nothing ever waits for it.
bool Network::never_starves(const Transmitter& t) const {
  constexpr std::uint64_t largest_header = 255;  // MessageRequest::header
  const std::uint64_t rate = t.rate.bytes_per_second();
  const auto away = static_cast<std::uint64_t>((latency(t.kind) + latency(t.kind)).ticks());
  if (!t.to_host || rate == 0 || away > PicosecondTick::per_second) return false;
  const std::uint64_t packet =
      options_.mtu + std::max<std::uint64_t>(options_.packet_overhead, largest_header);
  const double under_way =
      static_cast<double>(rate) * static_cast<double>(away) / PicosecondTick::per_second;
  return under_way + static_cast<double>(2 * packet) < options_.buffer_bytes - reserve_;
}

void Network::set_levels(std::span<const LevelOptions> levels) {
  WEFT_CHECK(levels.size() * channels_ == lane_count_);
  options_.levels = std::vector<LevelOptions>(levels.begin(), levels.end());  // may be its own
  std::map<std::uint8_t, Priority, std::greater<>> by_priority;
  for (std::uint32_t l = 0; l < lane_count_; ++l) {
    const std::uint32_t level = facts_[l].level;
    Priority& of = by_priority[options_.levels[level].priority];
    of.lanes |= std::uint64_t{1} << l;
    of.levels = static_cast<std::uint16_t>(of.levels | 1U << level);
    allowances_[level] = options_.levels[level].weight *
                         static_cast<std::int32_t>(options_.mtu + options_.packet_overhead);
  }
  priorities_.clear();
  // Each round begins with the level behind the last one: the first.
  std::uint64_t turns = 0;
  for (const auto& [number, priority] : by_priority) {
    const auto last = static_cast<std::uint64_t>(std::bit_width(priority.levels) - 1);
    turns |= last << (4 * priorities_.size());
    for (std::uint32_t l = 0; l < lane_count_; ++l) {
      if ((priority.lanes >> l & 1) == 0) continue;
      facts_[l].priority = static_cast<std::uint8_t>(priorities_.size());
    }
    priorities_.push_back(priority);
  }
  for (std::uint32_t number = 0; number < transmitters_.size(); ++number) {
    const Port at = port(number);
    at.transmitter.turns = turns;
    at.transmitter.passed_over = 0;
    // A turn that an old weight gave is over, and only a debt remains.
    for (std::uint32_t level = 0; level < levels.size(); ++level) {
      LevelState& of = level_state(at, level);
      of.allowance = std::min(of.allowance, 0);
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
  // Other parts of a divided network know nothing of these.
  WEFT_CHECK(border_ == nullptr || (request.header == 0 && !request.may_be_lost));
  WEFT_CHECK(!request.may_be_lost || request.bytes <= options_.mtu, "{} bytes", request.bytes);
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
    observer_->on_queued(engine_.now(), link, request.level, request.bytes);
  }
  add_message(m);
}

void Network::deliver(std::uint32_t p) {
  const std::uint32_t m = packets_[p].message;
  const std::uint64_t payload = packets_[p].bytes - header_of(messages_[m].request);
  packets_.give_back(p);
  ++delivered_;
  Message& message = messages_[m];
  if (message.to_arrive > payload) {
    message.to_arrive -= payload;
    --message.packets;
    return;
  }
  // The user may post more and move the record. Copied before a member is written: the processor
  // would wait before it can read that as a part of a larger piece.
  Message done = message;
  done.to_arrive = 0;
  --done.packets;
  if (observer_ != nullptr) observer_->on_delivered(engine_.now(), done);
  forget(m);
  users_[done.request.user]->on_arrived(done);
}

void Network::set_rate(LinkId link, Bandwidth rate) {
  rates_differ_ = true;
  if (!is_here(link)) return;
  const Port changed = port(number_of(link));
  Transmitter& t = changed.transmitter;
  t.clock.change_rate(engine_.now(), t.rate, rate);
  t.rate = rate;
  t.never_starves = t.never_starves && never_starves(t);
  serve(changed);
}

Bandwidth Network::rate(LinkId link) const {
  WEFT_CHECK(is_here(link));
  return transmitters_[number_of(link)].rate;
}

void Network::set_up(LinkId link, bool up) {
  if (up) {
    down_.erase(link);
  } else {
    down_.insert(link);
  }
  if (!is_here(link)) return;
  const Port changed = port(number_of(link));
  changed.transmitter.up = up;
  if (up) serve(changed);
}

bool Network::at_rest() const {
  if (packets_.in_use() != 0 || messages_.in_use() != 0) return false;
  // All used room must be on its way back.
  std::vector<std::uint32_t> used(lane_count_);
  for (std::size_t first = 0; first < lanes_.size(); first += lane_stride_) {
    for (std::uint32_t i = 0; i < lane_count_; ++i) used[i] = lanes_[first + i].used;
    for (std::uint32_t channel = 0; channel < channels_; ++channel) {
      const Room& room = lanes_[first + channel].room;
      if (!room.has_return()) continue;
      used[room.next_lane] -= room.next_bytes;
      if (room.last_return == kNone) continue;
      std::uint32_t r = room.last_return;
      do {
        used[returns_[r].lane] -= returns_[r].bytes;
        r = returns_[r].next;
      } while (r != room.last_return);
    }
    const auto is_whole = [](std::uint32_t bytes) { return bytes == 0; };
    if (!std::all_of(used.begin(), used.end(), is_whole)) return false;
  }
  return true;
}

/// In the switch.
std::uint64_t Network::packets_waiting(std::uint32_t number, std::uint32_t level) const {
  if (transmitters_[number].at_host) return 0;
  std::uint64_t count = 0;
  const auto count_from = [&](std::uint32_t p) {
    for (; p != kNone; p = packets_[p].next) ++count;
  };
  for (std::uint32_t channel = 0; channel < channels_; ++channel) {
    const Round& round = lanes_[first_lane(number) + level * channels_ + channel].round;
    if (round.head == kNone) continue;
    if (options_.output_queues) {
      count_from(round.head);
      continue;
    }
    for (auto q = round.queues + packets_[round.head].queue; q != kNone; q = queues_[q].next) {
      count_from(queues_[q].head);
    }
  }
  return count;
}

LinkCounters Network::counters(LinkId link, std::uint8_t level, PicoInstant at) const {
  if (!is_here(link)) return {};
  const std::uint32_t number = number_of(link);
  const Lane& lane = lanes_[first_lane(number) + level * channels_];
  const LevelState& of = lane.level;
  const auto overflown = packets_overflown_.find({number, level});
  const std::uint64_t times = overflown == packets_overflown_.end() ? 0 : overflown->second;
  const std::uint64_t waited = of.waited + packets_waiting(number, level) * ticks_of(at);
  return {.packets = times << 32 | lane.packets,
          .bytes = of.bytes,
          .waited = PicoDuration(static_cast<std::int64_t>(waited))};
}

LinkCounters Network::counters(LinkId link) const {
  LinkCounters all;
  for (std::uint8_t level = 0; level < options_.levels.size(); ++level) {
    all += counters(link, level);
  }
  return all;
}

std::size_t Network::memory_bytes() const {
  std::size_t flows = 0;
  for (const Adapter& adapter : adapters_) flows += adapter.flows.memory_bytes();
  return flows + 2 * numbers_.capacity() * sizeof(std::uint32_t) +
         transmitters_.capacity() * sizeof(Transmitter) + lanes_.capacity() * sizeof(Lane) +
         queues_.capacity_bytes() + resting_.capacity() * sizeof(InputQueue) +
         rngs_.capacity() * sizeof(Rng) + packets_.capacity_bytes() + messages_.capacity_bytes() +
         returns_.capacity_bytes() + adapters_.capacity() * sizeof(Adapter);
}

}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/rc/reliable_connections.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.hpp"

namespace weft::sim {

using RcPacket = net::rc::Packet;
using net::rc::Verb;
using net::rc::WorkRequest;

namespace {

constexpr std::uint64_t page_bytes = net::rc::page_bytes;

/// The first PSN to a queue pair after a use that ended at `expected`: so far from there that no
/// packet of one use passes for one of the other, as with a PSN drawn afresh.
constexpr std::uint32_t fresh_psn(std::uint32_t expected) {
  constexpr std::uint32_t quarter = (wire::psn_mask + 1) / 4;
  return (expected - quarter) & wire::psn_mask;
}

RcOptions with_mtu(RcOptions options, std::uint32_t network_mtu) {
  options.adapter.mtu = ReliableConnections::mtu_of(network_mtu);
  return options;
}

}  // namespace

std::uint32_t ReliableConnections::mtu_of(std::uint32_t network_mtu) {
  return std::min(net::rc::mtu_bytes, std::bit_floor(network_mtu));
}

ReliableConnections::ReliableConnections(const RcOptions& options, RcUser& user, Network& network,
                                         Agents& agents)
    : options_(with_mtu(options, network.options().mtu)),
      user_(user),
      network_(network),
      agents_(agents),
      agent_(agents.add(*this)),
      network_user_(network.add_user(*this)),
      hosts_(network.topology().hosts()) {
  WEFT_CHECK(network.options().mtu >= least_mtu, "mtu {}", network.options().mtu);
}

ReliableConnections::Host& ReliableConnections::host_at(std::uint32_t host) {
  auto& slot = hosts_[host];
  if (slot == nullptr) {
    slot = std::make_unique<Host>(options_, Rng(options_.seed).split(host));
    slot->adapter.pages().prefetch(0);
  }
  return *slot;
}

std::uint64_t ReliableConnections::add_memory(std::uint32_t host, std::uint64_t bytes,
                                              bool prefetched) {
  Host& at = host_at(host);
  const std::uint64_t address = at.next_address;
  const std::uint64_t pages = (bytes + page_bytes - 1) / page_bytes;
  at.next_address += (pages + 1) * page_bytes;
  if (prefetched && options_.adapter.paged) {
    for (std::uint64_t p = 0; p < pages; ++p) at.adapter.pages().prefetch(address / page_bytes + p);
  }
  return address;
}

std::uint32_t ReliableConnections::open(std::uint32_t host_of_0, std::uint32_t host_of_1,
                                        std::uint8_t level, std::uint32_t receives) {
  WEFT_CHECK(host_of_0 != host_of_1);
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(connections_.size()));
    connections_.emplace_back();
  }
  const std::uint32_t number = unused_.back();
  unused_.pop_back();
  Connection& c = connections_[number];
  c.is_open = true;
  c.level = level;
  const std::uint32_t hosts[2] = {host_of_0, host_of_1};
  for (std::uint32_t e = 0; e < 2; ++e) {
    Host& host = host_at(hosts[e]);
    if (host.unused.empty()) {
      host.unused.push_back(host.adapter.add_queue_pair());
      host.users.emplace_back();
      host.first_psns.push_back(0);
    }
    const std::uint32_t queue_pair = host.unused.back();
    host.unused.pop_back();
    host.users[queue_pair] = {number, e};
    host.adapter.set_receives(queue_pair, receives);
    c.ends[e] = {};
    c.ends[e].host = hosts[e];
    c.ends[e].queue_pair = queue_pair;
  }
  const auto expects = [&](const End& end) { return hosts_[end.host]->first_psns[end.queue_pair]; };
  for (std::uint32_t e = 0; e < 2; ++e) {
    const End& end = c.ends[e];
    hosts_[end.host]->adapter.begin_at(end.queue_pair, expects(c.ends[1 - e]), expects(end));
  }
  return number;
}

void ReliableConnections::close(std::uint32_t number) {
  Connection& c = connections_[number];
  WEFT_CHECK(c.is_open);
  c.is_open = false;
  ++c.generation;
  for (End& end : c.ends) {
    Host& host = *hosts_[end.host];
    host.first_psns[end.queue_pair] = fresh_psn(host.adapter.expected_psn(end.queue_pair));
    host.adapter.reset(end.queue_pair);
    host.unused.push_back(end.queue_pair);
    end.to_deliver.clear();
    end.to_complete.clear();
  }
  unused_.push_back(number);
}

bool ReliableConnections::is_current(std::uint32_t connection, std::uint32_t generation) const {
  const Connection& c = connections_[connection];
  return c.is_open && c.generation == generation;
}

void ReliableConnections::post(std::uint32_t connection, std::uint32_t e, const Post& post) {
  End& end = connections_[connection].ends[e];
  end.to_deliver.push_back(post.tag);
  if (end.to_complete.empty()) end.progress = now();
  end.to_complete.push_back({.cookie = post.cookie});
  const std::uint64_t local =
      options_.sends_paged ? place_in_ring(*hosts_[end.host], post.bytes) : 0;
  submit(connection, e,
         {.verb = post.verb,
          .local = local,
          .remote = post.remote,
          .bytes = post.bytes,
          .pinned = !options_.sends_paged});
  watch_end(connection, e);
}

/// The address of a message that a host sends. One longer than the ring goes on behind it.
std::uint64_t ReliableConnections::place_in_ring(Host& host, std::uint32_t bytes) {
  constexpr std::uint64_t ring = std::uint64_t{1} << 48;  // far from memory exposed to peers
  if (host.sent_bytes + bytes > send_ring_bytes) host.sent_bytes = 0;
  const std::uint64_t place = ring + host.sent_bytes;
  host.sent_bytes += bytes;
  return place;
}

void ReliableConnections::submit(std::uint32_t connection, std::uint32_t e,
                                 const WorkRequest& work) {
  const End& end = connections_[connection].ends[e];
  const std::uint32_t host = end.host;
  net::rc::Outbox out;
  hosts_[host]->adapter.post(now_ns(), end.queue_pair, work, out);
  carry_out(host, out);
}

void ReliableConnections::add_receive(std::uint32_t connection, std::uint32_t e) {
  const End& end = connections_[connection].ends[e];
  net::rc::Adapter& adapter = hosts_[end.host]->adapter;
  adapter.set_receives(end.queue_pair, adapter.receives(end.queue_pair) + 1);
}

/// Carries out an adapter's outbox. Users may close connections meanwhile: entries of these are
/// dropped.
void ReliableConnections::carry_out(std::uint32_t host, const net::rc::Outbox& out) {
  // A message is handed over before its ACK leaves, so that a user that refuses it can close the
  // connection without the poster taking it for received.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> generations;
  Host& at = *hosts_[host];
  const auto connection_of = [&](std::uint32_t queue_pair) { return at.users[queue_pair].first; };
  const auto note = [&](std::uint32_t queue_pair) {
    const std::uint32_t c = connection_of(queue_pair);
    generations.emplace_back(c, connections_[c].generation);
  };
  for (const std::uint32_t queue_pair : out.received) note(queue_pair);
  for (const RcPacket& packet : out.packets) note(packet.queue_pair);
  for (const auto& completion : out.completions) note(completion.queue_pair);
  std::size_t i = 0;
  const auto is_good = [&] {
    const auto [connection, generation] = generations[i++];
    return is_current(connection, generation);
  };
  for (const std::uint32_t queue_pair : out.received) {
    if (is_good()) received(host, queue_pair);
  }
  for (const RcPacket& packet : out.packets) {
    if (is_good()) send(host, packet);
  }
  for (const auto& completion : out.completions) {
    if (is_good()) completed(host, completion);
  }
  arm(host);
}

void ReliableConnections::send(std::uint32_t host, const RcPacket& packet) {
  const auto [number, from] = hosts_[host]->users[packet.queue_pair];
  const Connection& c = connections_[number];
  ++packets_;
  tap_packet(number, from, true, packet);
  if (packet.lost_at_port) return;
  const std::uint32_t f = in_flight_.take();
  in_flight_[f] = {
      .packet = packet, .connection = number, .generation = c.generation, .to_end = 1 - from};
  const std::uint32_t to = c.ends[1 - from].host;
  const std::uint32_t bytes = std::max(packet.payload, 1U);
  network_.send({.source = host,
                 .destination = to,
                 .bytes = bytes,
                 .level = c.level,
                 .header = static_cast<std::uint8_t>(wire_bytes(packet) - bytes),
                 .user = network_user_,
                 .queue = packet.queue_pair + 1,
                 .flow = std::uint64_t{number} << 32 | c.ends[from].queue_pair,
                 .tag = f,
                 .skips_gap = packet.opcode == wire::Opcode::acknowledge,
                 .may_be_lost = true});
}

void ReliableConnections::on_arrived(const Message& message) {
  const auto f = static_cast<std::uint32_t>(message.request.tag);
  const InFlight flight = in_flight_[f];
  in_flight_.give_back(f);
  if (!is_current(flight.connection, flight.generation)) return;
  const End& end = connections_[flight.connection].ends[flight.to_end];
  tap_packet(flight.connection, 1 - flight.to_end, false, flight.packet);
  RcPacket packet = flight.packet;
  packet.queue_pair = end.queue_pair;
  const std::uint32_t host = end.host;
  net::rc::Outbox out;
  hosts_[host]->adapter.on_packet(now_ns(), packet, out);
  carry_out(host, out);
}

void ReliableConnections::on_lost(const Message& message) {
  ++lost_;
  in_flight_.give_back(static_cast<std::uint32_t>(message.request.tag));
}

void ReliableConnections::received(std::uint32_t host, std::uint32_t queue_pair) {
  const auto [number, e] = hosts_[host]->users[queue_pair];
  auto& waiting = connections_[number].ends[1 - e].to_deliver;
  WEFT_CHECK(!waiting.empty());
  const std::uint64_t tag = waiting.front();
  waiting.pop_front();
  user_.on_received(tag);
}

void ReliableConnections::completed(std::uint32_t host, const net::rc::Completion& completion) {
  const auto [number, e] = hosts_[host]->users[completion.queue_pair];
  if (!completion.good) return user_.on_failed(number, e);
  End& end = connections_[number].ends[e];
  const Completing done = end.to_complete.front();
  end.to_complete.pop_front();
  end.progress = now();
  if (!done.is_dummy) user_.on_completed(number, e, done.cookie);
}

void ReliableConnections::arm(std::uint32_t host) {
  Host& at = *hosts_[host];
  const Instant due = at.adapter.next_deadline();
  if (due == Instant::never()) return;
  const PicoInstant when = std::max(to_pico(due), now());
  if (when >= at.armed) return;
  at.armed = when;
  agents_.set_timer(agent_, host, when, deadline, host);
}

void ReliableConnections::on_timer(std::uint16_t detail, std::uint64_t payload) {
  const auto low = static_cast<std::uint32_t>(payload);
  if (detail == watch) {
    if (is_current(low >> 1, static_cast<std::uint32_t>(payload >> 32)))
      look_after(low >> 1, low & 1);
    return;
  }
  Host& at = *hosts_[low];
  if (at.armed != now()) return;  // it was moved to an earlier time
  at.armed = PicoInstant::never();
  net::rc::Outbox out;
  if (at.adapter.next_deadline() <= now_ns()) at.adapter.on_deadline(now_ns(), out);
  carry_out(low, out);
}

void ReliableConnections::watch_end(std::uint32_t connection, std::uint32_t e) {
  const Connection& c = connections_[connection];
  if (options_.dummy_after <= Duration() || !c.is_open) return;
  End& end = connections_[connection].ends[e];
  if (end.is_watched || end.to_complete.empty()) return;
  end.is_watched = true;
  agents_.set_timer(agent_, end.host, now() + to_pico(options_.dummy_after), watch,
                    std::uint64_t{c.generation} << 32 | connection << 1 | e);
}

/// An end that has made no progress for long gets a request to post that asks for nothing new.
void ReliableConnections::look_after(std::uint32_t connection, std::uint32_t e) {
  End& end = connections_[connection].ends[e];
  end.is_watched = false;
  if (end.to_complete.empty()) return;
  if (now() - end.progress >= to_pico(options_.dummy_after)) {
    end.progress = now();
    end.to_complete.push_back({.is_dummy = true});
    ++dummies_;
    submit(connection, e, {.verb = Verb::read, .remote = 0, .bytes = 1, .pinned = true});
  }
  watch_end(connection, e);
}

void ReliableConnections::set_tap(std::uint32_t host, std::function<void(const RcTapped&)> tap) {
  tapped_host_ = host;
  tap_ = std::move(tap);
}

void ReliableConnections::tap_packet(std::uint32_t connection, std::uint32_t from, bool leaves,
                                     const RcPacket& packet) {
  if (!tapped_host_) return;
  const Connection& c = connections_[connection];
  const End& here = c.ends[leaves ? from : 1 - from];
  if (here.host != *tapped_host_) return;
  const bool is_request = !wire::is_response(packet.opcode);
  const std::uint32_t requester = is_request ? from : 1 - from;
  tap_({.at = now_ns(),
        .host = here.host,
        .peer = c.ends[leaves ? 1 - from : from].host,
        .leaves = leaves,
        .is_request = is_request,
        .requester_queue_pair = c.ends[requester].queue_pair,
        .responder_queue_pair = c.ends[1 - requester].queue_pair,
        .packet = packet});
}

RcCounters ReliableConnections::counters() const {
  RcCounters all{.packets = packets_, .dummies = dummies_, .lost = lost_};
  for (const auto& host : hosts_) {
    if (host == nullptr) continue;
    all.adapters += host->adapter.counters();
    all.page_faults += host->adapter.pages().faults();
  }
  return all;
}

}  // namespace weft::sim

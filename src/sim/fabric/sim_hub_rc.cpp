// SPDX-License-Identifier: Apache-2.0
// Operations between hosts over reliable connections: one for each pair of endpoints that are
// connected and each service level. Greetings go without, as those of a connection manager do.
#include <algorithm>

#include "sim/fabric/sim_endpoint.hpp"
#include "sim/fabric/sim_hub.hpp"

namespace weft::sim {

std::uint64_t SimHub::add_memory(NodeId node, std::uint64_t bytes) {
  return rc_ ? rc_->add_memory(hosts_[node.value()], bytes, options_.prefetch) : 0;
}

std::uint32_t SimHub::connection_of(const LinkKey& key, std::uint8_t level) {
  RcLink& link = rc_links_.try_emplace(key, RcLink{.key = key}).first->second;
  const auto known = link.connections.find(level);
  if (known != link.connections.end()) return known->second;
  const std::uint32_t connection =
      rc_->open(hosts_[key.first.process.node.value()], hosts_[key.second.process.node.value()],
                level, static_cast<std::uint32_t>(options_.max_outstanding));
  link.connections.emplace(level, connection);
  if (links_of_.size() <= connection) links_of_.resize(std::size_t{connection} + 1);
  links_of_[connection] = &link;
  return connection;
}

void SimHub::launch_reliably(std::uint32_t f) {
  const Flight& flight = flights_[f];
  const EndOfLink from{flight.from, flight.from_attempt}, to{flight.to, flight.to_attempt};
  const LinkKey key = link_key(from, to);
  const bool is_write = flight.kind == Flight::Kind::write;
  const SimEndpoint* receiver = find(flight.to);
  const bool has_address = is_write && receiver != nullptr;
  const ReliableConnections::Post post{
      .verb = is_write ? net::rc::Verb::write : net::rc::Verb::send,
      .remote = has_address ? receiver->address_in(flight.region, flight.region_offset) : 0,
      .bytes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(flight.bytes, 1, 0xffff'ffff)),
      .tag = f,
      .cookie = flight.sequence};
  rc_->post(connection_of(key, flight.level), from == key.first ? 0 : 1, post);
}

void SimHub::add_receive(const Flight& flight) {
  const EndOfLink from{flight.from, flight.from_attempt}, to{flight.to, flight.to_attempt};
  const LinkKey key = link_key(from, to);
  const auto link = rc_links_.find(key);
  if (link == rc_links_.end()) return;  // it is over
  const auto connection = link->second.connections.find(flight.level);
  if (connection == link->second.connections.end()) return;
  rc_->add_receive(connection->second, to == key.first ? 0 : 1);
}

void SimHub::on_received(std::uint64_t tag) {
  arrive(static_cast<std::uint32_t>(tag));
}

/// Operations of a link complete in the order posted, across all levels.
void SimHub::on_completed(std::uint32_t connection, std::uint32_t end, std::uint64_t cookie) {
  RcLink& link = *links_of_[connection];
  const EndOfLink& poster = end == 0 ? link.key.first : link.key.second;
  const EndOfLink& other = end == 0 ? link.key.second : link.key.first;
  RcLink::Completed& completed = link.completed[end];
  completed.early.insert(static_cast<std::uint32_t>(cookie));
  SimEndpoint* endpoint = find(poster.process);
  const std::uint64_t number = std::uint64_t{poster.attempt} << 32 | other.attempt;
  while (completed.early.erase(completed.next) > 0) {
    ++completed.next;
    if (endpoint != nullptr) endpoint->acknowledged({now(), other.process.node, number});
  }
}

void SimHub::on_failed(std::uint32_t connection, std::uint32_t end) {
  const LinkKey key = links_of_[connection]->key;
  const EndOfLink& poster = end == 0 ? key.first : key.second;
  const EndOfLink& other = end == 0 ? key.second : key.first;
  if (SimEndpoint* endpoint = find(poster.process)) endpoint->connection_failed(other.process.node);
  disconnect(key.first, key.second);
}

void SimHub::disconnect(EndOfLink a, EndOfLink b) {
  if (!rc_) return;
  const auto link = rc_links_.find(link_key(a, b));
  if (link != rc_links_.end()) close_link(link);
}

void SimHub::disconnect_all(Process process) {
  for (auto link = rc_links_.begin(); link != rc_links_.end();) {
    const auto next = std::next(link);
    const LinkKey& key = link->first;
    if (key.first.process == process || key.second.process == process) close_link(link);
    link = next;
  }
}

void SimHub::close_link(std::map<LinkKey, RcLink>::iterator link) {
  for (const auto& [level, connection] : link->second.connections) {
    rc_->for_each_undelivered(connection, [&](std::uint64_t tag) {
      flights_.give_back(static_cast<std::uint32_t>(tag));
    });
    rc_->close(connection);
    links_of_[connection] = nullptr;
  }
  rc_links_.erase(link);
}

}  // namespace weft::sim

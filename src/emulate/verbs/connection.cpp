// SPDX-License-Identifier: Apache-2.0
#include "emulate/verbs/connection.hpp"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

namespace weft::emulate::verbs {

EmulatedProcess process = {nullptr, nullptr, 0, false};
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

namespace {

constexpr unsigned kMostConnections = 4'096;  // a power of two
Connection* connections[kMostConnections];
// A place whose connection is gone: others may be behind it.
Connection nobody;

unsigned place_of(const ibv_context* context, std::uint32_t number) {
  const auto mixed = (reinterpret_cast<std::uintptr_t>(context) >> 4U) ^ number;
  return static_cast<unsigned>(mixed * 0x9E3779B97F4A7C15U >> 52U) % kMostConnections;
}

Connection** slot_of(const ibv_context* context, std::uint32_t number) {
  unsigned i = place_of(context, number);
  for (unsigned tried = 0; tried < kMostConnections; ++tried, i = (i + 1) % kMostConnections) {
    Connection* const there = connections[i];
    if (there == nullptr) return nullptr;
    if (there != &nobody && there->context == context && there->number == number) {
      return &connections[i];
    }
  }
  return nullptr;
}

std::uint64_t mix(std::uint64_t hash, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3U;
  return hash;
}

/// The same at both ends, and another for the other direction.
std::uint64_t key_of(const End& from, const End& to) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const End* end : {&from, &to}) {
    hash = mix(hash, end->address, sizeof end->address);
    hash = mix(hash, &end->number, sizeof end->number);
  }
  return hash == 0 ? 1 : hash;
}

unsigned peer_of(const Connection& connection) {
  return connection.out == nullptr ? kMostRanks
                                   : std::min(connection.out->receiver.load(), kMostRanks);
}

bool is_spinning() {
  return process.block->knobs.method.load(std::memory_order_relaxed) ==
         static_cast<std::uint32_t>(Method::spin);
}

/// Over the links between the ranks; where the peer's is not known, over the own one.
Plan plan(unsigned from, unsigned to, Picoseconds ready, std::uint64_t bytes) {
  ControlBlock& block = *process.block;
  if (from < kMostRanks && to < kMostRanks) return plan_message(block, from, to, ready, bytes);
  Plan own = plan_message(block, kMostRanks, kMostRanks, ready, 0);
  const std::uint64_t rate = block.knobs.rate.load(std::memory_order_relaxed);
  const unsigned link = from < kMostRanks ? 2 * from : 2 * std::min(to, kMostRanks - 1) + 1;
  if (bytes > 0) own.departure = block.links[link].send(ready, bytes, rate).departure;
  return own;
}

Operation operation_of(const Work& work) {
  if (work.way == Way::message) return op_send;
  if (work.way == Way::write) return op_put;
  return work.is_atomic ? op_atomic : op_get;
}

Picoseconds received(Connection& connection, Picoseconds looked, Picoseconds seen) {
  const Picoseconds latency = process.block->knobs.latency.load(std::memory_order_relaxed);
  SentStamp stamp{};
  if (connection.in == nullptr || !connection.in->read(connection.received++, stamp)) {
    return seen + latency;
  }
  if (seen - looked <= kPolling) {
    const Picoseconds way = std::max<Picoseconds>(seen - stamp.sent, 1);
    connection.native = connection.native == 0 ? way : std::min(connection.native, way);
  }
  const Picoseconds arrived =
      arrival({.sent = stamp.sent, .native = connection.native, .looked = looked, .seen = seen});
  const unsigned from = connection.in->sender.load(std::memory_order_relaxed);
  const Picoseconds added = plan(from, process.rank, 0, 0).latency;
  const Picoseconds left =
      stamp.departure > stamp.sent ? stamp.departure + connection.native : stamp.departure;
  return std::max(arrived, left) + added;
}

/// Removes the posted operation that has completed, and the unsignaled ones before it.
Picoseconds completed(Connection& connection, const ibv_wc& completion, Picoseconds seen) {
  Fifo<Posted>& posted = connection.posted;
  for (std::size_t i = 0; i < posted.size(); ++i) {
    const Posted& one = posted[i];
    const bool is_told = one.is_signaled || completion.status != IBV_WC_SUCCESS;
    if (!is_told || one.id != completion.wr_id) continue;
    const Picoseconds due = std::max(one.due, seen + one.travel);
    posted.pop(i + 1);
    return due;
  }
  return seen;
}

}  // namespace

bool is_native() {
  return process.block->pair_count == 0 && process.block->knobs.is_native();
}

Connection* find_connection(const ibv_context* context, std::uint32_t number) {
  Connection** const slot = slot_of(context, number);
  return slot == nullptr ? nullptr : *slot;
}

Connection* make_connection(const ibv_context* context, std::uint32_t number) {
  if (Connection* const known = find_connection(context, number)) return known;
  unsigned i = place_of(context, number);
  for (unsigned tried = 0; tried < kMostConnections; ++tried, i = (i + 1) % kMostConnections) {
    if (connections[i] != nullptr && connections[i] != &nobody) continue;
    auto* connection = static_cast<Connection*>(::calloc(1, sizeof(Connection)));
    if (connection == nullptr) return nullptr;
    connection->context = context;
    connection->number = number;
    connections[i] = connection;
    return connection;
  }
  return nullptr;
}

void drop_connection(const ibv_context* context, std::uint32_t number) {
  Connection** const slot = slot_of(context, number);
  if (slot == nullptr) return;
  // The peer's remaining stamps have no reader: a later queue pair may have the same number.
  if ((*slot)->in != nullptr) (*slot)->in->release();
  (*slot)->posted.release();
  ::free(*slot);
  *slot = &nobody;
}

void connect(Connection& connection, const End& own, const End& peer) {
  connection.out = process.block->ring_of(key_of(own, peer));
  connection.in = process.block->ring_of(key_of(peer, own));
  connection.received = 0;
  if (connection.out != nullptr) connection.out->sender.store(process.rank);
  if (connection.in != nullptr) connection.in->receiver.store(process.rank);
}

void begin(Connection& connection, const Work& work) {
  if (work.way != Way::local) process.record->count(operation_of(work), work.bytes);
  Posted posted{work.id, 0, 0, work.is_signaled || connection.signals_all};
  const Picoseconds now = process.block->clock.now();
  SentStamp stamp{now, now};
  if (!is_native() && work.way != Way::local) {
    const unsigned peer = peer_of(connection);
    const std::uint64_t request = work.way == Way::read ? 0 : work.bytes;
    const std::uint64_t paid = std::min(connection.prepaid, request);
    connection.prepaid -= paid;
    const std::uint64_t answer = work.way == Way::read ? work.bytes : 0;
    const auto one = [&](bool is_answer, Picoseconds ready, std::uint64_t bytes) {
      return is_answer ? plan(peer, process.rank, ready, bytes)
                       : plan(process.rank, peer, ready, bytes);
    };
    const RoundTrip trip = plan_round_trip(now, request - paid, answer, one);
    posted.due = trip.due;
    posted.travel = trip.travel;
    stamp.departure = trip.out.departure;
    const bool is_again = paid > 0 && paid == request;
    if (is_spinning() && !is_again) {
      const Picoseconds there = std::max(now, trip.out.departure) + trip.out.latency;
      while (process.block->clock.now() < there) {
      }
    }
    if (is_spinning()) posted.travel = 0;
  }
  connection.posted.push(posted);
  if (work.way == Way::message && connection.out != nullptr) connection.out->push(stamp);
}

void take_back(Connection& connection, const Work& work) {
  if (!connection.posted.empty()) connection.posted.pop_back();
  if (work.way == Way::message || work.way == Way::write) connection.prepaid += work.bytes;
  if (work.way == Way::message && connection.out != nullptr) connection.out->take_back(1);
}

Picoseconds due_time(Connection& connection, const ibv_wc& completion, Picoseconds looked,
                     Picoseconds seen) {
  const bool was_received = (completion.opcode & IBV_WC_RECV) != 0;
  const bool is_good = completion.status == IBV_WC_SUCCESS;
  if (was_received && is_good) {
    const Picoseconds due = received(connection, looked, seen);
    const bool passes = is_native() || is_spinning();
    return connection.last_received = std::max(connection.last_received, passes ? seen : due);
  }
  // The adapter does not say of a failed completion whether it is a send's or a receive's.
  const Picoseconds due = completed(connection, completion, seen);
  return connection.last_sent = std::max(connection.last_sent, due);
}

}  // namespace weft::emulate::verbs

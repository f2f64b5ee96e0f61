// SPDX-License-Identifier: Apache-2.0
#include "emulate/libfabric/one_sided.hpp"

#include <algorithm>

#include "emulate/libfabric/addresses.hpp"
#include "emulate/policy/least_times.hpp"

namespace weft::emulate::libfabric {

pthread_mutex_t offering = PTHREAD_MUTEX_INITIALIZER;

namespace {

bool is_native() {
  return process.block->pair_count == 0 && process.block->knobs.is_native();
}

/// Plans a message to a peer or back; that of a peer that nobody knows by this process's own link.
Plan plan(unsigned peer, bool is_back, Picoseconds ready, std::uint64_t bytes) {
  ControlBlock& block = *process.block;
  if (peer < kMostRanks) {
    return is_back ? plan_message(block, peer, process.rank, ready, bytes)
                   : plan_message(block, process.rank, peer, ready, bytes);
  }
  process.record->count_unplaced();
  SharedLink& own = block.links[(2 * process.rank + (is_back ? 1 : 0)) % kMostLinks];
  const std::uint64_t rate = block.knobs.rate.load(std::memory_order_relaxed);
  return {own.send(ready, bytes, rate).departure,
          block.knobs.latency.load(std::memory_order_relaxed)};
}

/// The write that was offered last of those to one peer.
struct Offered {
  OneSided write;
  Plan plan;
  Picoseconds back;  ///< latency added to its acknowledgement
  bool waits;        ///< the provider has not had it yet
};
constexpr unsigned kMostOffered = 256;
Offered offered[kMostOffered];
unsigned offered_count = 0;
Offered* allowed = nullptr;  ///< the one that may_write allowed last

/// The write that the provider was given last, to any peer.
struct Given {
  Picoseconds at;
  Picoseconds departure;
};
Given last_given = {};

/// An operation that the provider has.
struct UnderWay {
  const void* context;
  Picoseconds given;
  std::uint64_t bytes;
  Picoseconds left;    ///< its last bit, or its answer's, has left the links
  Picoseconds travel;  ///< added latency there and back
  bool is_read;
};
constexpr unsigned kMostUnderWay = 4'096;
UnderWay under_way[kMostUnderWay];
unsigned first_under_way = 0, end_under_way = 0;

void push(const UnderWay& operation) {
  if (end_under_way - first_under_way == kMostUnderWay) ++first_under_way;
  under_way[end_under_way++ % kMostUnderWay] = operation;
}

/// How long the provider takes to be given a write. The write's last bit cannot be at the target
/// before: to leave its link in time the provider has it so much earlier.
LeastTimes giving;

/// The padding that endpoints owe (paper 3).
struct EndpointDebt {
  const fid_ep* endpoint;
  PaddingDebt debt;
};
constexpr unsigned kMostDebts = 256;
EndpointDebt debts[kMostDebts];

/// nullptr: there are too many endpoints.
PaddingDebt* debt_of(const fid_ep* endpoint) {
  for (EndpointDebt& one : debts) {
    if (one.endpoint == nullptr) one.endpoint = endpoint;
    if (one.endpoint == endpoint) return &one.debt;
  }
  return nullptr;
}

/// A program that offers a write so soon after the one before had it ready all the time.
constexpr Picoseconds kNextAtOnce = 50'000'000;

/// How long the provider takes to complete a read.
LeastTimes reading;

/// Returns whether a refused write waits. The program gave one up that it has not offered again for
/// long.
bool still_waits(const Offered& one, Picoseconds now) {
  return one.waits && now - one.plan.departure < kCatchUp;
}

/// Returns when the provider is to be given a write.
Picoseconds give_at(const Offered& one) {
  return one.plan.departure - giving.least(one.write.bytes);
}

/// The place of writes to that peer, or else a free one; nullptr when all wait.
Offered* place_of(const OneSided& write, Picoseconds now) {
  Offered* free_place = offered_count < kMostOffered ? &offered[offered_count] : nullptr;
  for (unsigned i = 0; i < offered_count; ++i) {
    Offered& one = offered[i];
    if (one.write.endpoint == write.endpoint && one.write.peer == write.peer) return &one;
    if (!still_waits(one, now)) free_place = &one;
  }
  if (free_place == nullptr) return nullptr;
  if (free_place == &offered[offered_count]) ++offered_count;
  free_place->waits = false;
  return free_place;
}

}  // namespace

bool may_write(const OneSided& write) {
  const Picoseconds now = process.block->clock.now();
  Offered* const one = place_of(write, now);
  if (one == nullptr) return false;
  allowed = one;
  if (is_native()) {
    *one = {write, {now, 0}, 0, false};
    return true;
  }
  if (one->waits && write == one->write) return give_at(*one) <= now;
  if (still_waits(*one, now)) return false;
  const bool at_once = now - last_given.at <= kNextAtOnce;
  const Picoseconds ready = at_once ? caught_up(now, last_given.departure, kCatchUp) : now;
  const unsigned peer = rank_of(write.endpoint, write.peer);
  *one = {write, plan(peer, false, ready, write.bytes), plan(peer, true, ready, 0).latency, true};
  // What passes no link is not kept, whatever the provider takes.
  return one->plan.departure <= ready || give_at(*one) <= now;
}

void note_written(const OneSided& write, const void* context, Picoseconds given) {
  const PaddingRatio ratio = process.block->knobs.padding.load(std::memory_order_relaxed);
  PaddingDebt* const debt = ratio == 0 ? nullptr : debt_of(write.endpoint);
  if (debt != nullptr) debt->owe(write.bytes, ratio);
  allowed->waits = false;
  const Plan& plan = allowed->plan;
  last_given = {process.block->clock.now(), plan.departure};
  giving.note(write.bytes, last_given.at - given);
  if (context != &padding_context) {
    const Picoseconds left = std::max(last_given.at, plan.departure);
    push({context, given, write.bytes, left, plan.latency + allowed->back, false});
  }
  process.record->count(op_put, write.bytes);
}

void note_read(const OneSided& read, const void* context, Picoseconds given) {
  if (is_native()) return push({context, given, read.bytes, given, 0, true});
  const unsigned peer = rank_of(read.endpoint, read.peer);
  const auto one = [&](bool is_answer, Picoseconds ready, std::uint64_t bytes) {
    return plan(peer, is_answer, ready, bytes);
  };
  const RoundTrip trip = plan_round_trip(given, 0, read.bytes, one);
  push({context, given, read.bytes, trip.due - trip.travel, trip.travel, true});
}

namespace {

/// Returns when the program may see that the provider has completed an operation.
Picoseconds due_of(const UnderWay& operation, const Look& look) {
  const auto& [context, given, bytes, left, travel, is_read] = operation;
  // A write's peer may have answered before this process looked: no answer comes before the
  // completion.
  if (!is_read) return left + travel;
  if (look.seen - look.looked <= kLooksOften) reading.note(bytes, look.seen - given);
  const Picoseconds arrived = arrival({.sent = given,
                                       .native = reading.least(bytes),
                                       .looked = look.looked,
                                       .seen = look.seen,
                                       .posted = 0},
                                      kLooksOften);
  return std::max(arrived, left) + travel;
}

}  // namespace

Picoseconds due_of_completed(const void* context, const Look& look, Picoseconds otherwise) {
  Picoseconds due = otherwise;
  pthread_mutex_lock(&offering);
  for (unsigned i = first_under_way; i != end_under_way; ++i) {
    UnderWay& operation = under_way[i % kMostUnderWay];
    if (operation.context != context) continue;
    due = due_of(operation, look);
    operation = under_way[first_under_way++ % kMostUnderWay];
    break;
  }
  pthread_mutex_unlock(&offering);
  return std::max(look.seen, due);
}

fi_context padding_context = {};

std::size_t padding_due(const fid_ep* endpoint, std::size_t most) {
  const bool is_asked = process.block->knobs.padding.load(std::memory_order_relaxed) != 0;
  if (!is_asked || most < kLeastPadded) return 0;
  const PaddingDebt* const debt = debt_of(endpoint);
  return debt == nullptr ? 0 : std::min<std::uint64_t>(debt->due(), most);
}

void note_padding(const fid_ep* endpoint, std::size_t bytes) {
  debt_of(endpoint)->paid(bytes);
  process.record->count_padding(bytes);
}

Picoseconds next_write() {
  pthread_mutex_lock(&offering);
  const Picoseconds now = process.block->clock.now();
  Picoseconds next = 0;
  for (unsigned i = 0; i < offered_count; ++i) {
    if (!still_waits(offered[i], now)) continue;
    const Picoseconds at = give_at(offered[i]);
    next = next == 0 ? at : std::min(next, at);
  }
  pthread_mutex_unlock(&offering);
  return next;
}

}  // namespace weft::emulate::libfabric

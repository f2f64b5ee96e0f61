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

/// The write that was offered last.
struct Offered {
  OneSided write;
  Plan plan;
  Picoseconds back;      ///< latency added to its acknowledgement
  bool waits;            ///< the provider has not had it yet
  Picoseconds previous;  ///< when the provider had the one before
};
Offered offered = {};

/// The read that the provider was offered last.
struct OfferedRead {
  OneSided read;
  Picoseconds due;
  bool was_refused;
};
OfferedRead offered_read = {};

/// Operations that the provider has.
struct UnderWay {
  const void* context;
  Picoseconds due;  ///< of its completion
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

/// Returns whether a refused write waits. The program gave one up that it has not offered again for
/// long.
bool still_waits(Picoseconds now) {
  return offered.waits && now - offered.plan.departure < kCatchUp;
}

/// Returns when the provider is to be given the write that was offered last.
Picoseconds give_at() {
  return offered.plan.departure - giving.least(offered.write.bytes);
}

}  // namespace

bool may_write(const OneSided& write) {
  const Picoseconds now = process.block->clock.now();
  if (is_native()) {
    offered = {write, {now, 0}, 0, false, now};
    return true;
  }
  if (offered.waits && write == offered.write) return give_at() <= now;
  if (still_waits(now)) return false;
  const bool at_once = now - offered.previous <= kNextAtOnce;
  const Picoseconds ready = at_once ? caught_up(now, offered.plan.departure, kCatchUp) : now;
  const unsigned peer = rank_of(write.endpoint, write.peer);
  offered.plan = plan(peer, false, ready, write.bytes);
  offered.back = plan(peer, true, ready, 0).latency;
  offered.write = write;
  offered.waits = true;
  // What passes no link is not kept, whatever the provider takes.
  return offered.plan.departure <= ready || give_at() <= now;
}

void note_written(const OneSided& write, const void* context, Picoseconds given) {
  const PaddingRatio ratio = process.block->knobs.padding.load(std::memory_order_relaxed);
  PaddingDebt* const debt = ratio == 0 ? nullptr : debt_of(write.endpoint);
  if (debt != nullptr) debt->owe(write.bytes, ratio);
  offered.waits = false;
  offered.previous = process.block->clock.now();
  giving.note(write.bytes, offered.previous - given);
  const Picoseconds left = std::max(offered.previous, offered.plan.departure);
  push({context, left + offered.plan.latency + offered.back});
  process.record->count(op_put, write.bytes);
}

void plan_read(const OneSided& read) {
  if (offered_read.was_refused && offered_read.read == read) return;
  const unsigned peer = rank_of(read.endpoint, read.peer);
  const Picoseconds now = process.block->clock.now();
  const auto one = [&](bool is_answer, Picoseconds ready, std::uint64_t bytes) {
    return plan(peer, is_answer, ready, bytes);
  };
  offered_read = {read, is_native() ? now : plan_round_trip(now, 0, read.bytes, one).due, true};
}

void note_read(const void* context) {
  offered_read.was_refused = false;
  push({context, offered_read.due});
}

Picoseconds due_of_completed(const void* context, Picoseconds seen, Picoseconds otherwise) {
  Picoseconds due = otherwise;
  pthread_mutex_lock(&offering);
  for (unsigned i = first_under_way; i != end_under_way; ++i) {
    UnderWay& operation = under_way[i % kMostUnderWay];
    if (operation.context != context) continue;
    due = operation.due;
    operation = under_way[first_under_way++ % kMostUnderWay];
    break;
  }
  pthread_mutex_unlock(&offering);
  return std::max(seen, due);
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
  const Picoseconds next = still_waits(process.block->clock.now()) ? give_at() : 0;
  pthread_mutex_unlock(&offering);
  return next;
}

}  // namespace weft::emulate::libfabric

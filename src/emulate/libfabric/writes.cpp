// SPDX-License-Identifier: Apache-2.0
#include "emulate/libfabric/writes.hpp"

#include <algorithm>

namespace weft::emulate::libfabric {

pthread_mutex_t offering = PTHREAD_MUTEX_INITIALIZER;

namespace {

/// The last one that was offered, and when its last bit has left.
Write offered = {};
Picoseconds departure = 0;
bool waits = false;          // the provider has not had it yet
Picoseconds last_taken = 0;  // when it had the one before

/// Writes that the provider has.
struct TakenWrite {
  const void* context;
  Picoseconds at;
};
constexpr unsigned kMostTaken = 4'096;
TakenWrite taken[kMostTaken];
unsigned first_taken = 0, end_taken = 0;

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
  return waits && now - departure < kCatchUp;
}

}  // namespace

bool may_write(const Write& write) {
  ControlBlock& block = *process.block;
  const std::uint64_t rate = block.knobs.rate.load(std::memory_order_relaxed);
  if (rate == 0) return true;
  const Picoseconds now = block.clock.now();
  if (waits && write == offered) return departure <= now;
  if (still_waits(now)) return false;
  const bool at_once = now - last_taken <= kNextAtOnce;
  const Picoseconds ready = at_once ? caught_up(now, departure, kCatchUp) : now;
  SharedLink& link = block.links[(2 * process.rank) % kMostLinks];
  departure = link.send(ready, write.bytes, rate).departure;
  offered = write;
  waits = true;
  return departure <= now;
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

void note_taken(const Write& write, const void* context) {
  const PaddingRatio ratio = process.block->knobs.padding.load(std::memory_order_relaxed);
  PaddingDebt* const debt = ratio == 0 ? nullptr : debt_of(write.endpoint);
  if (debt != nullptr) debt->owe(write.bytes, ratio);
  waits = false;
  last_taken = process.block->clock.now();
  if (end_taken - first_taken == kMostTaken) ++first_taken;
  taken[end_taken++ % kMostTaken] = {context, last_taken};
  process.record->count(op_put, write.bytes);
}

Picoseconds when_taken(const void* context, Picoseconds otherwise) {
  Picoseconds at = otherwise;
  pthread_mutex_lock(&offering);
  for (unsigned i = first_taken; i != end_taken; ++i) {
    TakenWrite& write = taken[i % kMostTaken];
    if (write.context != context) continue;
    at = write.at;
    write = taken[first_taken++ % kMostTaken];
    break;
  }
  pthread_mutex_unlock(&offering);
  return at;
}

Picoseconds next_write() {
  pthread_mutex_lock(&offering);
  const Picoseconds next = still_waits(process.block->clock.now()) ? departure : 0;
  pthread_mutex_unlock(&offering);
  return next;
}

}  // namespace weft::emulate::libfabric

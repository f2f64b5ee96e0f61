// SPDX-License-Identifier: Apache-2.0
#include "core/match/queue_table.hpp"

#include <utility>

namespace weft::match {
namespace {

constexpr std::size_t first_slots = 64;

std::uint64_t hash(Envelope pattern) {
  const std::uint64_t low =
      std::uint64_t{pattern.source} << 32 | static_cast<std::uint32_t>(pattern.tag);
  std::uint64_t mixed = (pattern.context ^ low * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  mixed ^= mixed >> 29;
  mixed *= 0x94d049bb133111ebULL;
  return mixed ^ mixed >> 32;
}

}  // namespace

QueueTable::QueueTable() : slots_(first_slots) {}

std::size_t QueueTable::home(Envelope pattern) const {
  return static_cast<std::size_t>(hash(pattern)) & (slots_.size() - 1);
}

std::size_t QueueTable::search(Envelope pattern) const {
  std::size_t i = home(pattern);
  while (slots_[i].used && slots_[i].queues.pattern != pattern) i = (i + 1) & (slots_.size() - 1);
  last_place_ = i;
  return i;
}

Queues& QueueTable::make(Envelope pattern, std::size_t place) {
  if (2 * (size_ + 1) > slots_.size()) {
    grow();
    place = place_of(pattern);
  }
  ++size_;
  slots_[place].used = true;
  slots_[place].queues = {.pattern = pattern, .receives = {}, .messages = {}};
  return slots_[place].queues;
}

void QueueTable::drop_other(Envelope last) {
  if (has_empty_) {
    const Queues* const other = find(empty_);
    if (other != nullptr && other->empty()) drop(empty_);
  }
  empty_ = last;
  has_empty_ = true;
}

// A slot behind the gap moves up if its search would otherwise end there.
void QueueTable::drop(Envelope pattern) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = place_of(pattern);
  for (std::size_t i = (gap + 1) & mask; slots_[i].used; i = (i + 1) & mask) {
    const std::size_t from_home = (i - home(slots_[i].queues.pattern)) & mask;
    if (from_home < ((i - gap) & mask)) continue;
    slots_[gap] = slots_[i];
    gap = i;
  }
  slots_[gap].used = false;
  --size_;
}

void QueueTable::grow() {
  std::vector<Slot> old(2 * slots_.size());
  std::swap(old, slots_);
  last_place_ = 0;
  for (const Slot& slot : old) {
    if (slot.used) slots_[place_of(slot.queues.pattern)] = slot;
  }
}

}  // namespace weft::match

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/history_manager.hpp"

#include <algorithm>

#include "core/schedule/dfs/arithmetic.hpp"

namespace weft::schedule::dfs {

namespace {

constexpr std::uint32_t none = 0xFFFFFFFF;

}  // namespace

HistoryManager::HistoryManager(std::uint32_t inputs, std::uint32_t length, std::uint32_t window)
    : length_(length),
      live_(inputs, 1),
      live_count_(inputs),
      pending_(window),
      entries_(std::size_t{window} * inputs),
      completed_(length) {
  WEFT_CHECK(inputs > 0 && length > 0 && window > 0);
  scratch_.reserve(inputs);
}

std::uint32_t HistoryManager::size() const {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(completions_, length_));
}

const UnifiedInterval& HistoryManager::latest(std::uint32_t n) const {
  WEFT_CHECK(n < size(), "interval {} of {}", n, size());
  return completed_[(completions_ - 1 - n) % length_];
}

std::uint32_t HistoryManager::record(std::uint32_t input, const IntervalMeta& meta) {
  if (completions_ > 0 && meta.id <= latest().id) return 0;
  std::uint32_t completed = make_room_for(meta.id);
  const auto slot = static_cast<std::uint32_t>(meta.id.value() % pending_.size());
  Pending& pending = pending_[slot];
  if (pending.used && pending.id != meta.id) return completed;  // older than the collected one
  if (!pending.used) {
    pending = {.used = true, .id = meta.id};
    for (std::uint32_t i = 0; i < live_.size(); ++i) entry(slot, i).present = false;
  }
  Entry& mine = entry(slot, input);
  if (!mine.present && is_live(input)) ++pending.reported;
  mine = {.present = true, .meta = meta};
  return completed + complete_ready();
}

std::uint32_t HistoryManager::set_live(std::uint32_t input, bool live) {
  if (is_live(input) == live) return 0;
  live_[input] = live ? 1 : 0;
  live_count_ = live ? live_count_ + 1 : live_count_ - 1;
  for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
    Entry& mine = entry(slot, input);
    if (!pending_[slot].used || !mine.present) continue;
    if (live) {
      ++pending_[slot].reported;
    } else {
      --pending_[slot].reported;
      mine.present = false;
    }
  }
  return complete_ready();
}

void HistoryManager::forget_pending() {
  for (Pending& p : pending_) p.used = false;
}

void HistoryManager::clear() {
  forget_pending();
  completions_ = 0;
}

std::uint32_t HistoryManager::lowest_pending() const {
  std::uint32_t lowest = none;
  for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
    if (!pending_[slot].used) continue;
    if (lowest == none || pending_[slot].id < pending_[lowest].id) lowest = slot;
  }
  return lowest;
}

// An interval that some input never reported must not block the ones far ahead of it: it completes
// with the inputs that did report.
std::uint32_t HistoryManager::make_room_for(IntervalId id) {
  std::uint32_t completed = 0;
  for (;;) {
    const std::uint32_t slot = lowest_pending();
    if (slot == none || pending_[slot].id >= id) return completed;
    if (id.value() - pending_[slot].id.value() < pending_.size()) return completed;
    if (pending_[slot].reported > 0) {
      complete(slot);
      ++completed;
    } else {
      pending_[slot].used = false;  // all that reported it are gone
    }
  }
}

std::uint32_t HistoryManager::complete_ready() {
  std::uint32_t completed = 0;
  if (live_count_ == 0) return completed;
  for (;;) {
    std::uint32_t ready = none;
    for (std::uint32_t slot = 0; slot < pending_.size(); ++slot) {
      const Pending& p = pending_[slot];
      if (!p.used || p.reported < live_count_) continue;
      if (ready == none || p.id < pending_[ready].id) ready = slot;
    }
    if (ready == none) return completed;
    complete(ready);
    ++completed;
  }
}

void HistoryManager::complete(std::uint32_t slot) {
  const UnifiedInterval unified = unify(slot);
  completed_[completions_ % length_] = unified;
  ++completions_;
  // Inputs report in ascending order, so earlier intervals can no longer be completed by all.
  for (Pending& p : pending_) {
    if (p.used && p.id <= unified.id) p.used = false;
  }
}

UnifiedInterval HistoryManager::unify(std::uint32_t slot) {
  UnifiedInterval unified{.id = pending_[slot].id};
  const auto inputs = static_cast<std::uint32_t>(live_.size());
  Wide starts = 0;
  scratch_.clear();
  for (std::uint32_t i = 0; i < inputs; ++i) {
    if (!entry(slot, i).present) continue;
    ++unified.inputs;
    starts += entry(slot, i).meta.start.ticks();
    scratch_.push_back(entry(slot, i).meta.duration.ticks());
  }
  unified.average_start = Instant(static_cast<std::int64_t>(starts / unified.inputs));
  unified.median_duration = median_of_scratch();
  scratch_.clear();
  for (std::uint32_t i = 0; i < inputs; ++i) {
    const Entry& e = entry(slot, i);
    if (e.present && e.meta.proposed > Duration{}) scratch_.push_back(e.meta.proposed.ticks());
  }
  unified.median_proposed = median_of_scratch();
  return unified;
}

Duration HistoryManager::median_of_scratch() {
  return scratch_.empty() ? Duration{} : Duration(median(scratch_));
}

}  // namespace weft::schedule::dfs

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/acknowledgement_tracker.hpp"

#include <algorithm>

#include "core/schedule/dfs/arithmetic.hpp"

namespace weft::schedule::dfs {

AcknowledgementTracker::AcknowledgementTracker(std::size_t max_samples, double threshold_percent)
    : threshold_(basis_points(threshold_percent)), slots_(slots) {
  for (Slot& s : slots_) {
    s.samples.resize(max_samples);
    s.sample_counts.resize(max_samples);  // engines never outnumber samples
  }
}

void AcknowledgementTracker::reset(std::uint32_t engines, std::uint32_t rounds) {
  WEFT_CHECK(std::size_t{engines} * rounds <= slots_[0].samples.size());
  engines_ = engines;
  rounds_ = rounds;
  for (Slot& s : slots_) s.phase = Phase::free;
}

void AcknowledgementTracker::open(IntervalId id, Instant start, Duration proposed) {
  Slot& s = slot(id);
  WEFT_CHECK(s.phase == Phase::free, "interval {} has no place", id.value());
  s.phase = Phase::open;
  s.interval = {.id = id, .start = start, .end = start, .proposed = proposed};
  s.all_started = false;
  s.whole = true;
  s.expected = 0;
  s.acknowledged = 0;
  std::fill_n(s.sample_counts.begin(), engines_, 0u);
}

void AcknowledgementTracker::all_started(IntervalId id, std::uint64_t expected, bool whole) {
  Slot& s = slot(id);
  WEFT_CHECK(s.phase == Phase::open && s.interval.id == id);
  s.all_started = true;
  s.whole = whole;
  s.expected = expected;
  complete_if_over(s);
}

void AcknowledgementTracker::acknowledged(Instant now, IntervalId id, std::uint32_t compute,
                                          Duration latency) {
  Slot& s = slot(id);
  if (s.phase != Phase::open || s.interval.id != id) return;
  ++s.acknowledged;
  s.interval.end = now;
  if (compute < engines_ && s.sample_counts[compute] < rounds_) {
    const std::size_t first = std::size_t{compute} * rounds_;
    s.samples[first + s.sample_counts[compute]++] = std::max(latency, Duration{}).ticks();
  }
  complete_if_over(s);
}

void AcknowledgementTracker::complete_if_over(Slot& s) {
  if (!s.all_started || s.acknowledged < s.expected) return;
  s.phase = s.whole ? Phase::complete : Phase::free;
}

bool AcknowledgementTracker::may_start(IntervalId next) const {
  if (slot(next).phase != Phase::free) return false;
  if (next.value() == 0) return true;
  const IntervalId before(next.value() - 1);
  const Slot& s = slot(before);
  if (s.phase != Phase::open || s.interval.id != before) return true;
  return Wide{s.acknowledged} * whole_in_basis_points >= Wide{s.expected} * threshold_;
}

const CompletedInterval* AcknowledgementTracker::completed() const {
  const CompletedInterval* lowest = nullptr;
  for (const Slot& s : slots_) {
    if (s.phase != Phase::complete) continue;
    if (lowest == nullptr || s.interval.id < lowest->id) lowest = &s.interval;
  }
  return lowest;
}

Duration AcknowledgementTracker::median_latency(IntervalId id, std::uint32_t engine) {
  Slot& s = slot(id);
  WEFT_CHECK(s.phase == Phase::complete && s.interval.id == id && engine < engines_);
  if (s.sample_counts[engine] == 0) return Duration{};
  return Duration(
      median({s.samples.data() + std::size_t{engine} * rounds_, s.sample_counts[engine]}));
}

void AcknowledgementTracker::dismiss(IntervalId id) {
  Slot& s = slot(id);
  WEFT_CHECK(s.phase == Phase::complete && s.interval.id == id);
  s.phase = Phase::free;
}

}  // namespace weft::schedule::dfs

// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/calendar_queue.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace weft::sim {
namespace {

constexpr unsigned kMaxShift = 50;
/// Between these, sorting a bucket and looking for the next one cost about the same.
constexpr std::uint64_t kFewEvents = 2;
constexpr std::uint64_t kManyEvents = 24;
constexpr std::uint32_t kLookEvery = 512;

bool later(const Event& a, const Event& b) {
  return b < a;
}

}  // namespace

CalendarQueue::CalendarQueue() : buckets_(kBuckets) {}

void CalendarQueue::put(std::uint64_t bucket, const Event& event) {
  const std::size_t slot = bucket % kBuckets;
  buckets_[slot].push_back(event);
  occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
}

void CalendarQueue::insert_today(const Event& event) {
  // Most events of today come late in it or at once: from either end it is a short way.
  std::size_t at = today_.size();
  today_.push_back(event);
  while (at > 0 && today_[at - 1] < event) {
    today_[at] = today_[at - 1];
    --at;
  }
  today_[at] = event;
}

void CalendarQueue::push(const Event& event) {
  ++size_;
  const std::uint64_t bucket = bucket_of(event.time);
  if (bucket <= today_bucket_) {
    insert_today(event);
  } else if (bucket - today_bucket_ < kBuckets) {
    put(bucket, event);
  } else {
    far_.push(event);
  }
}

std::uint64_t CalendarQueue::next_bucket() const {
  for (std::uint64_t step = 1; step < kBuckets;) {
    const std::size_t slot = (today_bucket_ + step) % kBuckets;
    const std::uint64_t word = occupied_[slot / 64] >> (slot % 64);
    if (word != 0) return today_bucket_ + step + static_cast<unsigned>(std::countr_zero(word));
    step += 64 - slot % 64;
  }
  return today_bucket_ + kBuckets;
}

void CalendarQueue::bring_near() {
  while (!far_.empty()) {
    const std::uint64_t bucket = bucket_of(far_.front().time);
    if (bucket >= today_bucket_ + kBuckets) break;
    if (bucket <= today_bucket_) {
      today_.push_back(far_.pop());
    } else {
      put(bucket, far_.pop());
    }
  }
}

void CalendarQueue::advance() {
  WEFT_CHECK(size_ > 0, "no event to come");
  if (opened_ >= kLookEvery) adapt();
  const std::uint64_t former = today_bucket_;
  std::uint64_t next = next_bucket();
  if (next - today_bucket_ >= kBuckets) {
    // Nothing near: go straight to where the heap begins.
    next = bucket_of(far_.front().time);
  }
  today_bucket_ = next;
  const std::size_t slot = next % kBuckets;
  std::swap(today_, buckets_[slot]);
  occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
  bring_near();
  std::sort(today_.begin(), today_.end(), later);
  ++opened_;
  opened_events_ += today_.size();
  skipped_ += std::min<std::uint64_t>(next - former, kBuckets);
}

void CalendarQueue::adapt() {
  const std::uint64_t mean = opened_events_ / opened_;
  const std::uint64_t gap = skipped_ / opened_;
  opened_ = 0;
  opened_events_ = 0;
  skipped_ = 0;
  if (mean > kManyEvents && width_shift_ > 0) {
    const auto narrower = static_cast<unsigned>(std::bit_width(mean / kManyEvents));
    rebuild(width_shift_ - std::min(narrower, width_shift_));
  } else if (mean < kFewEvents && gap > 8 && width_shift_ < kMaxShift) {
    rebuild(width_shift_ + 1);
  }
}

void CalendarQueue::rebuild(unsigned shift) {
  std::vector<Event> all;
  all.reserve(size_);
  for (auto& bucket : buckets_) {
    all.insert(all.end(), bucket.begin(), bucket.end());
    bucket.clear();
  }
  while (!far_.empty()) all.push_back(far_.pop());
  occupied_.fill(0);
  const PicoInstant first = std::min_element(all.begin(), all.end())->time;
  width_shift_ = shift;
  today_bucket_ = bucket_of(first);
  // Today must be opened by `advance`: begin the day before.
  today_bucket_ = today_bucket_ > 0 ? today_bucket_ - 1 : 0;
  size_ = 0;
  for (const Event& event : all) push(event);
}

}  // namespace weft::sim

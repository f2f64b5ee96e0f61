// SPDX-License-Identifier: Apache-2.0
// CalendarQueue: events in buckets of equal width. Only the bucket that is being emptied is sorted;
// what lies beyond the last bucket waits in a heap. The width adapts to how dense events are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/event.hpp"
#include "sim/engine/heap_queue.hpp"

namespace weft::sim {

/// Pops events in the order of `operator<`, the same as any other correct queue would. An event
/// must not be pushed before the last one popped. Amortised constant time when events are spread
/// over time as in a busy network; no allocation once its buckets have grown.
class CalendarQueue {
 public:
  CalendarQueue();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// The first event. Not empty.
  const Event& front() {
    if (today_.empty()) advance();
    return today_.back();
  }
  void push(const Event& event);
  Event pop() {
    if (today_.empty()) advance();
    const Event first = today_.back();
    today_.pop_back();
    --size_;
    return first;
  }

 private:
  static constexpr std::size_t kBuckets = 4096;
  static constexpr std::size_t kWords = kBuckets / 64;

  std::uint64_t bucket_of(PicoInstant t) const {
    return static_cast<std::uint64_t>(t.ticks()) >> width_shift_;
  }
  void put(std::uint64_t bucket, const Event& event);
  void insert_today(const Event& event);
  /// Makes `today_` the first bucket that has events. Not empty.
  void advance();
  /// The first bucket behind today's that is not empty, or today's + kBuckets.
  std::uint64_t next_bucket() const;
  void bring_near();
  void adapt();
  void rebuild(unsigned shift);

  std::vector<Event> today_;  // sorted, the first event last
  std::uint64_t today_bucket_ = 0;
  unsigned width_shift_ = 16;
  std::vector<std::vector<Event>> buckets_;
  std::array<std::uint64_t, kWords> occupied_{};
  HeapQueue far_;
  std::size_t size_ = 0;
  // For `adapt`: buckets emptied, and events in them and days passed over since the last look.
  std::uint32_t opened_ = 0;
  std::uint64_t opened_events_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace weft::sim

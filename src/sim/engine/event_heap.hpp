// SPDX-License-Identifier: Apache-2.0
// EventHeap: events in a 4-ary heap.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/engine/event.hpp"

namespace weft::sim {

class EventHeap {
 public:
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  /// The first event. Not empty.
  const Event& front() const { return events_.front(); }
  /// All events, in no order but that the first one comes first.
  const std::vector<Event>& events() const { return events_; }
  void clear() { events_.clear(); }

  void push(const Event& event) {
    std::size_t hole = events_.size();
    events_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kFanOut;
      if (!(event < events_[parent])) break;
      events_[hole] = events_[parent];
      hole = parent;
    }
    events_[hole] = event;
  }

  /// Adds an event in no order: `order` must follow before anything else.
  void append(const Event& event) { events_.push_back(event); }
  /// Puts appended events in order.
  void order() {
    const std::size_t n = events_.size();
    if (n <= 1) return;
    for (std::size_t parent = (n - 2) / kFanOut + 1; parent-- > 0;) {
      sift_down(parent, Event(events_[parent]));
    }
  }

  Event pop() {
    const Event first = events_.front();
    const Event last = events_.back();
    events_.pop_back();
    if (!events_.empty()) sift_down(0, last);
    return first;
  }

 private:
  static constexpr std::size_t kFanOut = 4;

  void sift_down(std::size_t hole, const Event& event) {
    const std::size_t n = events_.size();
    for (;;) {
      const std::size_t child = hole * kFanOut + 1;
      if (child >= n) break;
      std::size_t least = child;
      const std::size_t end = child + kFanOut < n ? child + kFanOut : n;
      for (std::size_t c = child + 1; c < end; ++c) {
        if (events_[c] < events_[least]) least = c;
      }
      if (!(events_[least] < event)) break;
      events_[hole] = events_[least];
      hole = least;
    }
    events_[hole] = event;
  }

  std::vector<Event> events_;
};

}  // namespace weft::sim

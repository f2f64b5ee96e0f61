// SPDX-License-Identifier: Apache-2.0
// EventQueue: events in a 4-ary heap. Chosen by measurement: a calendar queue with sorted buckets
// that adapt to the density of events was slower, in networks of 64 to 4,096 hosts (a few hundred
// to ten thousand events at a time) and when holding 100,000 (docs/simulator.md has the figures).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/engine/event.hpp"

namespace weft::sim {

class EventQueue {
 public:
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  /// The first event. Not empty.
  const Event& front() const { return events_.front(); }
  /// Calls `see(event)` for events that may come next but one, for callers that fetch ahead.
  template <class See>
  void look_beyond_front(See see) const {
    const std::size_t end = std::min(events_.size(), 1 + kFanOut);
    for (std::size_t i = 1; i < end; ++i) see(events_[i]);
  }

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

  Event pop() {
    const Event first = events_.front();
    const Event last = events_.back();
    events_.pop_back();
    if (!events_.empty()) sift_down(last);
    return first;
  }

 private:
  static constexpr std::size_t kFanOut = 4;

  void sift_down(const Event& event) {
    const std::size_t n = events_.size();
    std::size_t hole = 0;
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

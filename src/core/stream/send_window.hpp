// SPDX-License-Identifier: Apache-2.0
// SendWindow: the state of every timeslice's contribution that an input node still answers for,
// from the oldest not consumed on. Its microslices stay in the input buffer that long, so that
// they can be sent again when a compute node fails.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "weft/ids.hpp"

namespace weft::stream {

class SendWindow {
 public:
  enum class State : std::uint8_t { waiting, started, done };
  struct Slot {
    State state = State::waiting;
    bool repeated = false;
    /// Roster index of the compute node it went, or as an orphan has to go, to.
    std::uint32_t owner = 0;
  };

  explicit SendWindow(std::size_t capacity) : slots_(capacity) {}

  /// The oldest timeslice not done; everything below is.
  TimesliceIndex oldest() const { return oldest_; }
  /// One past the newest timeslice ever started.
  TimesliceIndex next() const { return next_; }
  bool covers(TimesliceIndex t) const {
    return t >= oldest_ && t.value() - oldest_.value() < slots_.size();
  }
  /// Timeslices from `next` on are waiting; those below `oldest` are done.
  State state(TimesliceIndex t) const {
    if (t < oldest_) return State::done;
    return t < next_ ? slots_[t.value() % slots_.size()].state : State::waiting;
  }
  /// The slot of a covered timeslice; extends `next` behind it.
  Slot& at(TimesliceIndex t) {
    WEFT_CHECK(covers(t), "timeslice {} is outside of the window at {}", t.value(),
               oldest_.value());
    for (; next_ <= t; ++next_) slots_[next_.value() % slots_.size()] = Slot{};
    return slots_[t.value() % slots_.size()];
  }
  /// The slot of a timeslice in [oldest, next).
  const Slot& slot(TimesliceIndex t) const {
    WEFT_CHECK(t >= oldest_ && t < next_);
    return slots_[t.value() % slots_.size()];
  }
  void mark_done(TimesliceIndex t) {
    if (t < oldest_) return;
    at(t).state = State::done;
    while (oldest_ < next_ && slots_[oldest_.value() % slots_.size()].state == State::done) {
      ++oldest_;
    }
  }
  /// Starts at timeslice t with nothing outstanding.
  void restart_at(TimesliceIndex t) { oldest_ = next_ = t; }

 private:
  std::vector<Slot> slots_;
  TimesliceIndex oldest_{};
  TimesliceIndex next_{};
};

}  // namespace weft::stream

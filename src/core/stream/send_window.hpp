// SPDX-License-Identifier: Apache-2.0
// SendWindow: the state of every timeslice's contribution that an input node still answers for,
// from the oldest not consumed on. Its microslices stay in the input buffer that long, so that
// they can be sent again when a compute node fails.
#pragma once

#include <bit>
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

  explicit SendWindow(std::size_t capacity)
      : capacity_(capacity), slots_(std::bit_ceil(capacity)) {}

  /// The oldest timeslice not done; everything below is.
  TimesliceIndex oldest() const { return oldest_; }
  /// One past the newest timeslice ever started.
  TimesliceIndex next() const { return next_; }
  bool covers(TimesliceIndex t) const {
    return t >= oldest_ && t.value() - oldest_.value() < capacity_;
  }
  /// Timeslices from `next` on are waiting; those below `oldest` are done.
  State state(TimesliceIndex t) const {
    if (t < oldest_) return State::done;
    return t < next_ ? slots_[place(t)].state : State::waiting;
  }
  /// The slot of a covered timeslice; extends `next` behind it.
  Slot& at(TimesliceIndex t) {
    WEFT_CHECK(covers(t), "timeslice {} is outside of the window at {}", t.value(),
               oldest_.value());
    for (; next_ <= t; ++next_) slots_[place(next_)] = Slot{};
    return slots_[place(t)];
  }
  /// The slot of a timeslice in [oldest, next).
  const Slot& slot(TimesliceIndex t) const {
    WEFT_CHECK(t >= oldest_ && t < next_);
    return slots_[place(t)];
  }
  void mark_done(TimesliceIndex t) {
    if (t < oldest_) return;
    at(t).state = State::done;
    while (oldest_ < next_ && slots_[place(oldest_)].state == State::done) {
      ++oldest_;
    }
  }
  /// Starts at timeslice t with nothing outstanding.
  void restart_at(TimesliceIndex t) { oldest_ = next_ = t; }

 private:
  /// The number of slots is a power of two, since the machine asks for the state several times a
  /// contribution, and a division would take as long as the rest of the answer.
  std::size_t place(TimesliceIndex t) const { return t.value() & (slots_.size() - 1); }

  std::size_t capacity_;
  std::vector<Slot> slots_;
  TimesliceIndex oldest_{};
  TimesliceIndex next_{};
};

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// QueueTable: the two queues of each pattern, those of receives and of messages that wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/match/envelope.hpp"

namespace weft::match {

/// No place in the table of nodes.
inline constexpr std::uint32_t none = 0xffff'ffff;

/// A node's neighbours in a queue.
struct Links {
  std::uint32_t next = none;
  std::uint32_t previous = none;
};

/// The ends of a queue; `first` is the oldest node.
struct Ends {
  std::uint32_t first = none;
  std::uint32_t last = none;
};

struct Queues {
  Envelope pattern;
  Ends receives;
  Ends messages;
  bool empty() const { return receives.first == none && messages.first == none; }
};

/// Hashed by pattern, with open addressing. Empty queues, but for the last, have no place in it:
/// its memory is bounded by waiting entries, for any number of tags used in the course of time.
/// Patterns are passed as values: put together in memory, they would be read back in other pieces.
/// References are valid until the next call that is not const.
class QueueTable {
 public:
  QueueTable();
  /// Null: both queues are empty.
  const Queues* find(Envelope pattern) const {
    const Slot& slot = slots_[place_of(pattern)];
    return slot.used ? &slot.queues : nullptr;
  }
  Queues* find(Envelope pattern) {
    Slot& slot = slots_[place_of(pattern)];
    return slot.used ? &slot.queues : nullptr;
  }
  /// The caller puts something into one of them.
  Queues& find_or_make(Envelope pattern) {
    const std::size_t place = place_of(pattern);
    return slots_[place].used ? slots_[place].queues : make(pattern, place);
  }
  /// Gives up the place if both are empty: at once, or when the queues of another pattern are. A
  /// program mostly waits for the same pattern again.
  void drop_if_empty(Queues& queues) {
    if (queues.empty() && !(has_empty_ && empty_ == queues.pattern)) drop_other(queues.pattern);
  }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    Queues queues;
    bool used = false;
  };
  std::size_t home(Envelope pattern) const;
  /// The slot of the pattern's queues, or the free one that they would take.
  std::size_t place_of(Envelope pattern) const {
    const Slot& last = slots_[last_place_];
    return last.used && last.queues.pattern == pattern ? last_place_ : search(pattern);
  }
  std::size_t search(Envelope pattern) const;
  Queues& make(Envelope pattern, std::size_t place);
  void grow();
  void drop_other(Envelope last);
  void drop(Envelope pattern);

  Envelope empty_{};  // of queues that were empty and are still there
  bool has_empty_ = false;
  mutable std::size_t last_place_ = 0;  // looked for
  std::vector<Slot> slots_;             // a power of two, at most half of them used
  std::size_t size_ = 0;
};

}  // namespace weft::match

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

/// Of a queue, the oldest first.
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

/// Hashed by pattern, with open addressing. Queues that are empty have no place in it: its memory
/// is bounded by waiting entries, for any number of tags used in the course of time. References are
/// valid until the next call that is not const.
class QueueTable {
 public:
  QueueTable();
  /// Null: both queues are empty.
  const Queues* find(const Envelope& pattern) const;
  Queues* find(const Envelope& pattern);
  /// The caller puts something into one of them.
  Queues& find_or_make(const Envelope& pattern);
  /// Gives up the place if both are empty.
  void drop_if_empty(Queues& queues);
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    Queues queues;
    bool used = false;
  };
  std::size_t home(const Envelope& pattern) const;
  std::size_t place_of(const Envelope& pattern) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  std::size_t size_ = 0;
};

}  // namespace weft::match

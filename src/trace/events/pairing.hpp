// SPDX-License-Identifier: Apache-2.0
// Pairing: matches sends and receives of a trace: the n-th send with a key belongs to the n-th
// receive with that key. It holds only unmatched sides, so that its size does not grow with the
// trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

namespace weft::trace {

struct MessageKey {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t communicator = 0;
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;  ///< if messages of one tag are told apart by their size; else 0

  friend bool operator==(const MessageKey&, const MessageKey&) = default;
};

struct MessageKeyHash {
  std::size_t operator()(const MessageKey& key) const;
};

/// One thread. T: the note kept of the side that came first.
template <class T>
class Pairing {
 public:
  /// A send or receive is there. Yields the counterpart's note, or nothing and keeps `mine` for the
  /// counterpart.
  std::optional<T> meet(const MessageKey& key, bool is_send, T mine) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) {
      waiting_.emplace(key, Waiting{is_send, {mine}});
      return std::nullopt;
    }
    Waiting& waiting = found->second;
    if (waiting.are_sends == is_send) {
      waiting.of.push_back(mine);
      return std::nullopt;
    }
    const T other = waiting.of.front();
    waiting.of.pop_front();
    if (waiting.of.empty()) waiting_.erase(found);
    return other;
  }
  /// Calls `see(key, is_send, T)` for all that have no counterpart, in no particular order.
  template <class See>
  void each_left(See see) const {
    for (const auto& [key, waiting] : waiting_) {
      for (const T& t : waiting.of) see(key, waiting.are_sends, t);
    }
  }

 private:
  struct Waiting {
    bool are_sends = false;
    std::deque<T> of;
  };
  std::unordered_map<MessageKey, Waiting, MessageKeyHash> waiting_;
};

}  // namespace weft::trace

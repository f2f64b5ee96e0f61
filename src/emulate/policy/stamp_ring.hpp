// SPDX-License-Identifier: Apache-2.0
// StampRing: when each message of one direction of a connection was sent, beside the messages, in
// memory that both ends share. Messages arrive in the order sent, so that the nth stamp is the nth
// message's.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulate/policy/clock.hpp"

namespace weft::emulate {

struct SentStamp {
  Picoseconds sent;
  Picoseconds departure;  ///< its last bit has left its links
};

/// One sender, one receiver, each a thread at a time. Plain data; all zero is free. A sender never
/// waits: stamps that the receiver is late for are lost, and it does without.
class StampRing {
 public:
  static constexpr std::uint64_t kPlaces = 256;
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

  std::atomic<std::uint64_t> key{0};  ///< of the connection and direction; 0: free
  std::atomic<std::uint32_t> sender{kUnknown};
  std::atomic<std::uint32_t> receiver{kUnknown};  ///< ranks

  void push(const SentStamp& stamp) {
    const std::uint64_t number = pushed_.load(std::memory_order_relaxed);
    Place& place = places_[number % kPlaces];
    place.sent.store(stamp.sent, std::memory_order_relaxed);
    place.departure.store(stamp.departure, std::memory_order_relaxed);
    pushed_.store(number + 1, std::memory_order_release);
  }
  /// Takes back the last `count`: they were never sent.
  void take_back(std::uint64_t count) { pushed_.fetch_sub(count, std::memory_order_release); }

  /// The stamp of message `number`, counted from 0; false where it is gone, or was never there.
  bool read(std::uint64_t number, SentStamp& stamp) const {
    if (number >= pushed_.load(std::memory_order_acquire)) return false;
    const Place& place = places_[number % kPlaces];
    stamp = {place.sent.load(std::memory_order_relaxed),
             place.departure.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    return pushed_.load(std::memory_order_relaxed) - number < kPlaces;
  }
  /// Ends the connection.
  void release() {
    pushed_.store(0);
    sender.store(kUnknown);
    receiver.store(kUnknown);
    key.store(0);
  }

 private:
  struct Place {
    std::atomic<Picoseconds> sent{0};
    std::atomic<Picoseconds> departure{0};
  };
  std::atomic<std::uint64_t> pushed_{0};
  Place places_[kPlaces];
};

}  // namespace weft::emulate

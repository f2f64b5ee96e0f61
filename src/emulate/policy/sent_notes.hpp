// SPDX-License-Identifier: Apache-2.0
// SentNotes: when messages to one rank were sent, beside the messages, where neither has room for a
// stamp nor tells whose it is: a receiver finds the note by what it knows of a message.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "emulate/policy/clock.hpp"

namespace weft::emulate {

/// The facts by which both ends know a message.
struct NoteKey {
  std::uint64_t bytes;
  std::uint64_t tag;
  std::uint64_t is_tagged;

  bool operator==(const NoteKey&) const = default;
};

struct SentNote {
  Picoseconds sent;
  Picoseconds departure;  ///< its last bit has left its links
  Picoseconds latency;    ///< added behind that
  std::uint64_t sender;   ///< its rank
};

/// Any number of senders, and the threads of one receiver. Plain data; all zero is empty. Senders
/// never wait: notes that the receiver does not take are lost, and it does without.
class SentNotes {
 public:
  static constexpr std::uint64_t kPlaces = 1'024;

  /// Puts a note behind all others; its number takes it back.
  std::uint64_t add(const NoteKey& key, const SentNote& note) {
    const std::uint64_t number = next_.fetch_add(1, std::memory_order_acq_rel);
    Place& place = places_[number % kPlaces];
    place.state.store(state_of(number, kWritten), std::memory_order_release);
    place.bytes.store(key.bytes, std::memory_order_relaxed);
    place.tag.store(key.tag, std::memory_order_relaxed);
    place.is_tagged.store(key.is_tagged, std::memory_order_relaxed);
    place.sent.store(note.sent, std::memory_order_relaxed);
    place.departure.store(note.departure, std::memory_order_relaxed);
    place.latency.store(note.latency, std::memory_order_relaxed);
    place.sender.store(note.sender, std::memory_order_relaxed);
    place.state.store(state_of(number, kThere), std::memory_order_release);
    return number;
  }
  /// The message was not sent after all.
  void take_back(std::uint64_t number) {
    std::uint64_t there = state_of(number, kThere);
    places_[number % kPlaces].state.compare_exchange_strong(there, state_of(number, kGone));
  }
  /// Takes the oldest note of that key; false when there is none.
  bool take(const NoteKey& key, SentNote& note) { return find(key, note, true); }
  /// Reads that note, and leaves it.
  bool read(const NoteKey& key, SentNote& note) { return find(key, note, false); }

 private:
  bool find(const NoteKey& key, SentNote& note, bool takes) {
    const std::uint64_t end = next_.load(std::memory_order_acquire);
    std::uint64_t first = first_.load(std::memory_order_relaxed);
    if (end - first > kPlaces) first = end - kPlaces;
    bool all_gone = true;  // before `number`
    bool found = false;
    for (std::uint64_t number = first; number != end && !found; ++number) {
      Place& place = places_[number % kPlaces];
      std::uint64_t state = place.state.load(std::memory_order_acquire);
      if (state == state_of(number, kThere) && place.key() == key) {
        note = place.note();
        if (!takes) return true;
        found = place.state.compare_exchange_strong(state, state_of(number, kGone));
      }
      // A greater state is that of a note that came to this place later.
      all_gone = all_gone && (found || state >= state_of(number, kGone));
      if (all_gone) first = number + 1;
    }
    first_.store(first, std::memory_order_relaxed);
    return found;
  }

  enum State : std::uint64_t { kWritten = 1, kThere = 2, kGone = 3 };
  static constexpr std::uint64_t state_of(std::uint64_t number, State state) {
    return 4 * number + state;
  }

  struct Place {
    std::atomic<std::uint64_t> state{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> tag{0};
    std::atomic<std::uint64_t> is_tagged{0};
    std::atomic<Picoseconds> sent{0};
    std::atomic<Picoseconds> departure{0};
    std::atomic<Picoseconds> latency{0};
    std::atomic<std::uint64_t> sender{0};

    NoteKey key() const {
      return {bytes.load(std::memory_order_relaxed), tag.load(std::memory_order_relaxed),
              is_tagged.load(std::memory_order_relaxed)};
    }
    SentNote note() const {
      return {sent.load(std::memory_order_relaxed), departure.load(std::memory_order_relaxed),
              latency.load(std::memory_order_relaxed), sender.load(std::memory_order_relaxed)};
    }
  };

  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_{0};  ///< all before it are gone
  Place places_[kPlaces];
};

}  // namespace weft::emulate

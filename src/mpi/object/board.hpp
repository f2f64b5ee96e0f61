// SPDX-License-Identifier: Apache-2.0
// Board: memory in which the members of a group meet: each writes how far it is, and looks where
// the others are.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/copy.hpp"

namespace weft::mpi {

/// One member's view of a board that all members of a group map. A **meeting** begins for a member
/// when it arrives, and is complete when all have arrived. Nobody arrives at a meeting before the
/// last one was complete for it, so no member is more than one meeting ahead of another: what each
/// brings is kept for two meetings in turn.
///
/// Other processes write to the memory: whatever stands there, nothing outside of a board is read
/// or written. One thread.
class Board {
 public:
  static constexpr std::uint32_t most_members = 16;
  static constexpr std::size_t most_bytes = 128;
  static constexpr std::size_t memory_bytes(std::uint32_t members) {
    return sizeof(Sleepers) + members * sizeof(Slot);
  }

  /// `memory` is `memory_bytes(members)` zeros at first, at a multiple of 64; `self` is one of at
  /// most `most_members` members.
  Board(std::shared_ptr<std::byte> memory, std::uint32_t members, std::uint32_t self)
      : memory_(std::move(memory)),
        sleepers_(reinterpret_cast<Sleepers*>(memory_.get())),
        slots_(reinterpret_cast<Slot*>(memory_.get() + sizeof(Sleepers))),
        members_(members),
        self_(self) {}

  /// Arrives at the next meeting, on `core`, with at most `most_bytes` values. `word` says what
  /// they are for: all members' words are to be the same.
  void arrive(std::uint64_t word, std::span<const std::byte> values, int core);
  /// This member runs on that core by now.
  void move_to(int core) {
    auto& known = own().core;
    // A store would take the cache line from those that look.
    if (known.load(std::memory_order_relaxed) != core) known.store(core, std::memory_order_relaxed);
  }

  enum class Sight : std::uint8_t {
    complete,
    missing_here,  ///< somebody who has not arrived was last on that core
    missing_elsewhere,
  };
  /// Whether the latest meeting is complete, as seen from that core.
  Sight look(int core);
  [[gnu::always_inline]] bool is_complete() {
    while (complete_ < members_ && has_arrived(complete_)) take(complete_++);
    return complete_ == members_;
  }
  bool has_arrived(std::uint32_t member) const {
    return slots_[member].meeting.load(std::memory_order_acquire) >= meeting_;
  }

  /// How many members ran on that core last.
  std::uint32_t members_on(int core) const;
  /// None of a higher number did.
  bool is_last_on(int core) const;

  /// A member that has arrived with another word than this one's; `members` if there is none. When
  /// the meeting is complete, `has_one_word` says the same without a look at the others.
  std::uint32_t find_other_word() const;
  bool has_one_word() const { return has_one_word_; }
  /// The word of a member that has arrived at the latest meeting.
  std::uint64_t word_of(std::uint32_t member) const {
    return slots_[member].words[turn()].load(std::memory_order_relaxed);
  }
  /// Of a complete meeting with one word: the values of a member, as many as this one's, which are
  /// the caller's to change until the next one.
  std::byte* values(std::uint32_t member) { return taken_.data() + member * stride_; }

  /// This member is going to sleep until somebody wakes it, or does so no more. Before it sleeps,
  /// it calls `fence_others` (runtime/fence) and looks once more. Members that arrive after that
  /// look see that it sleeps.
  void set_asleep(bool asleep) {
    const std::uint32_t own = 1u << self_;
    asleep ? sleepers_->members.fetch_or(own) : sleepers_->members.fetch_and(~own);
  }
  bool is_anyone_asleep() const { return sleepers_->members.load() != 0; }
  bool is_asleep(std::uint32_t member) const {
    return member != self_ && (sleepers_->members.load() >> member & 1) != 0;
  }

  std::uint32_t members() const { return members_; }
  std::uint64_t meeting() const { return meeting_; }  ///< the number of the latest one

 private:
  /// So few values lie on the cache line that all read anyway.
  static constexpr std::size_t few_bytes = 16;
  /// On a cache line that seldom changes: all look at it at each meeting.
  struct alignas(64) Sleepers {
    std::atomic<std::uint32_t> members;  // bits
  };
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> meeting;  // the latest one at which it has arrived
    std::atomic<std::uint64_t> words[2];
    std::atomic<std::int32_t> core;
    std::byte few[2][few_bytes];
    std::byte values[2][most_bytes];
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static_assert(sizeof(Slot) == 64 + 2 * most_bytes);
  static_assert(most_members <= 32);

  void take(std::uint32_t member);
  Slot& own() { return slots_[self_]; }
  std::size_t turn() const { return meeting_ % 2; }
  std::byte* values_of(std::uint32_t member, std::size_t bytes) const {
    Slot& slot = slots_[member];
    return bytes <= few_bytes ? slot.few[turn()] : slot.values[turn()];
  }

  std::shared_ptr<std::byte> memory_;
  Sleepers* sleepers_;
  Slot* slots_;
  std::uint32_t members_;
  std::uint32_t self_;
  std::uint64_t meeting_ = 0;
  std::uint64_t word_ = 0;  // of the latest meeting, as are these:
  std::size_t bytes_ = 0;
  std::size_t stride_ = 0;      // between the values of members in `taken_`
  std::uint32_t complete_ = 0;  // members before this one are known to have arrived
  bool has_one_word_ = true;    // they have
  /// Their values. Copied as soon as they are seen: fast members write to the same cache lines
  /// soon.
  alignas(std::max_align_t) std::array<std::byte, most_members * most_bytes> taken_;
};

// Here, and not in the source: see transfer_board.hpp.
[[gnu::always_inline]] inline void Board::arrive(std::uint64_t word,
                                                 std::span<const std::byte> values, int core) {
  WEFT_CHECK(values.size() <= most_bytes);
  ++meeting_;
  word_ = word;
  bytes_ = values.size();
  stride_ = (bytes_ + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
  complete_ = 0;
  has_one_word_ = true;
  if (!values.empty()) {
    copy_bytes(values_of(self_, values.size()), values.data(), values.size());
  }
  own().words[turn()].store(word, std::memory_order_relaxed);
  move_to(core);
  // Without a fence, for which it would wait until the others have given up the cache line: those
  // who go to sleep fence it.
  own().meeting.store(meeting_, std::memory_order_release);
}

[[gnu::always_inline]] inline Board::Sight Board::look(int core) {
  if (is_complete()) return Sight::complete;
  for (std::uint32_t i = complete_; i < members_; ++i) {
    if (slots_[i].core.load(std::memory_order_relaxed) == core && !has_arrived(i)) {
      return Sight::missing_here;
    }
  }
  return Sight::missing_elsewhere;
}

[[gnu::always_inline]] inline void Board::take(std::uint32_t member) {
  has_one_word_ = has_one_word_ && word_of(member) == word_;
  if (bytes_ > 0) copy_bytes(values(member), values_of(member, bytes_), bytes_);
}

}  // namespace weft::mpi

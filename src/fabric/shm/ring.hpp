// SPDX-License-Identifier: Apache-2.0
// A ring of records in memory that two processes share: one produces, one consumes. No system call
// in here.
//
// A record begins with one word, its head, and is followed by its payload. The head is written last
// and is not zero: the consumer waits for that, so that a small message mostly costs the transfer
// of one cache line. Before the producer publishes a record it zeroes the word behind it, where the
// next head will be. A record never wraps around; padding fills the ring's end.
//
// Where many records go one way without answers, two of the shortest share a line: far apart
// processors take as long to hand over a line as for several messages. All others end with a line,
// and the one behind an odd number of short ones begins in the middle of one.
//
// Positions count bytes since the beginning and never go back. Each side keeps its own position in
// memory of its own and believes the other's only after checking it; nothing that the other process
// puts into the shared memory makes this one touch memory outside of the ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.hpp"
#include "base/prefetch.hpp"

namespace weft::shm {

inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kHeadSize = 8;
/// The extent of the shortest records; positions are multiples of it.
inline constexpr std::size_t kHalfLine = kLine / 2;
/// Small records whose consumer keeps up stay in so many bytes at the ring's beginning: in the
/// caches, and on few pages.
inline constexpr std::size_t kCompact = 8 * 1024;

enum class RecordKind : std::uint8_t {
  message = 1,  ///< a send: its bytes
  padding,      ///< nothing up to the ring's end
  write,        ///< WriteHeader, then bytes for a region
  pull,         ///< PullRequest: bytes for a region, to be fetched from the sender's memory
};

/// The first word of a record.
struct RecordHead {
  RecordKind kind = RecordKind::padding;
  bool is_half = false;    ///< it takes half a line
  std::uint32_t size = 0;  ///< of the payload, bytes

  constexpr bool fits_half() const { return size <= kHalfLine - kHeadSize; }
};
inline constexpr std::uint64_t kHalfBit = 1 << 8;
constexpr std::uint64_t encode(RecordHead head) {
  return std::uint64_t{head.size} << 32 | (head.is_half ? kHalfBit : 0) |
         static_cast<std::uint64_t>(head.kind);
}
/// None when no producer of this version writes such a word.
constexpr std::optional<RecordHead> decode(std::uint64_t word) {
  const std::uint64_t kind = word & 0xFFFFFFFF & ~kHalfBit;
  if (kind < 1 || kind > static_cast<std::uint64_t>(RecordKind::pull)) return std::nullopt;
  const RecordHead head{static_cast<RecordKind>(kind), (word & kHalfBit) != 0,
                        static_cast<std::uint32_t>(word >> 32)};
  if (head.is_half && !head.fits_half()) return std::nullopt;
  return head;
}

/// Bytes that a record takes in the ring from that position or offset on.
constexpr std::size_t record_extent(std::uint64_t position, const RecordHead& head) {
  if (head.is_half) return kHalfLine;
  const std::size_t before = position % kLine;
  return (before + kHeadSize + head.size + kLine - 1) / kLine * kLine - before;
}

/// The words beside the ring, apart from each other by two lines, because processors fetch lines in
/// pairs. Lies in shared memory: plain words, used through atomic_ref.
struct RingControl {
  std::uint64_t identity[16];     ///< of the memory's maker; see segment.hpp
  std::uint64_t consumed[16];     ///< the consumer's position, [0] only
  std::uint64_t sleeps[16];       ///< [0]: the consumer wants to be woken by the next record
  std::uint64_t wants_space[16];  ///< [0]: the producer wants to be woken by the next progress
  std::uint64_t companion[16];    ///< [0]: of a companion, 1 + the core of the consumer; else 0
};
inline constexpr std::size_t kRingOffset = 4096;  ///< of the ring behind its control
static_assert(sizeof(RingControl) <= kRingOffset);

/// Between saying that one is about to sleep and reading the other's word.
inline void full_fence() {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
// The thread sanitizer does not know fences. It need not: words that are read were released and
// acquired.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

/// A wish of the other side's to be woken for the record just published; true once. No fence keeps
/// the processor from looking first: with one, each message would wait for the line that it writes,
/// a fifth of the time that it takes. The record becomes visible a moment later all the same, and
/// the side that wishes looks again after that moment.
inline bool takes_wish(std::uint64_t& word) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::atomic_ref<std::uint64_t> wish(word);
  return wish.load(std::memory_order_relaxed) != 0 &&
         wish.exchange(0, std::memory_order_relaxed) != 0;
}

/// The place of a ring. Does not own it.
struct RingMemory {
  RingControl* control = nullptr;
  std::byte* data = nullptr;
  std::size_t size = 0;  ///< a power of two

  /// `memory`: control and ring, from a page boundary on.
  static RingMemory at(std::span<std::byte> memory);
};

/// The largest payload that always fits: less than half of the ring, so that padding and the record
/// find room together.
constexpr std::size_t largest_payload(std::size_t ring_size) {
  return ring_size / 2 - kLine - kHeadSize;
}

/// The sending end. One thread.
class Producer {
 public:
  Producer() = default;
  explicit Producer(RingMemory ring) : ring_(ring) {}

  /// Room for a payload of `size` bytes, at most largest_payload; null while there is none, or when
  /// the consumer said something impossible.
  std::byte* reserve(std::size_t size);
  /// The next record is to have the rest of its line for itself. For one that is mostly answered
  /// before another follows: the consumer would have to get the line again for that.
  void keep_line() { keeps_line_ = true; }
  /// Publishes the last reservation. To be called right after the payload was written: the
  /// consumer, which polls all the time, would else fetch the line once more in between.
  void publish(RecordKind kind);
  /// Reads how far the consumer is. False from the moment on when that was impossible.
  bool refresh();
  bool is_valid() const { return valid_; }
  /// Returns how far the consumer was when last looked at, and where the next record will begin.
  std::uint64_t consumed() const { return consumed_; }
  std::uint64_t position() const { return position_; }

  /// Returns whether the consumer is to be woken for published records; then true once. May look
  /// before the other sees them; see Consumer::say_sleeping.
  bool must_wake() { return takes_wish(ring_.control->sleeps[0]); }
  /// Says that progress of the consumer shall wake this side; as Consumer::say_sleeping.
  bool say_space_wanted();
  void take_back_space_wanted();
  /// Returns what the consumer said last by `say_companion`.
  std::uint64_t companion() const {
    return std::atomic_ref(ring_.control->companion[0]).load(std::memory_order_relaxed);
  }

 private:
  std::size_t offset() const { return position_ & (ring_.size - 1); }
  bool is_to_begin_anew(std::size_t extent);
  bool make_room();

  RingMemory ring_;
  std::uint64_t position_ = 0;
  std::uint64_t consumed_ = 0;
  RecordHead reserved_;
  std::size_t reserved_extent_ = 0;
  bool keeps_line_ = true;
  bool may_begin_anew_ = true;  ///< it was not tried in this lap
  bool valid_ = true;
};

/// The receiving end. One thread.
class Consumer {
 public:
  struct Record {
    RecordKind kind = RecordKind::message;
    std::span<const std::byte> payload;
  };
  enum class Look : std::uint8_t {
    nothing,
    record,
    bad,  ///< the record was not written by a producer of this version
  };

  Consumer() = default;
  explicit Consumer(RingMemory ring) : ring_(ring) {}

  bool has_next() const;
  /// The next record, in place. Its payload is the other process's to change: read once.
  Look look(Record& record);
  /// Goes past the record that `look` found. Its memory is the producer's again after `release`.
  void advance() {
    // A branch that mostly goes the same way: so the processor reads the next line before it has
    // this one, whose head says where the next record begins.
    if (extent_ == kLine) {
      position_ += kLine;
      asm volatile("");  // else the compiler makes it an addition without a branch
    } else if (extent_ == kHalfLine) {
      position_ += kHalfLine;
      asm volatile("");
    } else {
      position_ += extent_;
    }
  }
  std::uint64_t position() const { return position_; }
  /// Asks for a line of the ring that records are likely to be in already: one that the producer
  /// has still to write would be taken away from it.
  void prefetch() const {
    __builtin_prefetch(ring_.data + ((position_ + 2 * kLine) & (ring_.size - 1)));
  }
  /// Bytes gone past and not yet released.
  std::uint64_t unreleased() const { return position_ - released_; }
  /// Gives all that was gone past back to the producer. True when the producer is to be woken.
  bool release();
  /// Says that the next record shall wake this side, until a wake-up is on its way or it is taken
  /// back. True when that was said already, and still holds. Otherwise a record may have been
  /// published just before its producer could see this: the caller puts a full fence between this
  /// and looking again, and does not sleep for long before that can have been seen.
  bool say_sleeping();
  void take_back_sleeping();
  /// Says that this side exchanges long writes with the producer's alone: 1 + the core on which it
  /// runs. 0: it does not.
  void say_companion(std::uint64_t core) {
    std::atomic_ref(ring_.control->companion[0]).store(core, std::memory_order_relaxed);
  }

 private:
  std::size_t offset() const { return position_ & (ring_.size - 1); }

  RingMemory ring_;
  std::uint64_t position_ = 0;
  std::uint64_t released_ = 0;
  std::size_t extent_ = 0;
};

inline std::atomic_ref<std::uint64_t> word_at(std::byte* place) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place));
}

inline void Producer::publish(RecordKind kind) {
  reserved_.kind = kind;
  word_at(ring_.data + offset()).store(encode(reserved_), std::memory_order_release);
  position_ += reserved_extent_;
  keeps_line_ = false;
  // Lines that will be written soon. The consumer polls no further than the next one.
  prefetch_for_write(ring_.data + ((position_ + 2 * kLine) & (ring_.size - 1)));
}

inline std::byte* Producer::reserve(std::size_t size) {
  WEFT_CHECK(size <= largest_payload(ring_.size), "a record of {} bytes", size);
  reserved_.size = static_cast<std::uint32_t>(size);
  reserved_.is_half = !keeps_line_ && reserved_.fits_half();
  reserved_extent_ = record_extent(position_, reserved_);
  // One line more, for the zero where the next head will be.
  const bool fits = reserved_extent_ <= ring_.size - offset() &&
                    reserved_extent_ + kLine <= ring_.size - (position_ - consumed_);
  const bool is_behind_compact = may_begin_anew_ && offset() >= kCompact;
  if ((!fits || is_behind_compact) && !make_room()) return nullptr;
  // Now and not when publishing: getting hold of that line takes time, and must not separate the
  // payload from its head.
  word_at(ring_.data + ((position_ + reserved_extent_) & (ring_.size - 1)))
      .store(0, std::memory_order_relaxed);
  return ring_.data + offset() + kHeadSize;
}

inline bool Consumer::has_next() const {
  return word_at(ring_.data + offset()).load(std::memory_order_acquire) != 0;
}

inline Consumer::Look Consumer::look(Record& record) {
  for (;;) {
    std::byte* const place = ring_.data + offset();
    const std::uint64_t word = word_at(place).load(std::memory_order_acquire);
    if (word == 0) return Look::nothing;
    const auto head = decode(word);
    if (!head) return Look::bad;
    const std::size_t to_end = ring_.size - offset();
    if (head->size > to_end - kHeadSize) return Look::bad;
    extent_ = record_extent(position_, *head);
    if (head->kind != RecordKind::padding) {
      if (head->size > largest_payload(ring_.size)) return Look::bad;
      record = {head->kind, {place + kHeadSize, head->size}};
      return Look::record;
    }
    // Only up to the end and never all of it: padding alone does not go round for ever.
    if (extent_ != to_end || offset() == 0) return Look::bad;
    position_ += extent_;
  }
}

}  // namespace weft::shm

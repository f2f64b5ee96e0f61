// SPDX-License-Identifier: Apache-2.0
// OutcomeLog: the outcomes that a program of MPI cannot foresee, in the order in which it met them,
// so that its next life meets the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/determinant/records.hpp"

namespace weft::determinant {

/// Why a process cannot repeat what its earlier life did.
enum class Trouble : std::uint8_t {
  none,
  diverged,    ///< the program asks something else than its earlier life asked
  damaged,     ///< the memory is no log
  incomplete,  ///< the log was full before the earlier life ended
  unordered,   ///< the earlier life stopped recording: its threads met outcomes without an order
};

/// The receives that program calls post are numbered from 1. The outcome of a receive that leaves
/// its source open is stored when it takes a message, and the next life posts it for that source:
/// which message it takes follows, since messages of one sender do not overtake. All other outcomes
/// answer questions (is a request done? which one? is there a message?) in the order in which the
/// program asks them.
///
/// The memory outlives the process. An outcome counts once the header says so, with one store of
/// eight bytes: so a process that is killed at any instruction leaves a whole log, and an outcome
/// that is stored before the next message is sent is there for all who received that. No I/O, one
/// thread.
class OutcomeLog {
 public:
  /// `memory`: of an earlier life, or zeros, of at least `header_bytes`; aligned to 8 bytes, and
  /// outlives this.
  explicit OutcomeLog(std::span<std::byte> memory);
  OutcomeLog(const OutcomeLog&) = delete;
  OutcomeLog& operator=(const OutcomeLog&) = delete;

  static constexpr std::size_t header_bytes = 32;
  /// Makes memory of an earlier life like new.
  static void clear(std::span<std::byte> memory);

  // ---- receives, in the order of the program

  struct Fate {
    std::optional<std::uint32_t> source;  ///< it took a message of that sender
    bool is_cancelled = false;            ///< it took none, and must not
  };
  /// Numbers the receive that is posted now.
  std::uint64_t post() { return ++posted_; }
  /// Returns whether receives that will be posted had a fate in the earlier life.
  bool has_fates() const { return next_fate_ < fates_.size(); }
  /// Returns the fate of that receive in the earlier life; empty when it had none at that life's
  /// end.
  Fate fate_of_last_post();
  /// A receive whose source is open and whose fate was empty takes a message.
  void match(std::uint64_t number, std::uint32_t source);

  // ---- questions, in the order of the program

  /// There are outcomes of the earlier life left: the next question has one.
  bool replays() const { return replays_; }
  /// The outcome of the next question while `replays`. Null: it found nothing, which is possible if
  /// `may_miss`; or there is trouble. Valid until the next call. `kind` may be `cancel` for `kept`,
  /// too.
  const Record* replay(Kind kind, bool may_miss);
  /// The question found nothing.
  void miss() {
    if ((state_ & most_misses) == most_misses) flush_misses();
    if (!stopped_) set_state(state_ + 1);
  }
  /// The question has that outcome. `places` of a Kind::some are ascending.
  void record(const Record& outcome);
  /// The same for requests by their places in the question.
  void record_places(std::span<const std::uint32_t> places);
  /// The clock's value, in ns, whichever life it is.
  std::uint64_t tell_time(std::uint64_t now_ns);

  /// Nothing is recorded any more, and nothing replayed: outcomes of several threads have no order.
  /// The next life is told.
  void stop();
  /// The earlier life came further than this one has.
  bool is_ahead() const { return replays_ || (!fates_.empty() && fates_.back().number > posted_); }

  Trouble trouble() const { return trouble_; }
  /// The log was full in this life: the program goes on, and cannot be started anew.
  bool is_full() const { return full_; }
  /// Outcomes of the program so far do not need a log: nothing was recorded or replayed.
  bool is_empty() const { return state_ == 0; }
  std::uint64_t bytes() const { return state_ >> misses_bits; }

 private:
  struct FateOf {
    std::uint64_t number;
    std::uint32_t source;
    bool is_cancelled;
  };
  // The state has the length of the records, and the number of misses behind the last one.
  static constexpr unsigned misses_bits = 24;
  static constexpr std::uint64_t most_misses = (std::uint64_t{1} << misses_bits) - 1;

  void scan();
  void look_ahead();
  void set_state(std::uint64_t state);
  void flush_misses();
  void append(const Record& record);
  std::byte* room_for(std::size_t bytes);

  std::span<std::byte> memory_;
  std::span<std::byte> records_;  // behind the header
  std::uint64_t state_ = 0;
  Differences written_;
  bool stopped_ = false;
  bool full_ = false;
  Trouble trouble_ = Trouble::none;
  std::uint64_t posted_ = 0;
  std::uint64_t last_time_ = 0;

  // The log of the earlier life.
  std::vector<FateOf> fates_;  // by number
  std::size_t next_fate_ = 0;
  bool replays_ = false;
  std::size_t replay_at_ = 0, replay_end_ = 0;
  std::uint64_t last_misses_ = 0;  // behind the last record
  std::uint64_t misses_ = 0;       // that come next
  Differences replayed_;
  bool has_next_ = false;
  Record next_, now_, own_;
};

}  // namespace weft::determinant

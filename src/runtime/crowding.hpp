// SPDX-License-Identifier: Apache-2.0
// Crowding: decides by the duration of a driver's yields whether it moves to another core.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/time.hpp"

namespace weft {

/// Two drivers that spin and wait for each other may share a core although others are free. The
/// kernel leaves them there as long as another program computes on the other cores. Each message
/// then takes as long as one driver spins before the other has its turn. A yield lasts about as
/// long: longer than a yield to nobody, shorter than a timeslice. One thread.
class Crowding {
 public:
  /// `seed` determines the coin's draws; each process needs a seed of its own.
  explicit Crowding(std::uint64_t seed) : state_(seed * 0x9e37'79b9'7f4a'7c15 | 1) {}

  /// A yield ended at `now` and lasted for `took`. `takes_turns`: the driver yields at once, since
  /// that brings what it waits for (`Turns`); its yields may be short. Returns whether the driver
  /// shall move. A coin decides, since a pair that moved together would meet again on the other
  /// core. Each decision waits for longer than the one before, up to 16 ms, as moving may be of no
  /// use.
  bool yielded(Instant now, Duration took, bool takes_turns) {
    // The kernel does not obey every yield, so short ones between the long ones do not count.
    if ((took < shortest_turn && !takes_turns) || took > longest_turn) return false;
    turns_ = now - last_turn_ <= longest_pause ? turns_ + 1 : 1;
    last_turn_ = now;
    if (turns_ < enough_turns || now < next_) return false;
    turns_ = 0;
    if (now - next_ > Duration::seconds(1)) interval_ = first_interval;
    next_ = now + interval_;
    const bool moves = (draw() & 1) != 0;
    interval_ = std::min(interval_ * 2, last_interval);
    return moves;
  }
  /// The driver slept at `now`. The kernel may have woken it on its waker's core, so that earlier
  /// decisions tell nothing: while a job starts, its processes sleep often.
  void slept(Instant now) {
    if (now - renewed_ < between_renewals) return;
    renewed_ = now;
    interval_ = first_interval;
    next_ = std::min(next_, now);
  }
  /// Draws one of `cores` other cores, at least one: a number below `cores`.
  std::uint64_t pick(std::uint64_t cores) { return draw() % cores; }

 private:
  static constexpr Duration shortest_turn = Duration::microseconds(5);
  static constexpr Duration longest_turn = Duration::microseconds(200);
  static constexpr Duration longest_pause = Duration::milliseconds(1);
  static constexpr int enough_turns = 8;
  static constexpr Duration first_interval = Duration::microseconds(50);
  static constexpr Duration last_interval = Duration::milliseconds(16);
  /// Beside a program that computes, each move may take a timeslice.
  static constexpr Duration between_renewals = Duration::milliseconds(1);

  std::uint64_t draw() {  // xorshift64*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545'f491'4f6c'dd1d) >> 33;
  }

  std::uint64_t state_;
  int turns_ = 0;  // yields of a suspicious length, with no long pause between them
  Instant last_turn_{};
  Instant next_{};  // no move before it
  Duration interval_ = first_interval;
  Instant renewed_{};  // the last time
};

}  // namespace weft

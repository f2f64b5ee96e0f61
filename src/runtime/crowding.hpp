// SPDX-License-Identifier: Apache-2.0
// Crowding: whether a driver had better move to another core, by how long its yields take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/time.hpp"

namespace weft {

/// Drivers that spin, one of them waiting for the other, may have come to the same core although
/// there are enough: the kernel leaves them there where some other program computes on the rest,
/// and each message takes as long as the one spins before the other has its turn. A yield then
/// lasts about as long: longer than one that finds nobody else, shorter than a timeslice.
class Crowding {
 public:
  /// `seed`: of the coin, another one in each process.
  explicit Crowding(std::uint64_t seed) : state_(seed * 0x9e37'79b9'7f4a'7c15 | 1) {}

  /// A yield that took so long is over. True: move. Both of a pair would meet again on the other
  /// core, so that a coin decides; and less and less often, as it may be of no use.
  bool yielded(Instant now, Duration took) {
    // The kernel does not obey each yield: there are short ones between them.
    if (took < shortest_turn || took > longest_turn) return false;
    turns_ = now - last_turn_ <= longest_pause ? turns_ + 1 : 1;
    last_turn_ = now;
    if (turns_ < enough_turns || now < next_) return false;
    turns_ = 0;
    if (now - next_ > Duration::seconds(1)) interval_ = first_interval;
    next_ = now + interval_;
    const bool moves = (draw() & 1) != 0;
    if (moves) interval_ = std::min(interval_ * 2, last_interval);
    return moves;
  }
  /// Draws one of `cores` other cores.
  std::uint64_t pick(std::uint64_t cores) { return draw() % cores; }

 private:
  static constexpr Duration shortest_turn = Duration::microseconds(5);
  static constexpr Duration longest_turn = Duration::microseconds(200);
  static constexpr Duration longest_pause = Duration::milliseconds(1);
  static constexpr int enough_turns = 8;
  static constexpr Duration first_interval = Duration::milliseconds(1);
  static constexpr Duration last_interval = Duration::milliseconds(16);

  std::uint64_t draw() {  // xorshift64*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545'f491'4f6c'dd1d) >> 33;
  }

  std::uint64_t state_;
  int turns_ = 0;  // with no long pause between them
  Instant last_turn_{};
  Instant next_{};
  Duration interval_ = first_interval;
};

}  // namespace weft

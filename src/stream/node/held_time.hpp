// SPDX-License-Identifier: Apache-2.0
// HeldTime: for how long something held, of which is heard only now and then.
#pragma once

#include <algorithm>
#include <utility>

#include "weft/time.hpp"

namespace weft::stream {

/// Counts the times for which something held for `least` or longer, and says when to tell of it:
/// when it has held for so long, and when it then ends.
class HeldTime {
 public:
  explicit HeldTime(Duration least) : least_(least) {}

  /// Returns whether there is something to tell. It holds from now on, or not; until now it was as
  /// it was heard last, since a node that nothing happens to sleeps.
  bool hear(Instant now, bool holds) {
    if (holds_) lasted_ = std::max(lasted_, now - began_);
    if (!holds) {
      total_ = total();
      holds_ = false;
      lasted_ = {};
      return std::exchange(told_, false);
    }
    if (!std::exchange(holds_, true)) began_ = now;
    return lasted_ >= least_ && !std::exchange(told_, true);
  }
  /// When there is something to tell if it goes on; never if it does not hold or was told.
  Instant next_deadline() const { return holds_ && !told_ ? began_ + least_ : Instant::never(); }
  /// Until it was heard of last.
  Duration total() const { return lasted_ >= least_ ? total_ + lasted_ : total_; }

 private:
  Duration least_;
  bool holds_ = false;
  bool told_ = false;
  Instant began_{};
  Duration lasted_{};  // what holds
  Duration total_{};   // without that
};

}  // namespace weft::stream

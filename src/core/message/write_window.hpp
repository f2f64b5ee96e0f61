// SPDX-License-Identifier: Apache-2.0
// WriteWindow: how much of large messages may be on its way to a peer at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "weft/time.hpp"

namespace weft::message {

/// On a connection that writes keep busy, later operations wait for the writes before them. So the
/// window shall be short in time, and long enough for the connection's speed: it doubles while a
/// whole window is over within `quick`, and halves when that takes longer than `slow`. One thread.
class WriteWindow {
 public:
  static constexpr Duration quick = Duration::microseconds(500);
  static constexpr Duration slow = Duration::milliseconds(4);
  static constexpr std::uint64_t most = std::uint64_t{64} << 20;  ///< bytes

  /// A connection begins, with nothing on its way. `least`: the first and shortest window in bytes,
  /// at least 2; one longer than `most` stays as it is.
  void begin(std::uint64_t least) {
    WEFT_CHECK(least >= 2 && out_ == 0, "a window of {} bytes, {} on their way", least, out_);
    size_ = least_ = least;
    since_ = Instant::never();
  }
  /// The longest write, in bytes: two fit into the window.
  std::uint64_t longest() const { return size_ / 2; }
  /// Returns whether there is room for a write of that length.
  bool has_room() const { return out_ <= size_ - longest(); }
  void posted(std::uint64_t bytes) {
    out_ += bytes;
    // The time without writes tells nothing of the connection.
    if (std::exchange(rests_, false)) since_ = Instant::never();
  }
  /// A write of so many bytes is over, carried out or not.
  void over(Instant now, std::uint64_t bytes) {
    out_ -= bytes;
    if (since_ == Instant::never()) {
      since_ = now;
      passed_ = 0;
    } else {
      passed_ += bytes;
      if (passed_ >= size_) adapt(now);
    }
  }
  /// There is nothing more to write for now.
  void rest() { rests_ = true; }

 private:
  void adapt(Instant now) {
    const Duration took = now - since_;
    if (took < quick && size_ <= most / 2) {
      size_ *= 2;
    } else if (took > slow) {
      size_ = std::max(least_, size_ / 2);
    }
    since_ = now;
    passed_ = 0;
  }

  std::uint64_t size_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least_ = size_;
  std::uint64_t out_ = 0;     // posted and not over
  std::uint64_t passed_ = 0;  // over since
  Instant since_ = Instant::never();
  bool rests_ = false;
};

}  // namespace weft::message

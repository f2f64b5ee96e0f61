// SPDX-License-Identifier: Apache-2.0
// Stamp: the header in front of a message, and SenderLag, the time that making stamps has cost a
// sender. Plain data and arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "emulate/policy/clock.hpp"

namespace weft::emulate {

/// The facts that a sender tells the receiver of a message.
struct Sending {
  Picoseconds sent;   ///< the clock, when the sender gave it to the transport; > 0
  unsigned rank;      ///< the sender's; kUnknownRank: it has none
  Picoseconds lag;    ///< so much earlier the sender would have been there without weft
  Picoseconds drain;  ///< from then until the message's last bit has left its links
};
inline constexpr unsigned kUnknownRank = 0x3ff;

/// A Sending in 16 bytes. Lag and drain are kept in units of 1.024 ns, rounded up.
struct Stamp {
  std::uint64_t sent = 0;  ///< 0: not emulated
  std::uint64_t rest = 0;  ///< rank: 10 bits, lag: 15, drain: 39 (9 minutes)
};
inline constexpr std::size_t kStampBytes = sizeof(Stamp);
inline constexpr unsigned kStampUnit = 10;  ///< 2¹⁰ ps
inline constexpr Picoseconds kMostLag = Picoseconds{(1 << 15) - 1} << kStampUnit;
inline constexpr Picoseconds kMostDrain = ((Picoseconds{1} << 39U) - 1) << kStampUnit;

inline Stamp pack(const Sending& sending) {
  const auto units = [](Picoseconds time, Picoseconds most) {
    constexpr Picoseconds kRoundUp = (1 << kStampUnit) - 1;
    return static_cast<std::uint64_t>(std::clamp<Picoseconds>(time + kRoundUp, 0, most) >>
                                      kStampUnit);
  };
  return {static_cast<std::uint64_t>(sending.sent),
          (std::uint64_t{sending.rank & kUnknownRank} << 54U) |
              (units(sending.lag, kMostLag) << 39U) | units(sending.drain, kMostDrain)};
}

inline Sending unpack(const Stamp& stamp) {
  const auto time = [](std::uint64_t units) {
    return static_cast<Picoseconds>(units << kStampUnit);
  };
  return {.sent = static_cast<Picoseconds>(stamp.sent),
          .rank = static_cast<unsigned>(stamp.rest >> 54U),
          .lag = time((stamp.rest >> 39U) & 0x7fff),
          .drain = time(stamp.rest & ((std::uint64_t{1} << 39U) - 1))};
}

/// A program's delay against a run without weft, since each message of a burst costs it a stamp.
/// Receivers count from when the message would have been sent, so that a burst is as short as it
/// is without weft; a program that waits for an answer catches up. All zero is none. Not
/// thread-safe.
class SenderLag {
 public:
  Picoseconds value() const { return lag_; }
  void sent(Picoseconds cost) {
    lag_ = std::min(lag_ + cost, kMostLag);
    sent_since_look_ = true;
  }
  /// A look at the transports found nothing, `since_last` after the look before.
  void looked_in_vain(Picoseconds since_last) {
    // With messages sent meanwhile, that time was not spent on waiting.
    if (!sent_since_look_) lag_ = std::max<Picoseconds>(0, lag_ - since_last);
    sent_since_look_ = false;
  }

 private:
  Picoseconds lag_ = 0;
  bool sent_since_look_ = false;
};

}  // namespace weft::emulate

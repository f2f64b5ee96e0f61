// SPDX-License-Identifier: Apache-2.0
// SharedLink: one direction of a link that several processes send over, as plain data in memory
// that they share. Its arithmetic is that of net::LinkModel to the picosecond (a test holds it to
// that); unlike it, nothing here checks, logs or aborts, since it runs inside other people's
// programs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "emulate/policy/clock.hpp"

namespace weft::emulate {

inline constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;

/// When a message's bits leave.
struct Passage {
  Picoseconds start;      ///< first bit enters the link
  Picoseconds departure;  ///< last bit has left, rounded up to a picosecond
};

/// The transmitter is free at busy_until + remainder / rate picoseconds. Any number of threads and
/// processes may send; they are served in the order in which their calls take effect. A process
/// that dies in a call leaves the link as it was. All zero is an idle link.
class alignas(16) SharedLink {
 public:
  /// Sends `bytes` that have been ready since `ready` at `rate` bytes a second; 0 takes no time
  /// and leaves the link alone.
  Passage send(Picoseconds ready, std::uint64_t bytes, std::uint64_t rate) {
    if (rate == 0) return {ready, ready};
    for (;;) {
      const Wide seen = load();
      State next = unpack(seen);
      if (ready > round_up(next)) next = {ready, 0};
      const Picoseconds start = round_up(next);
      advance(next, bytes, rate);
      if (exchange(seen, pack(next))) return {start, round_up(next)};
    }
  }

  /// Returns when a message offered next may start; in the past for an idle link. Rounded up.
  Picoseconds free_from() const { return round_up(unpack(load())); }

 private:
  __extension__ using Wide = unsigned __int128;
  struct State {
    Picoseconds busy_until;
    std::uint64_t remainder;  // < rate
  };

  static Picoseconds round_up(const State& state) {
    return state.busy_until + (state.remainder > 0 ? 1 : 0);
  }
  static Wide pack(const State& state) {
    return (Wide{state.remainder} << 64U) | static_cast<std::uint64_t>(state.busy_until);
  }
  static State unpack(Wide packed) {
    return {static_cast<Picoseconds>(static_cast<std::uint64_t>(packed)),
            static_cast<std::uint64_t>(packed >> 64U)};
  }
  static void advance(State& state, std::uint64_t bytes, std::uint64_t rate) {
    const Wide work = Wide{bytes} * kPicosecondsPerSecond + state.remainder;
    const bool narrow = (work >> 64U) == 0;
    const Wide whole = narrow ? static_cast<std::uint64_t>(work) / rate : work / rate;
    state.busy_until += static_cast<Picoseconds>(whole);
    state.remainder = static_cast<std::uint64_t>(work - whole * rate);
  }
  // 16 bytes at once. By hand, as compilers inline it only under an option of their own.
  bool exchange(Wide expected, Wide desired) {
#if defined(__x86_64__)
    bool done = false;
    auto low = static_cast<std::uint64_t>(expected);
    auto high = static_cast<std::uint64_t>(expected >> 64U);
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(done), "+m"(state_), "+a"(low), "+d"(high)
                 : "b"(static_cast<std::uint64_t>(desired)),
                   "c"(static_cast<std::uint64_t>(desired >> 64U))
                 : "memory");
    return done;
#else
    return __sync_bool_compare_and_swap(&state_, expected, desired);
#endif
  }
  // Two halves that do not belong together only make the exchange fail.
  Wide load() const {
    using Half [[gnu::may_alias]] = std::uint64_t;
    const auto* halves = reinterpret_cast<const Half*>(&state_);
    const std::uint64_t low = __atomic_load_n(&halves[0], __ATOMIC_RELAXED);
    return (Wide{__atomic_load_n(&halves[1], __ATOMIC_RELAXED)} << 64U) | low;
  }

  Wide state_ = 0;
};

/// The instant from which something counts as ready that a process came to do only `now`, though
/// its cause was there at `ready`: hardware would not have waited for the process. At most
/// `catch_up` ago (net::PacedLink's rule).
inline Picoseconds caught_up(Picoseconds now, Picoseconds ready, Picoseconds catch_up) {
  return std::clamp(ready, now - catch_up, now);
}

/// A message's arrival as its receiver sees it.
struct Observation {
  Picoseconds sent;    ///< the sender's stamp
  Picoseconds native;  ///< how long such a message takes here without emulation
  Picoseconds looked;  ///< the receiver's last look before that found nothing
  Picoseconds seen;    ///< the look that found it
  Picoseconds posted;  ///< no look could find it before; 0: nobody knows of such a time
};

/// Looks that lie closer together than this are polling without pause.
inline constexpr Picoseconds kPolling = 500'000;

/// Returns when it arrived. A receiver that polls in vain and then finds it sees it then, with the
/// jitter that messages have here by themselves. For one that computed meanwhile, or was busy with
/// others, it arrived between the two looks, and there where such messages usually do. Where the
/// look before could not find it, it may have arrived before that look.
inline Picoseconds arrival(const Observation& message, Picoseconds polling = kPolling) {
  if (message.posted > message.looked) return std::min(message.sent + message.native, message.seen);
  if (message.seen - message.looked <= polling) return message.seen;
  return std::clamp(message.sent + message.native, message.looked, message.seen);
}

/// The parts of a message's due time.
struct Way {
  Picoseconds sent;      ///< when it would have been sent without weft
  Picoseconds arrived;   ///< `arrival`, likewise
  Picoseconds drained;   ///< when its last bit has left its links
  Picoseconds shortest;  ///< the shortest message's time on the way here
  Picoseconds own;       ///< the emulation's own cost on the way
  Picoseconds latency;   ///< added
};

/// When it is due: the last bit is on the way as long as the shortest message is. Both the arrival
/// and the shortest message's time were seen with the emulation's own cost, and no message is due
/// before it has left.
inline Picoseconds due(const Way& way) {
  const bool passes_links = way.drained > way.sent;
  const Picoseconds left = passes_links ? way.drained + way.shortest : way.sent;
  return std::max(std::max(way.arrived, left) - way.own + way.latency, way.drained);
}

}  // namespace weft::emulate

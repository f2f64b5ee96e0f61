// SPDX-License-Identifier: Apache-2.0
// LinkModel: one direction of a link as a FIFO queue in front of a transmitter. Bytes in at an
// instant, departure and arrival out. The shaped fabric and the packet simulator use the same
// class, so that emulation and simulation of a link agree.
#pragma once

#include "net/link_clock.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::net {

/// The properties of a link.
struct LinkParameters {
  Bandwidth rate{};                  ///< zero: infinitely fast
  PicoDuration latency{};            ///< from the last bit's departure to its arrival; ≥ 0
  ByteCount queue_limit{};           ///< bytes accepted and not yet departed; zero: no limit
  ByteCount overhead_per_message{};  ///< header bytes that each message adds on this link
};

/// When a message's bits are where.
struct Transit {
  PicoInstant start;      ///< first bit enters the link
  PicoInstant departure;  ///< last bit has left the sender, rounded up to a picosecond
  PicoInstant arrival;    ///< departure + latency
};

/// A link of fixed rate and latency with a first-in, first-out queue that loses nothing.
///
/// Exactness: the transmitter's time is kept as whole picoseconds plus a remainder in units of
/// 1/rate ps, so a million back-to-back messages end at the picosecond that one message of the same
/// length ends at; only the instants handed out are rounded (up). A transmitter that falls idle
/// starts afresh at the instant of the next message.
///
/// Plain data, no allocation, copyable: a copy answers "what if". Not thread-safe.
class LinkModel {
 public:
  explicit LinkModel(const LinkParameters& parameters) : parameters_(parameters) {}

  const LinkParameters& parameters() const { return parameters_; }

  /// Puts a message of `bytes` into the queue at `now`. Calls are served in the order made, not in
  /// that of `now`. The queue must admit it (`admits`); without a limit it always does.
  Transit send(PicoInstant now, ByteCount bytes);

  /// Keeps the transmitter busy until `until`, though it has nothing to send: for a switch that has
  /// begun to pass on a packet whose end is still to come.
  void occupy_until(PicoInstant until);

  /// Returns whether the queue has room at `now`: its bytes and the message stay within the limit,
  /// or it is empty (so that a message larger than the limit can pass at all).
  bool admits(PicoInstant now, ByteCount bytes) const { return admits_from(now, bytes) <= now; }
  /// The first instant ≥ `now` at which `admits` holds if nothing else is sent: how long a lossless
  /// sender has to wait.
  PicoInstant admits_from(PicoInstant now, ByteCount bytes) const;

  /// Returns when the transmitter will have nothing left to send; in the past for an idle link.
  /// Rounded up.
  PicoInstant idle_from() const;
  /// Bytes accepted and not yet departed at `now`, overhead included, a byte begun counts whole.
  ByteCount backlog(PicoInstant now) const;

  /// Changes the rate from `now` on. Bytes that have not departed by then go on at the new rate;
  /// transits handed out before do not know that, so a caller that wants a change to act at once
  /// sends in small pieces.
  void set_rate(PicoInstant now, Bandwidth rate);
  /// Changes the latency of messages sent from here on.
  void set_latency(PicoDuration latency) { parameters_.latency = latency; }

 private:
  using Wide = LinkClock::Wide;

  LinkParameters parameters_;
  LinkClock clock_;
};

}  // namespace weft::net

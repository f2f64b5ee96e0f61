// SPDX-License-Identifier: Apache-2.0
// PacedLink: the link model on a driver's clock, for a driver that may come late.
#pragma once

#include "net/link_model.hpp"
#include "net/link_shape.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::net {

/// A LinkModel that is asked at the instants at which its driver happens to run. A link goes on
/// without its driver, as hardware does: a piece that was ready before now starts when the link was
/// free for it, up to `catch_up` ago, so that late wake-ups cost no bandwidth and do not add up. A
/// link that had nothing to send saves nothing.
///
/// Times are held relative to the first instant seen, since picoseconds of a machine's uptime
/// overflow after 106 days. Before `start` only `start` may be called.
class PacedLink {
 public:
  PacedLink(const LinkShape& shape, Duration catch_up)
      : model_({.rate = shape.rate, .latency = to_pico(shape.latency)}), catch_up_(catch_up) {}

  void start(Instant epoch) { epoch_ = epoch; }

  /// Returns when a piece offered next may start; in the past when the link is idle.
  Instant free_from() const { return outside(model_.idle_from()); }

  /// The time that so many bytes take to pass; rounded down.
  Duration time_of(ByteCount bytes) const;

  struct Passage {
    Instant departure;
    Instant arrival;
  };
  /// Sends a piece that has been ready since `ready`, decided at `now`.
  Passage send(Instant now, Instant ready, ByteCount bytes);

  void set_shape(Instant now, const LinkShape& shape);
  ByteCount backlog(Instant now) const { return model_.backlog(inside(now)); }

 private:
  PicoInstant inside(Instant t) const { return to_pico(Instant((t - epoch_).ticks())); }
  Instant outside(PicoInstant t) const { return epoch_ + Duration(to_nano(t).ticks()); }

  LinkModel model_;
  Duration catch_up_;
  Instant epoch_{};
};

}  // namespace weft::net

// SPDX-License-Identifier: Apache-2.0
#include "net/paced_link.hpp"

#include <algorithm>

namespace weft::net {

PacedLink::Passage PacedLink::send(Instant now, Instant ready, ByteCount bytes) {
  const Instant from = std::max(ready, now - catch_up_);
  const Transit transit = model_.send(inside(from), bytes);
  return {outside(transit.departure), outside(transit.arrival)};
}

Duration PacedLink::time_of(ByteCount bytes) const {
  net::LinkModel idle({.rate = model_.parameters().rate});
  return Duration(idle.send(PicoInstant{}, bytes).departure.ticks() / 1'000);
}

void PacedLink::set_shape(Instant now, const LinkShape& shape) {
  model_.set_rate(inside(now), shape.rate);
  model_.set_latency(to_pico(shape.latency));
}

}  // namespace weft::net

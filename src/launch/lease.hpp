// SPDX-License-Identifier: Apache-2.0
// Lease: how long an agent's processes may run without word from the launcher, so that none runs
// any more when the launcher starts their next lives elsewhere. Without I/O.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/number_text.hpp"
#include "weft/time.hpp"

namespace weft {

/// The agent's side. The agent sends its own clock's time, and the launcher returns the last one
/// that it received. The lease runs from the moment at which the agent sent the returned word, and
/// the launcher's patience from the later moment at which it received that. So the lease ends
/// before the patience does, even if words are lost or late in either direction: no clock is
/// compared with another, two clocks only have to go at about the same rate.
class Lease {
 public:
  Lease(Duration length, Instant now) : length_(length), from_(now) {}

  /// The word for the launcher at `now`.
  static std::string word(Instant now) { return std::to_string((now - Instant{}).ticks()); }
  /// It has returned that. Nonsense renews nothing.
  void on_return(std::string_view word, Instant now) {
    const auto ticks = parse_number<std::int64_t>(word);
    if (ticks) from_ = std::max(from_, std::min(now, Instant{} + Duration(*ticks)));
  }
  void set_length(Duration length) { length_ = length; }
  Instant ends() const { return from_ + length_; }

 private:
  Duration length_;
  Instant from_;
};

/// Returns the lease that a launcher gives which considers an agent gone after `patience` of
/// silence. The remaining third lets the processes end and allows for clocks of different rates.
inline Duration lease_within(Duration patience) {
  return patience * 2 / 3;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Lease: how long an agent's processes may run without word from the launcher. When the launcher
// starts their next lives elsewhere, the lease has ended and none of them runs any more. No I/O.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/number_text.hpp"
#include "weft/time.hpp"

namespace weft {

/// The agent's side. The agent sends its clock's time as a word, and the launcher returns the last
/// word that it received. The lease runs from the moment at which the agent sent the returned word.
/// The launcher's patience runs from the later moment at which the launcher received that word. So
/// the lease ends before the patience does, even if words are lost or late in either direction. No
/// clock is compared with another: the two clocks only have to run at about the same rate.
class Lease {
 public:
  /// The lease begins at `now`, on the agent's clock.
  Lease(Duration length, Instant now) : length_(length), from_(now) {}

  /// Returns the word that the agent sends at `now`.
  static std::string word(Instant now) { return std::to_string((now - Instant{}).ticks()); }
  /// The launcher has returned `word`. Only a number renews the lease, to `now` at most; an older
  /// word does not shorten it.
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

/// Returns the length of the lease for a launcher that considers an agent gone after `patience` of
/// silence: two thirds of it. The last third lets the processes end, and allows for clocks of
/// different rates.
inline Duration lease_within(Duration patience) {
  return patience * 2 / 3;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// GrantTogether: when input nodes are slow, the others get grants so late that their contributions
// to a timeslice arrive together with the slow ones'. No time is lost, since the timeslice has to
// wait for the slow input nodes anyway, and the spread stays near the floor.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::schedule {

/// A machine without I/O; one thread.
class GrantTogether {
 public:
  /// Forgets all measurements: other input nodes are slow now, or none.
  void restart() { *this = {}; }
  /// Records that the slow input nodes have delivered that round, which is later than the last one.
  /// They will never deliver rounds in between.
  void on_slow_arrival(Instant now, std::uint64_t round);
  /// Records that another input got a grant for that round, or delivered its contribution.
  void on_grant(Instant now, std::uint64_t round);
  void on_arrival(Instant now, std::uint64_t round);
  /// Returns the time before which the other input nodes get no grants for that round.
  Instant opens(std::uint64_t round) const;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t slow_round_ = none;  // the last round that the slow ones delivered
  Instant arrived_{};                // and when
  Duration interval_{};              // between two of their rounds, smoothed
  std::uint64_t round_ = none;       // the round of the others' latest grants
  Instant opened_{};                 // when the first of these went out
  Duration collected_{};             // from `opened_` to the last arrival of that round so far
  Duration collecting_{};            // the same of earlier rounds, smoothed
};

}  // namespace weft::schedule

// SPDX-License-Identifier: Apache-2.0
// GrantTogether: when one input node is slow, the others get grants so late that their
// contributions to a timeslice arrive together with the slow one's. Nothing is lost by that, since
// the timeslice has to wait for it anyway, and the spread stays near the floor.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::schedule {

class GrantTogether {
 public:
  /// Nothing of before counts: another input is slow now, or none.
  void restart() { *this = {}; }
  /// The slow input's contribution of that round, later than its last one, has arrived. Those of
  /// rounds in between have not, and never will.
  void on_slow_arrival(Instant now, std::uint64_t round);
  /// Records that another input got a grant for that round, or delivered its contribution.
  void on_grant(Instant now, std::uint64_t round);
  void on_arrival(Instant now, std::uint64_t round);
  /// Returns the time before which the others get no grants for that round.
  Instant opens(std::uint64_t round) const;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t slow_round_ = none;  // of the slow one's last contribution
  Instant arrived_{};                // and when it came
  Duration interval_{};              // from one round of them to the next, smoothed
  std::uint64_t round_ = none;       // the round of the others' latest grants
  Instant opened_{};
  Duration collected_{};   // from then to the last arrival so far
  Duration collecting_{};  // smoothed
};

}  // namespace weft::schedule

// SPDX-License-Identifier: Apache-2.0
// GrantRelief: whether senders starve for grants, and whether more grants help them.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::schedule {

/// Contributions that came while the compute node had no processor leave their senders without
/// grants. When most contributions have come like that for longer than other processes take their
/// turns, more are to be in flight. After four periods with more they have to have made the node
/// faster than it usually was. If they have not, links decide the pace, and senders only look
/// starved: the places are taken back, and the next relief comes after twice as long a time.
///
/// A machine without I/O; one thread.
class GrantRelief {
 public:
  /// Nodes that share processors take turns. A shorter time would show their turns and not their
  /// pace.
  static constexpr Duration several_turns = Duration::milliseconds(10);
  /// More in flight has to make a node so many times as fast.
  static constexpr double worth_it = 1.04;

  enum class Step {
    none,
    add,       ///< more are to be in flight
    take_back  ///< what was added last is of no use
  };

  /// What a period has shown.
  struct Period {
    Duration length;             ///< more than zero
    std::uint32_t arrivals = 0;  ///< contributions; more than zero
    std::uint32_t starved = 0;   ///< those of them whose senders may have waited for grants
    double usual_rate = 0;       ///< contributions per second, when nothing disturbs
    bool may_begin = true;       ///< relief may
    bool has_more = true;        ///< more is in flight than before the relief that is on trial
  };

  /// A period has ended. Returns what to do about the number in flight.
  Step on_period(const Period& period);

  /// Returns whether added places have not had the time to show that they are of use.
  bool is_on_trial() const { return trial_periods_ > 0; }

  /// A view begins: what was added stays, and is not judged.
  void restart();

 private:
  Step judge(const Period& period);

  Duration starving_for_{};  // how long periods with mostly starved senders have lasted
  Duration sure_after_ = several_turns;
  std::uint32_t trial_periods_ = 0;  // that are left
  double rate_before_ = 0;
  std::uint64_t arrivals_ = 0;  // on trial
  Duration time_{};             // on trial
};

}  // namespace weft::schedule

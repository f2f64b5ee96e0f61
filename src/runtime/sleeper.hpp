// SPDX-License-Identifier: Apache-2.0
// Sleeper: how a driver loop waits. It spins for a moment, because a sleeping core costs ten times
// the latency, and then blocks, because a spinning one ruins everybody else.
#pragma once

#include <optional>
#include <vector>

#include "runtime/crowding.hpp"
#include "weft/fabric.hpp"
#include "weft/time.hpp"

namespace weft {

class Sleeper {
 public:
  /// `spin`: how long the loop is kept turning after the last thing happened. `gives_way`: between
  /// turns of a spin another process may have the core, else only after a while; where that turns
  /// out to be one that computes on and on, a spin sleeps instead.
  explicit Sleeper(Duration spin, bool gives_way = false);

  /// The driver may move to another core when it takes turns with its peer on one: where peers wait
  /// for each other's short messages. Beside a network's work in the kernel it would do so in vain.
  void let_move() { may_move_ = true; }
  /// Descriptors that end a sleep when readable, besides the fabric's.
  void watch(int descriptor);

  /// To be called when the loop found nothing to do at `now`. Returns at once while spinning, else
  /// sleeps until the fabric, a watched descriptor or `deadline` wants attention. A fabric in which
  /// something moves keeps it spinning.
  void idle(Instant now, Fabric& fabric, Instant deadline);
  /// Something happened: spinning begins anew.
  void busy(Instant now) {
    end_yield(now);
    busy_until_ = now + spin_;
  }
  /// Waits for the watched descriptors alone.
  void sleep(Instant now, Instant deadline) { block(now, -1, deadline); }

 private:
  void block(Instant now, int descriptor, Instant deadline);
  void end_yield(Instant now) {
    if (yielded_) take_end_of_yield(now);
  }
  void take_end_of_yield(Instant now);

  Duration spin_;
  bool gives_way_;
  bool may_move_ = false;
  Instant busy_until_{};
  std::optional<Instant> yielded_;  // a yield began, and no turn has been seen since
  Instant crowded_until_{};
  Crowding crowding_;
  std::vector<int> watched_;
};

/// Whether that many drivers have to share this machine's cores.
bool share_cores(unsigned processes);
/// A spin time that suits a machine on which `processes` drivers run: none when they have to share
/// cores.
Duration suitable_spin(unsigned processes);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Sleeper: how a driver loop waits. It spins for a moment, because a sleeping core costs ten times
// the latency, and then blocks, because a spinning one ruins everybody else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/crowding.hpp"
#include "runtime/patience.hpp"
#include "runtime/switch_time.hpp"
#include "runtime/turns.hpp"
#include "weft/fabric.hpp"
#include "weft/time.hpp"

namespace weft {

/// How late a sleeping core wakes here: so much before a deadline a punctual driver stops sleeping.
/// Follows the latest wake-ups at once, and forgets them within some dozens.
class Lateness {
 public:
  Duration ahead() const { return ahead_; }
  void woke(Duration late) {
    late = std::clamp(late, Duration{}, most);
    ahead_ = late > ahead_ ? late : ahead_ - (ahead_ - late) / 16;
  }

 private:
  static constexpr Duration most = Duration::microseconds(200);
  Duration ahead_ = Duration::microseconds(60);
};

class Sleeper {
 public:
  /// `spin`: how long the loop is kept turning after the last thing happened. `gives_way`: drivers
  /// share cores. Between turns of a spin another process may have the core as soon as `Patience`
  /// is over, else only after a while; where that turns out to be one that computes on and on, a
  /// spin sleeps instead. `a_switch`: how long this machine takes for one.
  explicit Sleeper(Duration spin, bool gives_way = false, Duration a_switch = time_of_switch());

  /// The driver may move to another core when it takes turns with its peer on one: where peers wait
  /// for each other's short messages. Beside a network's work in the kernel it would do so in vain.
  void let_move() { may_move_ = true; }
  /// The fabric's deadlines are when something is there, as a shaped link's are: a driver that
  /// wakes late is late by so much, and sleeps less and spins the rest where it has a core of its
  /// own.
  void be_punctual() { punctual_ = true; }
  /// Where drivers share cores it comes to the home of that place, and back to it now and then:
  /// neighbours, who talk to each other most, then run at the same time.
  void keep_to(std::uint32_t place) {
    if (place_ != place) come_back_again_ = {};
    place_ = place;
  }
  /// Descriptors that end a sleep when readable, besides the fabric's.
  void watch(int descriptor);

  /// To be called when the loop found nothing to do at `now`. Returns at once while spinning, else
  /// sleeps until the fabric, a watched descriptor or `deadline` wants attention. A fabric in which
  /// something moves keeps it spinning.
  void idle(Instant now, Fabric& fabric, Instant deadline);
  /// Something happened: spinning begins anew.
  void busy(Instant now) {
    end_yield(now);
    if (waits_since_) end_wait();
    if (in_wait_) {
      in_wait_ = false;
      turns_.ended();
    }
    busy_until_ = now + spin_;
  }
  /// Waits for the watched descriptors alone.
  void sleep(Instant now, Instant deadline) { (void)block(now, -1, deadline); }

 private:
  /// True: nothing but the deadline ended the sleep.
  bool block(Instant now, int descriptor, Instant deadline);
  void block_punctually(Instant now, const WaitHint& hint);
  void end_yield(Instant now) {
    if (yielded_) take_end_of_yield(now);
  }
  void take_end_of_yield(Instant now);
  void lose(Instant begun, Instant now);
  bool looks_on(Instant now);
  void end_wait() {
    if (!gave_way_) patience_.paid();
    waits_since_.reset();
  }
  void come_back(Instant now);

  Duration spin_;
  bool gives_way_;
  bool may_move_ = false;
  bool punctual_ = false;
  Instant busy_until_{};
  std::optional<Instant> yielded_;  // a yield began, and no turn has been seen since
  Instant crowded_until_{};
  Duration lost_{};                        // by long yields of late
  Instant lost_at_{};                      // the end of the last of them
  std::optional<Instant> had_core_since_;  // the end of the last long yield
  // The state of drivers that share cores.
  Patience patience_;
  std::optional<Instant> waits_since_;
  Duration looks_for_{};   // of this wait
  bool gave_way_ = false;  // in this wait
  std::optional<std::uint32_t> place_;
  Instant come_back_again_{};
  // The state of drivers that have a core of their own.
  Turns turns_;
  bool in_wait_ = false;
  bool yields_at_once_ = false;  // in this wait
  Crowding crowding_;
  Lateness lateness_;
  std::vector<int> watched_;
};

/// The number of the core, of so many, that a driver's place has as its home. Places are counted to
/// and fro over the cores: counted round, all odd places would share cores, though in pairs of
/// neighbours these may do all the work, as receivers do that fetch.
std::uint32_t home_core(std::uint32_t place, std::uint32_t cores);
/// Returns whether that many drivers, of one job, have to share the cores that it has on this
/// machine.
bool share_cores(unsigned processes);
/// A spin time that suits a machine on which `processes` drivers run: none when they have to share
/// cores.
Duration suitable_spin(unsigned processes);

}  // namespace weft

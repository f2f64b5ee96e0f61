// SPDX-License-Identifier: Apache-2.0
// StoppableRun: a simulation that its user can end before its time.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sim/partition/exchange.hpp"
#include "sim/run/world.hpp"

namespace weft::sim {

/// Asks whether somebody wants a simulation to end now. May be empty: nobody ever does.
using WantsEnd = std::function<bool()>;

/// Takes a world through its time, and asks `wants_end` every few hundred thousand events, once in
/// each process. What happens does not depend on when it asks. World and exchange outlive it; every
/// part of a divided simulation has one, all of them have a `wants_end` or none has, and they make
/// the same calls.
class StoppableRun {
 public:
  StoppableRun(World& world, Exchange& exchange, WantsEnd wants_end)
      : world_(world), exchange_(exchange), wants_end_(std::move(wants_end)) {}

  /// As World::run_until. Returns false, in all parts, when somebody wanted an end before that.
  bool run_until(PicoInstant end);

 private:
  World& world_;
  Exchange& exchange_;
  WantsEnd wants_end_;
  PicoDuration slice_ = PicoDuration::microseconds(1);
  std::uint64_t handled_ = 0;  // events, in this part, when it last asked
};

}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/rank_times.hpp"

#include <algorithm>

namespace weft {
namespace {

/// A program that makes up names without end shall not take memory without end.
constexpr std::size_t most_phases = 256;

}  // namespace

void RankTimes::enter(std::string_view name) {
  const auto found = std::find_if(phases_.begin(), phases_.end(),
                                  [&](const PhaseTimes& phase) { return phase.name == name; });
  current_ = static_cast<std::size_t>(found - phases_.begin());
  if (found != phases_.end()) return;
  if (phases_.size() < most_phases) {
    phases_.push_back({.name = std::string(name)});
  } else {
    current_ = most_phases - 1;
  }
}

PhaseTimes RankTimes::sum() const {
  PhaseTimes sum;
  for (const PhaseTimes& phase : phases_) {
    sum.computing += phase.computing;
    sum.messaging += phase.messaging;
    sum.waiting += phase.waiting;
    sum.messages += phase.messages;
    sum.bytes += phase.bytes;
  }
  return sum;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "sim/run/stoppable.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::sim {
namespace {

/// Events between two questions, which take less than half a second: the simulated time that has as
/// many differs from network to network by orders of magnitude, and is found by trying.
constexpr std::uint64_t few_events = 1u << 16;
constexpr std::uint64_t many_events = 1u << 18;
constexpr PicoDuration shortest_slice = PicoDuration::nanoseconds(1);
constexpr PicoDuration longest_slice = PicoDuration::seconds(1);

}  // namespace

bool StoppableRun::run_until(PicoInstant end) {
  while (wants_end_) {
    const std::uint64_t handled = world_.engine().handled();
    const bool asks = exchange_.first_of_process();
    std::array<std::uint64_t, 2> seen{asks && wants_end_() ? 1u : 0u,
                                      handled - std::exchange(handled_, handled)};
    exchange_.sum(seen);
    const auto [wishes, events] = seen;
    if (wishes > 0) return false;
    if (events > many_events) slice_ = std::max(slice_ / 2, shortest_slice);
    if (events < few_events) slice_ = std::min(slice_ * 2, longest_slice);
    const PicoInstant next(exchange_.turn({}, {}, {}, world_.engine().next_time().ticks()));
    if (next >= end || end - next <= slice_) break;
    world_.run_until(next + slice_);
  }
  world_.run_until(end);
  return true;
}

}  // namespace weft::sim

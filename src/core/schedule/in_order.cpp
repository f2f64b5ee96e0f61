// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/in_order.hpp"

namespace weft::schedule {

void InOrderSchedule::on_grid(Instant, const RoundGrid& grid) {
  grid_ = grid;
  next_step_ = 0;
}

TimesliceIndex InOrderSchedule::at(std::uint64_t step) const {
  const auto compute =
      static_cast<std::uint32_t>((step % grid_.computes + offset_) % grid_.computes);
  return grid_.timeslice(step / grid_.computes, compute);
}

/// Millions may be passed over at once. Seldom: a division with each choice would take its time.
void InOrderSchedule::pass_started(TimesliceIndex below) {
  const std::uint64_t lead = std::uint64_t{2} * grid_.computes;
  if (below <= grid_.first.plus(next_step_ + lead)) return;
  next_step_ = grid_.round_of(below) * grid_.computes;
}

Choice InOrderSchedule::choose(Instant, const SendState& state) {
  pass_started(state.started_below());
  // A step that is done already is passed for good; one behind the end of the stream may have
  // neighbours in its round that are not.
  for (std::uint64_t step = next_step_; step < next_step_ + 2 * grid_.computes; ++step) {
    const TimesliceIndex t = at(step);
    switch (state.readiness(t)) {
      case Readiness::sendable:
        return {.kind = Choice::Kind::send, .timeslice = t};
      case Readiness::started:
        if (step == next_step_) ++next_step_;
        break;
      case Readiness::after_end:
        break;
      default:
        return {.kind = Choice::Kind::wait, .timeslice = t};
    }
  }
  return {};
}

void InOrderSchedule::on_started(Instant, TimesliceIndex t) {
  if (at(next_step_) == t) ++next_step_;
}

std::unique_ptr<InputSchedule> make_best_effort_input() {
  return std::make_unique<InOrderSchedule>(0);
}

std::unique_ptr<InputSchedule> make_offset_input(std::uint32_t input) {
  return std::make_unique<InOrderSchedule>(input);
}

}  // namespace weft::schedule

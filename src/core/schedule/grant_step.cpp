// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::schedule {
namespace {

/// In floors of the spread. Where links are full, the first of all is ahead by the floor and what
/// gaps between contributions take.
constexpr double too_far = 4.0 / 3;
constexpr double near_enough = 7.0 / 6;
/// Rounds of an average.
constexpr std::uint64_t judged = 2;
/// One look counts at most so many rounds, so that the end of a pause is soon forgotten.
constexpr std::uint64_t most_rounds = 8;
constexpr std::uint64_t least_patience = 16;  // rounds
constexpr std::uint64_t most_patience = 1 << 14;
/// On a longer path an input node that waits costs more than the spread.
constexpr double most_rounds_on_path = 2.5;
/// With more in flight, in paths, an input node waits only after all that is queued in front of its
/// link, too late to tell.
constexpr double most_paths = 4;

/// As many as the path holds, rounded up: an input node that is in step again goes on without a
/// stop, and one that is a round ahead is slower than its link. With more than two input nodes the
/// last one is another one now and then: to wait for each of them would cost a round each time.
std::uint64_t rounds_of_ahead(std::size_t inputs, double path_holds, std::uint64_t in_flight) {
  const double on_path = path_holds / static_cast<double>(inputs);
  const bool is_short =
      on_path <= most_rounds_on_path && static_cast<double>(in_flight) <= most_paths * path_holds;
  if (!is_short) return GrantStep::unlimited;
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(on_path))) + (inputs > 2 ? 1 : 0);
}

}  // namespace

GrantStep::GrantStep(std::size_t inputs)
    : floor_(static_cast<double>(inputs - 1) / static_cast<double>(inputs)), inputs_(inputs) {
  restart();
}

void GrantStep::restart() {
  std::ranges::fill(inputs_, Input{});
  since_ = looked_ = Instant::never();
  round_ = from_ = 0;
  ahead_ = 0;
  patience_ = least_patience;
}

void GrantStep::forget(std::size_t input) {
  ahead_ -= inputs_[input].ahead ? 1 : 0;
  inputs_[input] = {};
}

void GrantStep::begin_look(Instant now, std::uint64_t lowest, double path_holds,
                           std::uint64_t in_flight) {
  rounds_ = rounds_of_ahead(inputs_.size(), path_holds, in_flight);
  const bool begins_anew = rounds_ == unlimited || now < looked_;  // the clock was set back
  if (begins_anew) {
    if (ahead_ > 0) from_ = lowest + patience_;
    for (Input& input : inputs_) input = {.rounds = input.rounds};
    ahead_ = 0;
  }
  passed_ = begins_anew ? Duration{} : now - looked_;
  looked_ = now;
  lowest_ = lowest;
  length_ = {};
  if (!begins_anew && (lowest < round_ + judged || now == since_)) return;
  if (!begins_anew) length_ = now - since_;
  since_ = now;
  round_ = lowest;
}

void GrantStep::on_look(std::size_t i, std::uint64_t rounds) {
  Input& input = inputs_[i];
  input.sum += static_cast<double>(input.rounds) * static_cast<double>(passed_.ticks());
  input.rounds = std::min(rounds, most_rounds);
  if (length_ > Duration{}) judge(input);
}

void GrantStep::judge(Input& input) {
  const double rounds = std::exchange(input.sum, 0) / static_cast<double>(length_.ticks());
  if (input.ahead && rounds <= near_enough * floor_) return release(input);
  const bool was_far = std::exchange(input.was_far, rounds > too_far * floor_);
  if (input.ahead || !was_far || !input.was_far || lowest_ < from_) return;
  if (ahead_ == 0) {
    const bool is_soon = from_ > 0 && lowest_ - from_ < patience_;
    patience_ =
        is_soon ? std::min(patience_ * 2, most_patience) : std::max(patience_ / 2, least_patience);
  }
  input.ahead = true;
  ++ahead_;
}

void GrantStep::release(Input& input) {
  input.ahead = input.was_far = false;
  if (--ahead_ == 0) from_ = lowest_ + patience_;
}

}  // namespace weft::schedule

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_step.hpp"

#include <algorithm>

namespace weft::schedule {
namespace {

/// In floors of the spread.
constexpr double too_far = 4.0 / 3;
/// The weight of a look: some tens of contributions decide.
constexpr double weight = 1.0 / 32;
/// One look counts at most so many rounds, so that the end of a pause is soon forgotten.
constexpr std::uint64_t most_rounds = 8;
constexpr std::uint64_t least_patience = 16;  // rounds
constexpr std::uint64_t most_patience = 1 << 14;
/// If the path holds more rounds than that, an input node that waits costs more than the spread.
constexpr double most_rounds_on_path = 1.5;
/// If more is in flight than so many times what the path holds, an input node waits only after all
/// that is queued in front of its link, too late to tell.
constexpr double most_paths = 4;

}  // namespace

GrantStep::GrantStep(std::size_t inputs)
    : limit_(too_far * static_cast<double>(inputs - 1) / static_cast<double>(inputs)),
      inputs_(inputs) {
  restart();
}

void GrantStep::restart() {
  std::ranges::fill(inputs_, Input{});
  ahead_ = 0;
  patience_ = least_patience;
  from_ = 0;
}

void GrantStep::forget(std::size_t input) {
  ahead_ -= inputs_[input].ahead ? 1 : 0;
  inputs_[input] = {};
}

void GrantStep::on_look(std::size_t i, std::uint64_t lowest, std::uint64_t rounds) {
  Input& input = inputs_[i];
  if (rounds == 0 && input.ahead) {
    forget(i);
    if (ahead_ == 0) from_ = lowest + patience_;
    return;
  }
  const auto seen = static_cast<double>(std::min(rounds, most_rounds));
  input.rounds += (seen - input.rounds) * weight;
  if (input.ahead || input.rounds <= limit_ || lowest < from_) return;
  if (ahead_ == 0) {
    const bool is_soon = from_ > 0 && lowest - from_ < patience_;
    patience_ =
        is_soon ? std::min(patience_ * 2, most_patience) : std::max(patience_ / 2, least_patience);
  }
  input.ahead = true;
  ++ahead_;
}

/// One round, which the last one has not delivered either. With more than two input nodes the last
/// one is another one now and then: to wait for each of them would cost a round each time.
std::uint64_t GrantStep::rounds(double path_holds, std::uint64_t in_flight) const {
  const bool is_short = path_holds <= most_rounds_on_path * static_cast<double>(inputs_.size()) &&
                        static_cast<double>(in_flight) <= most_paths * path_holds;
  if (!is_short) return unlimited;
  return inputs_.size() > 2 ? 2 : 1;
}

}  // namespace weft::schedule

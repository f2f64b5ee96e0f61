// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/repeated_feed.hpp"

#include <algorithm>
#include <utility>

#include "base/rng.hpp"

namespace weft::trace {

using sim::Action;

namespace {

/// A rank that must not go on computes for so long: less than messages take.
constexpr PicoDuration pause = PicoDuration::microseconds(1);
/// Names of messages are below it in one trace, and repetitions tell those of the same name apart.
constexpr int bits_of_name = 40;
constexpr std::uint64_t repetitions_named = std::uint64_t{1} << 20;

Action compute(PicoDuration time) {
  return {.kind = Action::Kind::compute, .time = time};
}

}  // namespace

RepeatedFeed::RepeatedFeed(const Traces& traces, double compute_factor, std::uint64_t seed)
    : traces_(traces), factor_(compute_factor), seed_(seed), ranks_(traces.front()->ranks()) {}

RepeatedFeed::Repetition* RepeatedFeed::repetition_of(std::uint64_t number) {
  while (first_ + repetitions_.size() <= number) {
    const auto drawn = Rng(seed_).split(first_ + repetitions_.size()).below(traces_.size());
    const Trace& trace = *traces_[drawn];
    auto feed = trace.feed(factor_);
    if (!feed) {
      state_ = std::move(feed).error();
      return nullptr;
    }
    repetitions_.push_back({.trace = &trace, .feed = std::move(feed).value()});
  }
  return &repetitions_[number - first_];
}

/// The rank has come to the end of a repetition.
Action RepeatedFeed::finish(Rank& rank) {
  const bool marks = !rank.has_marked;
  rank = {.repetition = rank.repetition + 1, .rests = !rank.has_acted};
  const auto last =
      std::min_element(ranks_.begin(), ranks_.end(),
                       [](const Rank& a, const Rank& b) { return a.repetition < b.repetition; });
  for (; first_ < last->repetition && !repetitions_.empty(); ++first_) repetitions_.pop_front();
  return marks ? Action{.kind = Action::Kind::mark_progress} : compute({});
}

Action RepeatedFeed::next(std::uint32_t number) {
  Rank& rank = ranks_[number];
  if (!state_) return {};
  if (std::exchange(rank.rests, false) || is_too_far(rank)) {
    return compute(pause);
  }
  Repetition* repetition = repetition_of(rank.repetition);
  if (repetition == nullptr) return {};
  Action action = repetition->feed->next(number);
  switch (action.kind) {
    case Action::Kind::end:
      state_ = repetition->trace->state_of(*repetition->feed);
      return state_ ? finish(rank) : Action{};
    case Action::Kind::mark_progress:
      rank.has_marked = true;
      return action;
    case Action::Kind::send:
    case Action::Kind::receive:
      action.match += (rank.repetition % repetitions_named) << bits_of_name;
      rank.has_acted = true;
      break;
    default:
      rank.has_acted = rank.has_acted || action.time > PicoDuration{};
      break;
  }
  return action;
}

void RepeatedFeed::on_completed(std::uint32_t number, std::uint32_t request) {
  Repetition* repetition = repetition_of(ranks_[number].repetition);
  if (repetition != nullptr) repetition->feed->on_completed(number, request);
}

}  // namespace weft::trace

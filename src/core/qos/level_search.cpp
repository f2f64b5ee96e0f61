// SPDX-License-Identifier: Apache-2.0
#include "core/qos/level_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace weft::qos {
namespace {

constexpr double least_improvement = 0.0005;
/// The loss of a job that counts as it is: noise; and, where isolation would give jobs much on
/// average, a share of that beyond a tenth. There hardly anything helps one job and costs no other
/// one more than noise.
constexpr double least_bearable = 0.005;
constexpr double most_bearable = 0.04;
constexpr double much = 0.1;
constexpr double bearable_share = 0.2;
/// The same where nothing helps otherwise: with a job that sends most of the time, each change that
/// helps others costs it some percent.
constexpr double bearable_at_worst = 0.02;
/// The mean gain from which on jobs may lose that.
constexpr double worth_a_loss = 0.005;
/// Prices of a larger loss. With the last one alone a search would not get past levels that harm a
/// job for now.
constexpr double price_at_first = 15;
constexpr double price_at_last = 60;
/// Losses of up to so many standard errors may be noise. Of many jobs some lose by noise in every
/// trial, and with prices alone no trial would be better than default, which never loses.
constexpr double errors_of_noise = 0.5;
/// Trials of a round by job.
constexpr std::uint32_t trials_of_job = 12;
/// The share of jobs that a trial leaves as they are: with single processes, and with groups when
/// the first trials have told where to look.
constexpr double share_as_before = 0.2;
constexpr double share_of_groups_as_before = 0.6;
/// Others notice a group of processes more than a single one.
constexpr double doubt_of_groups = 4;
constexpr double doubt_of_processes = 16;
/// Levels in a row that are not better than the best ones.
constexpr int most_in_vain = 6;
/// Of so many rounds one has groups.
constexpr int rounds_of_a_kind = 3;
/// The share of what is left that the last part of a search has for its starts: one in so many.
constexpr std::uint32_t part_of_starts = 4;
constexpr std::size_t any_option = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t predictions_of_job = 100;
constexpr std::size_t least_predictions = 1000;

}  // namespace

LevelSearch::LevelSearch(const Options& options, LevelMoves& moves, Twin& twin)
    : options_(options),
      moves_(moves),
      twin_(twin),
      alone_(space_of(moves.processes_alone(), 1, share_as_before, doubt_of_processes)),
      best_({.taken = {}, .rungs = moves.middle(), .gains = {}}) {
  WEFT_CHECK(options.draws >= 1);
}

LevelSearch::Space LevelSearch::space_of(std::vector<LevelMoves::Choice> choices,
                                         std::size_t farthest, double keeps, double doubt) const {
  std::vector<Effects::Choice> sizes;
  for (const auto& choice : choices) sizes.push_back({choice.job, choice.options.size()});
  return {.choices = std::move(choices),
          .farthest = farthest,
          .keeps = keeps,
          .effects = Effects(std::move(sizes), moves_.jobs(), doubt)};
}

Rungs LevelSearch::rungs_of(const Space& space, const Taken& taken) const {
  Rungs rungs = moves_.middle();
  for (std::size_t c = 0; c < taken.size(); ++c) space.choices[c].take(taken[c], rungs);
  return rungs;
}

void LevelSearch::run() {
  const auto by_jobs = std::max(predictions_of_job * moves_.jobs(), least_predictions);
  const std::uint32_t budget =
      options_.predictions > 0 ? options_.predictions : static_cast<std::uint32_t>(by_jobs);
  price_ = price_at_first;
  least_bearable_ = least_bearable;
  draws_ = options_.draws;
  limit_ = budget / 4 * 3;
  begin_with_default();
  improve_groups();
  improve();
  price_ = price_at_last;
  first_draw_ = draws_;
  draws_ *= 2;
  limit_ = budget;
  accepted_ = found();
  std::ranges::reverse(found_);
  auto starts = std::exchange(found_, {});
  if (starts.empty()) {
    if (last_resort_.rungs == moves_.middle()) return;
    starts.push_back(last_resort_.rungs);
    least_bearable_ = bearable_at_worst;
  }
  begin_with_default();
  begin_with(std::move(starts));
  improve();
  // The noise of each job is known better now, and may forbid what was allowed before.
  if (value_of(best_.gains, bearable_) <= 0) best_ = last_resort_;
}

/// The twin on default: what trials are compared with, and the slack of processes.
void LevelSearch::begin_with_default() {
  best_ = {.taken = {}, .rungs = moves_.middle(), .gains = Gains(moves_.jobs())};
  last_resort_ = best_;
  for (auto draw = static_cast<std::uint32_t>(base_work_.size()); draw < first_draw_ + draws_;
       ++draw) {
    if (failed_) return;
    ++predictions_;
    const auto jobs = twin_.predict(configuration_of(best_.rungs), draw, options_.share);
    failed_ = jobs.size() != moves_.jobs();
    if (failed_) return;
    auto& work = base_work_.emplace_back();
    for (const JobWindow& job : jobs) work.push_back(job.progress_of_slowest());
    moves_.observe(jobs);
  }
  moves_.find_slack();
  noise_.assign(moves_.jobs(), {});
  failed_ = failed_ || !ask_for_bounds();
}

bool LevelSearch::ask_for_bounds() {
  for (std::size_t j = bound_.size(); j < moves_.jobs(); ++j) {
    const auto work = twin_.predict_alone(j, 0, options_.share);
    if (!work) return false;
    bound_.push_back(gain(*work, base_work_[0][j]));
  }
  bearable_ = std::clamp(bearable_share * (mean_of(bound_) - much), least_bearable_, most_bearable);
  return true;
}

/// With the best of the first few `starts`, or the first one after them that helps.
void LevelSearch::begin_with(std::vector<Rungs> starts) {
  std::size_t few = std::max(left() / draws_ / part_of_starts, 1U);
  for (Rungs& start : starts) {
    const bool is_enough = few == 0 && !found_.empty();
    if (is_enough || left() < draws_) return;
    few -= few > 0;
    Trial trial{.taken = {}, .rungs = std::move(start), .gains = {}};
    measure(trial);
    if (failed_) return;
    if (value_of(trial.gains, bearable_) <= value_of(best_.gains, bearable_)) continue;
    found_.push_back(trial.rungs);
    best_ = std::move(trial);
  }
}

/// Rounds until the budget is used. Each leaves some for levels that it measures.
void LevelSearch::improve() {
  for (int round = 1; moves_.jobs() > 0 && left() > 2 * draws_; ++round) {
    if (round % rounds_of_a_kind == 0) {
      improve_groups();
      continue;
    }
    best_.taken.assign(best_.rungs.begin(), best_.rungs.end());
    learn(alone_, best_.taken, trials_of_round());
    climb(alone_, best_);
  }
}

std::uint32_t LevelSearch::trials_of_round() const {
  return std::min(trials_of_job * static_cast<std::uint32_t>(moves_.jobs()), left() / 2);
}

void LevelSearch::improve_groups() {
  Space groups = space_of(moves_.groups(best_.rungs), any_option, 0, doubt_of_groups);
  best_.taken.assign(groups.choices.size(), 0);
  learn(groups, best_.taken, trials_of_round() / 2);
  const Trial next = climb(groups, best_);
  groups.keeps = share_of_groups_as_before;
  learn(groups, next.taken, trials_of_round() / 2);
  climb(groups, next);
}

/// Predicts so many trials that differ from `around`.
void LevelSearch::learn(Space& space, const Taken& around, std::uint32_t trials) {
  trials = std::min(trials, left());
  const auto draw_of = [this](std::uint32_t trial) { return first_draw_ + trial % draws_; };
  std::vector<Taken> taken;
  std::vector<Twin::Question> questions;
  Rng rng(predictions_);
  for (std::uint32_t t = 0; t < trials; ++t) {
    taken.push_back(draw_around(space, around, rng));
    questions.push_back(
        {.levels = configuration_of(rungs_of(space, taken.back())), .draw = draw_of(t)});
  }
  predictions_ += trials;
  const auto work = twin_.predict_all(questions, options_.share);
  failed_ = failed_ || work.size() != trials;
  if (failed_) return;
  for (std::uint32_t t = 0; t < trials; ++t) {
    space.effects.add(taken[t], gains_of(work[t], draw_of(t)), draw_of(t));
  }
  space.effects.fit();
}

/// Another option, or the same, of one choice of each job.
LevelSearch::Taken LevelSearch::draw_around(const Space& space, Taken taken, Rng& rng) const {
  for (std::size_t first = 0, end = 0; first < taken.size(); first = end) {
    const auto is_of_job = [&](std::size_t c) {
      return c < taken.size() && space.choices[c].job == space.choices[first].job;
    };
    while (is_of_job(end)) ++end;
    const bool keeps = rng.uniform() < space.keeps;
    const std::size_t choice = first + rng.below(end - first);
    const std::size_t now = taken[choice];
    const std::size_t least = now - std::min(now, space.farthest);
    const std::size_t most =
        std::min(space.choices[choice].options.size() - 1, now + space.farthest);
    const std::size_t option = least + rng.below(most - least + 1);
    if (!keeps) taken[choice] = option;
  }
  return taken;
}

/// Goes from some levels where the effects say, and from there again, by what the twin says of it;
/// in turn with changes of the best levels, fewer after each failure. Returns the most valuable
/// levels of the way.
LevelSearch::Trial LevelSearch::climb(Space& space, Trial from) {
  std::vector<Taken> seen = {from.taken, best_.taken};
  Trial top;
  std::size_t changes = moves_.jobs();
  for (int in_vain = 0; in_vain < most_in_vain && left() >= draws_; ++in_vain) {
    if (in_vain % 2 == 1) {
      from = best_;
      changes = std::max<std::size_t>(changes / 2, 1);
    }
    Trial trial;
    trial.taken = space.effects.better(
        from.taken, from.gains, space.farthest, changes,
        [this](std::span<const double> gains) { return value_of(gains, bearable_); });
    if (std::ranges::find(seen, trial.taken) != seen.end()) continue;
    seen.push_back(trial.taken);
    trial.rungs = rungs_of(space, trial.taken);
    measure(trial, space);
    if (failed_) break;
    if (value_of(trial.gains, bearable_) > value_of(best_.gains, bearable_) + least_improvement) {
      in_vain = -1;
      changes = std::min(2 * changes, moves_.jobs());
      best_ = trial;
      found_.push_back(best_.rungs);
    }
    if (top.taken.empty() || value_of(trial.gains, bearable_) > value_of(top.gains, bearable_))
      top = trial;
    from = std::move(trial);
  }
  return top.taken.empty() ? from : top;
}

void LevelSearch::measure(Trial& trial) {
  Space nothing = space_of({}, 0, 0, 0);
  measure(trial, nothing);
}

/// By all draws; the effects of `space` learn from each.
void LevelSearch::measure(Trial& trial, Space& space) {
  std::vector<Twin::Question> questions;
  for (std::uint32_t i = 0; i < draws_; ++i) {
    questions.push_back({.levels = configuration_of(trial.rungs), .draw = first_draw_ + i});
  }
  predictions_ += draws_;
  const auto work = twin_.predict_all(questions, options_.share);
  trial.gains.assign(moves_.jobs(), 0);
  failed_ = failed_ || work.size() != draws_;
  if (failed_) return;
  std::vector<Gains> by_job(moves_.jobs());
  for (std::uint32_t i = 0; i < draws_; ++i) {
    const Gains gains = gains_of(work[i], first_draw_ + i);
    for (std::size_t j = 0; j < gains.size(); ++j) by_job[j].push_back(gains[j]);
    space.effects.add(trial.taken, gains, first_draw_ + i);
  }
  for (std::size_t j = 0; j < by_job.size(); ++j) {
    trial.gains[j] = mean_of(by_job[j]);
    noise_[j].add(by_job[j]);
  }
  const auto at_worst = [this](const Trial& of) {
    return value_of(of.gains, std::max(bearable_, bearable_at_worst));
  };
  if (at_worst(trial) > std::max(at_worst(last_resort_), worth_a_loss)) last_resort_ = trial;
  space.effects.fit();
}

void LevelSearch::Spread::add(std::span<const double> values) {
  const double mean = mean_of(values);
  for (const double value : values) squares += (value - mean) * (value - mean);
  degrees += static_cast<double>(values.size() - 1);
}

/// What a prediction with this draw gives more than on default.
LevelSearch::Gains LevelSearch::gains_of(std::span<const double> work, std::uint32_t draw) const {
  Gains gains;
  for (std::size_t j = 0; j < work.size(); ++j) {
    gains.push_back(gain(work[j], base_work_[draw][j]));
  }
  return gains;
}

/// Of gains that all draws predict: their mean, in which losses beyond `bearable`, which a reader
/// of results would notice, are nearly forbidden. Noise of windows would hide these; predictions
/// have less.
double LevelSearch::value_of(std::span<const double> gains, double bearable) const {
  double sum = 0;
  for (std::size_t j = 0; j < gains.size(); ++j) {
    const double error = std::sqrt(noise_[j].variance() / draws_);
    const double loss = std::min(bearable + errors_of_noise * error, most_bearable);
    sum += gains[j] < -loss ? -loss + price_ * (gains[j] + loss) : gains[j];
  }
  return sum / static_cast<double>(std::max<std::size_t>(gains.size(), 1));
}

}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "core/qos/level_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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
constexpr std::size_t any_option = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t predictions_of_job = 100;
constexpr std::size_t least_predictions = 1000;

/// The relative standard deviation of jobs' work between draws, of all jobs together.
double noise_of(std::span<const std::vector<double>> work_by_draw) {
  double squares = 0;
  std::size_t degrees = 0;
  for (std::size_t j = 0; j < work_by_draw.front().size(); ++j) {
    double sum = 0;
    for (const auto& work : work_by_draw) sum += work[j];
    const double mean = sum / static_cast<double>(work_by_draw.size());
    for (const auto& work : work_by_draw) squares += std::pow(work[j] / mean - 1, 2);
    degrees += work_by_draw.size() - 1;
  }
  return degrees == 0 ? 0 : std::sqrt(squares / static_cast<double>(degrees));
}

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
  draws_ = options_.draws;
  limit_ = budget / 4 * 3;
  begin_with_default();
  improve_groups();
  improve();
  price_ = price_at_last;
  draws_ = 2 * options_.draws;
  limit_ = budget;
  std::ranges::reverse(found_);
  auto starts = std::exchange(found_, {});
  begin_with_default();
  if (starts.empty()) return;
  begin_with(std::move(starts));
  improve();
}

/// The twin on default: what trials are compared with, and the slack of processes.
void LevelSearch::begin_with_default() {
  best_ = {.taken = {}, .rungs = moves_.middle(), .gains = Gains(moves_.jobs())};
  for (auto draw = static_cast<std::uint32_t>(base_work_.size()); draw < draws_; ++draw) {
    if (failed_) return;
    ++predictions_;
    const auto jobs = twin_.predict(configuration_of(best_.rungs), draw, options_.share);
    failed_ = jobs.size() != moves_.jobs();
    if (failed_) return;
    auto& work = base_work_.emplace_back();
    for (const JobWindow& job : jobs) work.push_back(std::max(job.progress_of_slowest(), 1.0));
    moves_.observe(jobs);
  }
  moves_.find_slack();
  noise_ = noise_of(base_work_);
  failed_ = failed_ || !ask_for_bounds();
}

bool LevelSearch::ask_for_bounds() {
  for (std::size_t j = bound_.size(); j < moves_.jobs(); ++j) {
    const auto work = twin_.predict_alone(j, 0, options_.share);
    if (!work) return false;
    bound_.push_back(*work / base_work_[0][j] - 1);
  }
  const double mean = std::accumulate(bound_.begin(), bound_.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(bound_.size(), 1));
  bearable_ = std::clamp(bearable_share * (mean - much), least_bearable, most_bearable);
  return true;
}

/// With the first of `starts` that helps.
void LevelSearch::begin_with(std::vector<Rungs> starts) {
  for (Rungs& start : starts) {
    if (left() == 0) return;
    Trial trial{.taken = {}, .rungs = std::move(start), .gains = {}};
    measure(trial);
    if (failed_ || value_of(trial.gains) <= 0) continue;
    found_.push_back(trial.rungs);
    best_ = std::move(trial);
    return;
  }
}

/// Rounds until the budget is used. The last one leaves some for levels that it measures.
void LevelSearch::improve() {
  const auto jobs = static_cast<std::uint32_t>(moves_.jobs());
  for (int round = 1; jobs > 0 && left() > 2 * draws_; ++round) {
    if (round % rounds_of_a_kind == 0) {
      improve_groups();
      continue;
    }
    best_.taken.assign(best_.rungs.begin(), best_.rungs.end());
    const std::uint32_t rounds = std::max(left() / (trials_of_job * jobs), 1U);
    const std::uint32_t part = left() / rounds;
    learn(alone_, best_.taken, part - std::min(part / 2, draws_));
    climb(alone_, best_);
  }
}

void LevelSearch::improve_groups() {
  Space groups = space_of(moves_.groups(best_.rungs), any_option, 0, doubt_of_groups);
  best_.taken.assign(groups.choices.size(), 0);
  const auto half = trials_of_job * static_cast<std::uint32_t>(moves_.jobs()) / 2;
  learn(groups, best_.taken, half);
  const Trial next = climb(groups, best_);
  groups.keeps = share_of_groups_as_before;
  learn(groups, next.taken, half);
  climb(groups, next);
}

/// Predicts so many trials that differ from `around`.
void LevelSearch::learn(Space& space, const Taken& around, std::uint32_t trials) {
  trials = std::min(trials, left());
  std::vector<Taken> taken;
  std::vector<Twin::Question> questions;
  Rng rng(predictions_);
  for (std::uint32_t t = 0; t < trials; ++t) {
    taken.push_back(draw_around(space, around, rng));
    questions.push_back(
        {.levels = configuration_of(rungs_of(space, taken.back())), .draw = t % draws_});
  }
  predictions_ += trials;
  const auto work = twin_.predict_all(questions, options_.share);
  failed_ = failed_ || work.size() != trials;
  if (failed_) return;
  for (std::uint32_t t = 0; t < trials; ++t) {
    space.effects.add(taken[t], gains_of(work[t], t % draws_));
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
/// in turn with fewer and fewer changes of the best levels. Returns the most valuable levels of the
/// way.
LevelSearch::Trial LevelSearch::climb(Space& space, Trial from) {
  std::vector<Taken> seen = {from.taken};
  Trial top;
  std::size_t changes = moves_.jobs();
  for (int in_vain = 0; in_vain < most_in_vain && left() > 0; ++in_vain) {
    if (in_vain % 2 == 1) {
      from = best_;
      changes = std::max<std::size_t>(changes / 2, 1);
    }
    Trial trial;
    trial.taken =
        space.effects.better(from.taken, from.gains, space.farthest, changes,
                             [this](std::span<const double> gains) { return value_of(gains); });
    if (std::ranges::find(seen, trial.taken) != seen.end()) continue;
    seen.push_back(trial.taken);
    trial.rungs = rungs_of(space, trial.taken);
    measure(trial, space);
    if (failed_) break;
    if (value_of(trial.gains) > value_of(best_.gains) + least_improvement) {
      in_vain = -1;
      best_ = trial;
      found_.push_back(best_.rungs);
    }
    if (top.taken.empty() || value_of(trial.gains) > value_of(top.gains)) top = trial;
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
  for (std::uint32_t draw = 0; draw < draws_; ++draw) {
    questions.push_back({.levels = configuration_of(trial.rungs), .draw = draw});
  }
  predictions_ += draws_;
  const auto work = twin_.predict_all(questions, options_.share);
  trial.gains.assign(moves_.jobs(), 0);
  failed_ = failed_ || work.size() != draws_;
  if (failed_) return;
  for (std::uint32_t draw = 0; draw < draws_; ++draw) {
    const Gains gains = gains_of(work[draw], draw);
    for (std::size_t j = 0; j < gains.size(); ++j) trial.gains[j] += gains[j] / draws_;
    space.effects.add(trial.taken, gains);
  }
  space.effects.fit();
}

/// What a prediction with this draw gives more than on default.
LevelSearch::Gains LevelSearch::gains_of(std::span<const double> work, std::uint32_t draw) const {
  Gains gains;
  for (std::size_t j = 0; j < work.size(); ++j) gains.push_back(work[j] / base_work_[draw][j] - 1);
  return gains;
}

/// Of gains that all draws predict: their mean, in which losses that a reader of results would
/// notice are nearly forbidden. Noise of windows would hide these; predictions have less.
double LevelSearch::value_of(std::span<const double> gains) const {
  const double loss =
      std::min(bearable_ + errors_of_noise * noise_ * std::sqrt(2.0 / draws_), most_bearable);
  double sum = 0;
  for (const double gain : gains) sum += gain < -loss ? -loss + price_ * (gain + loss) : gain;
  return sum / static_cast<double>(std::max<std::size_t>(gains.size(), 1));
}

}  // namespace weft::qos

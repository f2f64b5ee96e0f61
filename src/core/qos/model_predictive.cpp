// SPDX-License-Identifier: Apache-2.0
#include "core/qos/model_predictive.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::qos {
namespace {

/// Iterations of the slowest job in a prediction: fewer hide what levels change.
constexpr double enough_iterations = 60;
constexpr double least_share = 0.02;
constexpr std::uint32_t windows_of_a_look = 16;
constexpr double harm = -0.01;

}  // namespace

ModelPredictive::ModelPredictive(const ModelPredictiveOptions& options, Twin& twin)
    : options_(options), twin_(twin), moves_({}) {
  WEFT_CHECK(options.default_windows >= 1);
}

void ModelPredictive::on_jobs(std::span<const JobFacts> jobs) {
  moves_ = LevelMoves(jobs);
  now_ = configuration_of(moves_.middle());
  settled_ = false;
  windows_ = accepted_ = 0;
  default_work_.assign(jobs.size(), 0);
}

void ModelPredictive::on_window(std::span<const JobWindow> jobs) {
  WEFT_CHECK(jobs.size() == moves_.jobs(), "{} jobs, but {} were announced", jobs.size(),
             moves_.jobs());
  if (settled_) return watch(jobs);
  for (std::size_t j = 0; j < jobs.size(); ++j) default_work_[j] += jobs[j].progress_of_slowest();
  if (++windows_ < options_.default_windows) return;
  const FoundLevels found = find();
  now_ = configuration_of(found.rungs);
  accepted_ = found.found;
  settled_ = true;
  watched_.assign(jobs.size(), 0);
  watched_windows_ = 0;
}

/// What an earlier run kept, or else what a search finds now.
FoundLevels ModelPredictive::find() {
  const std::size_t number = searches_++;
  if (options_.kept == nullptr) return search();
  std::vector<FoundLevels>& kept = *options_.kept;
  if (number < kept.size() && fits(kept[number])) return kept[number];
  kept.resize(std::min(number, kept.size()));
  return search();
}

bool ModelPredictive::fits(const FoundLevels& levels) const {
  return levels.rungs.size() == moves_.processes() &&
         std::ranges::all_of(levels.rungs, [](std::uint8_t rung) { return rung <= top_rung; });
}

FoundLevels ModelPredictive::search() {
  const auto least = std::min_element(default_work_.begin(), default_work_.end());
  const double iterations = least == default_work_.end() ? 0 : *least / windows_;
  LevelSearch::Options options = options_.search;
  options.share = std::clamp(enough_iterations / std::max(iterations, 1.0), least_share, 1.0);
  LevelSearch search(options, moves_, twin_);
  search.run();
  const FoundLevels best = search.best();
  if (options_.kept != nullptr && !search.failed()) options_.kept->push_back(best);
  return best;
}

/// The levels stay, unless the jobs do worse with them than on default. Later a job may do less for
/// reasons of its own.
void ModelPredictive::watch(std::span<const JobWindow> jobs) {
  if (watched_windows_ == windows_of_a_look) return;
  for (std::size_t j = 0; j < jobs.size(); ++j) watched_[j] += jobs[j].progress_of_slowest();
  if (++watched_windows_ < windows_of_a_look) return;
  std::vector<double> gains;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    gains.push_back(gain(watched_[j] / watched_windows_, default_work_[j] / windows_));
  }
  if (mean_utility(gains) < harm) now_ = configuration_of(moves_.middle());
}

}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "qos/jobs_twin.hpp"

#include <algorithm>
#include <utility>

#include "qos/threads.hpp"

namespace weft::qos {
namespace {

/// Noise of predictions differs from that of the windows that they are about.
constexpr std::uint64_t seed_of_predictions = 1'000'000'000;
constexpr std::uint64_t seeds_of_draw = 1'000'000;

PicoDuration length_of(Duration period, double share) {
  return PicoDuration::from_seconds(period.to_seconds() * share);
}

}  // namespace

std::span<const JobWindow> JobsTwin::predict(const Configuration& levels, std::uint32_t draw,
                                             double share) {
  const PicoDuration length = length_of(options_.period, share);
  windows_.clear();
  waited_.clear();
  auto seen = simulate({.levels = levels, .draw = draw}, length);
  if (!take(seen)) return {};
  options_.on_predictions(1);
  work_ = *std::move(seen);
  for (const JobWork& job : work_) {
    auto& shares = waited_.emplace_back();
    for (const PicoDuration w : job.waited) {
      shares.push_back(w.to_seconds() / length.to_seconds());
    }
  }
  for (std::size_t j = 0; j < work_.size(); ++j) {
    windows_.push_back(
        {.iterations = work_[j].iterations, .waited = waited_[j], .progress = work_[j].progress});
  }
  return windows_;
}

/// Other placements of this process search on the other cores.
std::vector<std::vector<double>> JobsTwin::predict_all(std::span<const Question> questions,
                                                       double share) {
  const PicoDuration length = length_of(options_.period, share);
  std::vector<std::optional<Result<WindowWork>>> seen(questions.size());
  const std::uint32_t processes = options_.share.processes;
  const std::uint32_t searches = (options_.placements + processes - 1) / processes;
  run_at_once(questions.size(), std::max(options_.threads / searches, 1U),
              [&](std::size_t i) { seen[i] = simulate(questions[i], length); });
  options_.on_predictions(questions.size());
  std::vector<std::vector<double>> all;
  for (const auto& window : seen) {
    if (!take(*window)) return {};
    auto& work = all.emplace_back();
    for (const JobWork& job : **window) work.push_back(job.progress_of_slowest());
  }
  return all;
}

std::optional<double> JobsTwin::predict_alone(std::size_t job, std::uint32_t draw, double share) {
  const auto seen = run_window(options_.scenario, {placed(present_[job], draw)}, nullptr,
                               options_.algorithm_1.levels, length_of(options_.period, share));
  if (!take(seen)) return std::nullopt;
  return seen->front().progress_of_slowest();
}

PlacedJob JobsTwin::placed(const Presence& job, std::uint32_t draw) const {
  PlacedJob placed = job.placed;
  placed.noise_seed = seed_of_predictions + seeds_of_draw * draw + job.job + std::uint64_t{1};
  return placed;
}

Result<WindowWork> JobsTwin::simulate(const Question& question, PicoDuration length) const {
  std::vector<PlacedJob> jobs;
  for (const Presence& p : present_) jobs.push_back(placed(p, question.draw));
  return run_window(options_.scenario, jobs, &question.levels, options_.algorithm_1.levels, length);
}

bool JobsTwin::take(const Result<WindowWork>& seen) {
  if (!seen) state_ = seen.error();
  return seen.ok();
}

}  // namespace weft::qos

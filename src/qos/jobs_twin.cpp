// SPDX-License-Identifier: Apache-2.0
#include "qos/jobs_twin.hpp"

#include <algorithm>
#include <utility>

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
  std::vector<PlacedJob> jobs;
  for (const Presence& p : present_) jobs.push_back(placed(p, draw));
  const PicoDuration length = length_of(options_.period, share);
  windows_.clear();
  waited_.clear();
  if (!simulate(jobs, &levels, length)) return {};
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

std::optional<double> JobsTwin::predict_alone(std::size_t job, std::uint32_t draw, double share) {
  const PicoDuration length = length_of(options_.period, share);
  if (!simulate({placed(present_[job], draw)}, nullptr, length)) return std::nullopt;
  return *std::ranges::min_element(work_.front().progress);
}

PlacedJob JobsTwin::placed(const Presence& job, std::uint32_t draw) const {
  PlacedJob placed = job.placed;
  placed.noise_seed = seed_of_predictions + seeds_of_draw * draw + job.job + std::uint64_t{1};
  return placed;
}

bool JobsTwin::simulate(const std::vector<PlacedJob>& jobs, const Configuration* levels,
                        PicoDuration length) {
  auto seen = run_window(options_.scenario, jobs, levels, options_.algorithm_1.levels, length);
  if (seen) work_ = *std::move(seen);
  if (!seen) state_ = std::move(seen).error();
  return state_.ok();
}

}  // namespace weft::qos

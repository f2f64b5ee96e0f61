// SPDX-License-Identifier: Apache-2.0
#include "qos/placement.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::qos {

std::uint64_t most_processes(const std::vector<jobs::WorkloadJob>& jobs) {
  std::uint64_t most = 0;
  for (const jobs::WorkloadJob& at : jobs) {
    std::uint64_t then = 0;
    for (const jobs::WorkloadJob& job : jobs) then += job.is_in(at.arrives) ? job.pattern.ranks : 0;
    most = std::max(most, then);
  }
  return most;
}

Placement::Placement(const std::vector<jobs::WorkloadJob>& jobs, std::uint32_t hosts,
                     std::uint32_t variants, std::uint64_t seed)
    : jobs_(jobs), variants_(variants), rng_(seed), hosts_(jobs.size()) {
  for (const jobs::WorkloadJob& job : jobs) {
    programs_.push_back(job.is_trace() ? nullptr
                                       : std::move(sim::make_pattern(job.pattern)).value());
  }
  assign_hosts(hosts);
}

void Placement::assign_hosts(std::uint32_t hosts) {
  std::vector<std::uint32_t> free(hosts);
  std::iota(free.begin(), free.end(), 0U);
  for (std::uint32_t i = hosts; i > 1; --i) std::swap(free[i - 1], free[rng_.below(i)]);
  std::vector<std::size_t> order(jobs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return jobs_[a].arrives < jobs_[b].arrives;
  });
  std::vector<bool> left(jobs_.size(), false);
  for (const std::size_t j : order) {
    for (std::size_t other = 0; other < jobs_.size(); ++other) {
      if (left[other] || jobs_[other].leaves > jobs_[j].arrives) continue;
      left[other] = true;
      free.insert(free.begin(), hosts_[other].begin(), hosts_[other].end());
    }
    const auto end = free.begin() + jobs_[j].pattern.ranks;
    hosts_[j].assign(free.begin(), end);
    free.erase(free.begin(), end);
  }
}

std::vector<Presence> Placement::in_window(std::uint32_t window) const {
  std::vector<Presence> present;
  const Rng drawn = rng_.split(window);
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    if (!jobs_[j].is_in(window)) continue;
    const auto variant = static_cast<std::uint32_t>(drawn.split(j).below(variants_));
    present.push_back({.job = j,
                       .variant = variant,
                       .placed = {.job = &jobs_[j],
                                  .program = programs_[j].get(),
                                  .hosts = hosts_[j],
                                  .noise_seed = (j + 1) * 1'000ULL + variant,
                                  .first_iteration = jobs_[j].ages_per_window * window}});
  }
  return present;
}

}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "qos/window.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/run/stuck.hpp"
#include "sim/run/world.hpp"
#include "sim/workload/ranks.hpp"

namespace weft::qos {
namespace {

Result<JobWork> work_of(const jobs::WorkloadJob& of, const sim::Ranks& ranks) {
  if (!ranks.error().empty()) return Error{ErrorCode::corrupt, ranks.error()};
  if (ranks.stuck()) {
    return Error{ErrorCode::unavailable,
                 fmt::format("job {}: its ranks wait for messages that nobody sends", of.name)};
  }
  JobWork job;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    job.iterations.push_back(ranks.iterations(r));
    job.progress.push_back(ranks.progress(r));
    job.waited.push_back(ranks.waited(r));
  }
  return job;
}

}  // namespace

Result<WindowWork> run_window(const sim::Scenario& scenario, const std::vector<PlacedJob>& jobs,
                              const Configuration* configuration, std::uint32_t levels,
                              PicoDuration period, NetworkLoads* loads) {
  sim::Scenario own = scenario;
  own.network.levels.assign(levels, {});
  if (configuration != nullptr) {
    for (std::size_t i = 0; i < configuration->weight_of.size(); ++i) {
      own.network.levels[i].weight = configuration->weight_of[i];
    }
  }
  auto world = sim::World::make(own);
  if (!world) return std::move(world).error();
  std::vector<std::unique_ptr<trace::RepeatedFeed>> feeds;  // of those that are traces
  std::vector<std::unique_ptr<sim::Ranks>> running;
  std::size_t process = 0;
  for (const PlacedJob& job : jobs) {
    const sim::RankOptions options{.eager_bytes = job.job->eager_bytes,
                                   .header_bytes = own.fabric.header_bytes,
                                   .compute_noise = job.job->compute_noise,
                                   .first_iteration = job.first_iteration,
                                   .level = default_level,
                                   .seed = job.noise_seed};
    if (job.job->is_trace()) {
      feeds.push_back(std::make_unique<trace::RepeatedFeed>(
          job.job->traces, job.job->compute_factor, job.noise_seed));
      running.push_back(std::make_unique<sim::Ranks>(*feeds.back(), options, job.hosts,
                                                     (*world)->network(), (*world)->agents()));
    } else {
      running.push_back(std::make_unique<sim::Ranks>(*job.program, options, job.hosts,
                                                     (*world)->network(), (*world)->agents()));
    }
    for (std::uint32_t r = 0; r < job.hosts.size(); ++r, ++process) {
      if (configuration == nullptr) continue;
      const Level level = configuration->level_of[process];
      if (level != default_level) running.back()->set_level(r, level);
    }
  }
  (*world)->run_until(PicoInstant{} + period);
  if (loads != nullptr) *loads = link_loads((*world)->network(), period);
  for (const auto& feed : feeds) {
    if (const auto& good = feed->state(); !good) return good.error();
  }
  if ((*world)->engine().idle()) {
    if (auto moves = sim::check_standstill((*world)->network()); !moves) return moves.error();
  }
  WindowWork work;
  for (std::size_t i = 0; i < running.size(); ++i) {
    auto done = work_of(*jobs[i].job, *running[i]);
    if (!done) return std::move(done).error();
    work.push_back(std::move(done).value());
  }
  return work;
}

Error no_iteration(const jobs::WorkloadJob& job, PicoDuration window) {
  const char* shorter = job.is_trace() ? "a shorter trace" : "shorter messages";
  return {ErrorCode::invalid_argument,
          fmt::format(
              "job {}: no iteration ends within {} ms; use a longer period, less computation or {}",
              job.name, window.to_seconds() * 1e3, shorter)};
}

}  // namespace weft::qos

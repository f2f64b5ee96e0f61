// SPDX-License-Identifier: Apache-2.0
#include "qos/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/rng.hpp"
#include "qos/window.hpp"
#include "sim/topology/builders.hpp"

namespace weft::qos {
namespace {

double share(std::uint64_t work, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(work) / static_cast<double>(of) - 1;
}

/// Counts windows for all threads and hears whether to go on.
class Progress {
 public:
  Progress(const ExperimentProgress& tell, std::uint64_t all) : tell_(tell), all_(all) {}
  bool add(std::uint64_t windows) {
    const std::lock_guard lock(mutex_);
    done_ += windows;
    if (tell_ && !tell_(done_, all_)) stopped_ = true;
    return !stopped_;
  }

 private:
  const ExperimentProgress& tell_;
  std::uint64_t all_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  bool stopped_ = false;
};

/// One assignment of processes to nodes, from the first window to the last.
class Placement {
 public:
  Placement(const ExperimentOptions& options, const std::vector<WorkloadJob>& jobs,
            std::uint32_t hosts, std::uint32_t index)
      : options_(options), jobs_(jobs), index_(index), rng_(seed_of(options, index)) {
    std::vector<std::uint32_t> order(hosts);
    for (std::uint32_t i = 0; i < hosts; ++i) order[i] = i;
    for (std::uint32_t i = hosts; i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
    auto next = order.begin();
    for (const WorkloadJob& job : jobs) {
      programs_.push_back(std::move(sim::make_pattern(job.pattern)).value());
      placed_.push_back({.job = &job,
                         .program = programs_.back().get(),
                         .hosts = {next, next + job.pattern.ranks}});
      next += job.pattern.ranks;
      outcome_.push_back({.name = job.name,
                          .kind = std::string(sim::to_text(job.pattern.pattern)),
                          .placement = index});
    }
  }

  Result<void> run(Progress& progress) {
    Algorithm1 controller(options_.algorithm_1, seed_of(options_, index_));
    const bool controls = options_.controller != "none";
    std::vector<std::uint32_t> processes;
    for (const WorkloadJob& job : jobs_) processes.push_back(job.pattern.ranks);
    controller.on_jobs(processes);
    for (std::uint32_t i = 0; i < options_.iterations; ++i) {
      const auto variants = draw_variants();
      if (auto isolated = add_isolated(variants); !isolated) return isolated;
      const auto on_default = window(nullptr);
      if (!on_default) return on_default.error();
      const auto controlled = controls ? window(&controller.configuration()) : on_default;
      if (!controlled) return controlled.error();
      std::vector<JobWindow> seen;
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        outcome_[j].default_work += JobWindow{(*on_default)[j]}.work();
        seen.push_back({(*controlled)[j]});
        outcome_[j].controlled_work += seen.back().work();
      }
      controller.on_window(seen);
      if (!controller.is_settled()) settled_after_ = i + 1;
      if (!progress.add(1)) {
        return Error{ErrorCode::unavailable, "the experiment was ended before it was done"};
      }
    }
    return {};
  }
  const std::vector<JobOutcome>& outcome() const { return outcome_; }
  std::uint32_t settled_after() const { return settled_after_; }

 private:
  static std::uint64_t seed_of(const ExperimentOptions& options, std::uint32_t placement) {
    return options.scenario.seed * 1'000'003 + placement;
  }
  std::vector<std::uint32_t> draw_variants() {
    std::vector<std::uint32_t> variants;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      variants.push_back(static_cast<std::uint32_t>(rng_.below(options_.variants)));
      placed_[j].noise_seed = (j + 1) * 1'000 + variants.back();
    }
    return variants;
  }
  Result<WindowWork> window(const Configuration* configuration) const {
    return run_window(options_.scenario, placed_, configuration, options_.algorithm_1.levels,
                      to_pico(options_.period));
  }
  /// Alone on its nodes a job does the same whenever its variant is the same.
  Result<void> add_isolated(const std::vector<std::uint32_t>& variants) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const auto key = std::pair{j, variants[j]};
      auto known = isolated_.find(key);
      if (known == isolated_.end()) {
        const auto work = run_window(options_.scenario, {placed_[j]}, nullptr,
                                     options_.algorithm_1.levels, to_pico(options_.period));
        if (!work) return work.error();
        known = isolated_.emplace(key, JobWindow{work->front()}.work()).first;
      }
      outcome_[j].isolated_work += known->second;
    }
    return {};
  }

  const ExperimentOptions& options_;
  const std::vector<WorkloadJob>& jobs_;
  std::uint32_t index_;
  Rng rng_;
  std::vector<std::unique_ptr<sim::Program>> programs_;
  std::vector<PlacedJob> placed_;
  std::vector<JobOutcome> outcome_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> isolated_;  // (job, variant)
  std::uint32_t settled_after_ = 0;
};

Result<void> check(const ExperimentOptions& o, const std::vector<WorkloadJob>& jobs,
                   std::uint32_t hosts) {
  const auto refuse = [](std::string text) {
    return Error{ErrorCode::invalid_argument, std::move(text)};
  };
  if (o.controller != "none" && o.controller != "algorithm-1") {
    return refuse(
        fmt::format("no controller is called '{}': there are algorithm-1 and none", o.controller));
  }
  std::uint64_t processes = 0;
  for (const WorkloadJob& job : jobs) processes += job.pattern.ranks;
  if (processes > hosts) {
    return refuse(
        fmt::format("the jobs have {} processes and the network {} hosts: use a larger "
                    "topology or fewer processes",
                    processes, hosts));
  }
  if (o.period <= Duration{} || o.iterations == 0 || o.placements == 0 || o.variants == 0) {
    return refuse("period, iterations, placements and variants must be above 0");
  }
  return {};
}

}  // namespace

double JobOutcome::default_of_isolation() const {
  return share(default_work, isolated_work);
}
double JobOutcome::controlled_of_isolation() const {
  return share(controlled_work, isolated_work);
}
double JobOutcome::improvement() const {
  return share(controlled_work, default_work);
}

Result<ExperimentOutcome> run_experiment(const ExperimentOptions& options,
                                         const ExperimentProgress& tell) {
  const auto jobs = workloads_of(options.scenario);
  if (!jobs) return jobs.error();
  const auto topology = sim::make_topology(options.scenario.topology);
  if (!topology) return options.scenario.located("network.topology", topology.error());
  if (auto good = check(options, *jobs, topology->hosts()); !good) return good.error();

  std::vector<std::unique_ptr<Placement>> placements;
  for (std::uint32_t i = 0; i < options.placements; ++i) {
    placements.push_back(std::make_unique<Placement>(options, *jobs, topology->hosts(), i));
  }
  Progress progress(tell, std::uint64_t{options.placements} * options.iterations);
  std::vector<Result<void>> done(placements.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < placements.size(); i = next++) {
      done[i] = placements[i]->run(progress);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::min<std::size_t>(options.threads, placements.size()); ++t) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();

  ExperimentOutcome outcome;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    if (!done[i]) return done[i].error();
    const auto& of = placements[i]->outcome();
    outcome.jobs.insert(outcome.jobs.end(), of.begin(), of.end());
    outcome.iterations_to_best =
        std::max(outcome.iterations_to_best, placements[i]->settled_after());
  }
  return outcome;
}

}  // namespace weft::qos

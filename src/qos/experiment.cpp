// SPDX-License-Identifier: Apache-2.0
#include "qos/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "qos/calibration.hpp"
#include "qos/run_tracks.hpp"
#include "qos/threads.hpp"
#include "qos/track.hpp"
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
  bool add() {
    const std::lock_guard lock(mutex_);
    ++done_;
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

Result<void> check(const ExperimentOptions& o, const std::vector<jobs::WorkloadJob>& jobs,
                   std::uint32_t hosts) {
  const auto refuse = [](std::string text) {
    return Error{ErrorCode::invalid_argument, std::move(text)};
  };
  if (auto known = check_controller(o.controller, o.algorithm_1); !known) {
    return std::move(known).error();
  }
  if (const std::uint64_t processes = most_processes(jobs); processes > hosts) {
    return o.scenario.located(
        "jobs[0]",
        refuse(fmt::format("the jobs have {} processes at once and the network {} hosts: use a "
                           "larger topology, fewer copies or fewer ranks",
                           processes, hosts)));
  }
  if (o.period <= Duration{} || o.iterations == 0 || o.placements == 0 || o.variants == 0) {
    return refuse("period, iterations, placements and variants must be above 0");
  }
  const auto is_absent = [&](const auto& job) { return job.arrives >= o.iterations; };
  if (std::ranges::all_of(jobs, is_absent)) {
    const auto first = std::ranges::min_element(jobs, {}, &jobs::WorkloadJob::arrives);
    return refuse(
        fmt::format("no job arrives within {} iterations: use at least {}, or an earlier 'arrives'",
                    o.iterations, first->arrives + 1));
  }
  return {};
}

/// Runs tracks from their beginning, or from the end of the windows that the directory keeps.
Result<void> run_all(const ExperimentOptions& options, const std::vector<Track*>& tracks,
                     const std::function<bool()>& may_continue) {
  for (Track* track : tracks) {
    std::unique_ptr<Controller> controller;
    if (track->is_controlled()) {
      auto made = make_controller(
          options.controller, options.algorithm_1,
          options.scenario.seed * 1'000'003 + track->placement(), &track->twin(),
          {.search = {.predictions = options.predictions}, .kept = &track->searches()});
      if (!made) return std::move(made).error();
      controller = std::move(made).value();
    }
    if (auto begun = track->begin(std::move(controller)); !begun) return begun;
  }
  return run_tracks(tracks, options.threads, may_continue);
}

/// Runs this process's tracks; the first process then reads the others' windows from the directory.
Result<void> run_share(const ExperimentOptions& options,
                       const std::vector<std::unique_ptr<Track>>& tracks,
                       const ExperimentProgress& tell) {
  const ExperimentShare& share = options.share;
  std::vector<Track*> own, others;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    // Tracks on default and controlled ones, which may search, take turns: each process gets both.
    const bool is_own = (i / 2 + i % 2) % share.processes == share.rank;
    (is_own ? own : others).push_back(tracks[i].get());
  }
  Progress progress(tell, own.size() * std::uint64_t{options.iterations});
  auto ran = run_all(options, own, [&] { return progress.add(); });
  if (share.agree) ran = share.agree(ran);
  if (!ran || share.rank > 0) return ran;
  return run_all(options, others, [] { return true; });
}

std::uint64_t least(const std::vector<std::uint64_t>& iterations) {
  return JobWindow{.iterations = iterations}.work();
}

/// Adds up the work of both tracks of a placement.
void add_outcome(const std::vector<jobs::WorkloadJob>& jobs, const Placement& placement,
                 std::uint32_t index, const Track& on_default, const Track& controlled,
                 ExperimentOutcome& outcome) {
  std::vector<JobOutcome> rows;
  for (const jobs::WorkloadJob& job : jobs) {
    rows.push_back({.name = job.name, .kind = job.what(), .placement = index});
  }
  PlacementOutcome about{.levels = controlled.last_levels(),
                         .settled_after = controlled.settled_after(),
                         .improvements = {},
                         .accepted = controlled.accepted()};
  for (std::uint32_t w = 0; w < on_default.kept().windows.size(); ++w) {
    const KeptWindow& before = on_default.kept().windows[w];
    const KeptWindow& after = controlled.kept().windows[w];
    const auto present = placement.in_window(w);
    std::vector<std::uint64_t> works, defaults;
    for (std::size_t j = 0; j < present.size(); ++j) {
      JobOutcome& row = rows[present[j].job];
      works.push_back(least(after.iterations[j]));
      defaults.push_back(least(before.iterations[j]));
      row.isolated_work += before.isolated[j];
      row.default_work += defaults.back();
      row.controlled_work += works.back();
    }
    about.improvements.push_back(improvement(works, defaults));
  }
  outcome.iterations_to_best = std::max(outcome.iterations_to_best, about.settled_after);
  outcome.placements.push_back(std::move(about));
  std::erase_if(rows, [](const JobOutcome& row) { return row.isolated_work == 0; });
  outcome.jobs.insert(outcome.jobs.end(), rows.begin(), rows.end());
}

Result<void> calibrate_all(const ExperimentOptions& options, std::vector<jobs::WorkloadJob>& jobs,
                           std::uint32_t hosts) {
  // Computation is a program's, the same wherever it runs: found at one placement.
  const Placement anywhere(jobs, hosts, 1, options.scenario.seed);
  const PicoDuration window = to_pico(std::min(options.period, Duration::milliseconds(20)));
  std::vector<Result<void>> found(jobs.size());
  run_at_once(jobs.size(), options.threads, [&](std::size_t j) {
    found[j] =
        calibrate(jobs[j], options.scenario, anywhere.hosts_of(static_cast<std::uint32_t>(j)),
                  options.algorithm_1.levels, window);
  });
  const auto failed = std::find_if(found.begin(), found.end(), [](const auto& f) { return !f; });
  return failed == found.end() ? Result<void>() : *failed;
}

/// Simulates the last window once more and looks at the links.
Result<void> add_loads(const ExperimentOptions& options, const Placement& placement,
                       ExperimentOutcome& outcome) {
  std::vector<PlacedJob> placed;
  for (const Presence& p : placement.in_window(options.iterations - 1)) placed.push_back(p.placed);
  const Configuration& levels = outcome.placements[0].levels;
  NetworkLoads &before = outcome.on_default, &after = outcome.controlled;
  const bool changed = !levels.level_of.empty();
  Result<void> ran[2];
  run_at_once(changed ? 2 : 1, options.threads, [&](std::size_t i) {
    const auto window =
        run_window(options.scenario, placed, i == 0 ? nullptr : &levels, options.algorithm_1.levels,
                   to_pico(options.period), i == 0 ? &before : &after);
    if (!window) ran[i] = window.error();
  });
  for (Result<void>& window : ran) {
    if (!window) return std::move(window);
  }
  if (!changed) after = before;
  for (std::size_t place = 0; place < before.places.size(); ++place) {
    for (Level level = 0; level < options.algorithm_1.levels; ++level) {
      const double was = before.places[place].by_level[level];
      const double is = after.places[place].by_level[level];
      if (was == 0 && is == 0) continue;
      outcome.loads.push_back(
          {.links = before.places[place].links,
           .level = level,
           .weight = level < levels.weight_of.size() ? levels.weight_of[level] : std::uint8_t{1},
           .on_default = was,
           .controlled = is});
    }
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
  auto jobs = jobs::workloads_of(options.scenario);
  if (!jobs) return jobs.error();
  const auto topology = sim::make_topology(options.scenario.topology);
  if (!topology) return options.scenario.located("network.topology", topology.error());
  if (auto good = check(options, *jobs, topology->hosts()); !good) return good.error();
  if (auto good = calibrate_all(options, *jobs, topology->hosts()); !good) return good.error();

  // Without a controller the default level is all there is.
  std::vector<Track::Kind> kinds = {Track::Kind::on_default};
  if (options.controller != "none") kinds.push_back(Track::Kind::controlled);
  std::vector<std::unique_ptr<Placement>> placements;
  std::vector<std::unique_ptr<Track>> tracks;
  for (std::uint32_t i = 0; i < options.placements; ++i) {
    placements.push_back(std::make_unique<Placement>(*jobs, topology->hosts(), options.variants,
                                                     options.scenario.seed * 1'000'003 + i));
    for (const auto kind : kinds) {
      tracks.push_back(std::make_unique<Track>(options, *jobs, *placements.back(), i, kind));
    }
  }
  if (auto ran = run_share(options, tracks, tell); !ran) return std::move(ran).error();

  ExperimentOutcome outcome;
  if (options.share.rank > 0) return outcome;
  for (const jobs::WorkloadJob& job : *jobs) {
    if (job.arrives >= options.iterations) outcome.absent.push_back(job.name);
  }
  for (std::uint32_t i = 0; i < options.placements; ++i) {
    add_outcome(*jobs, *placements[i], i, *tracks[i * kinds.size()],
                *tracks[(i + 1) * kinds.size() - 1], outcome);
  }
  if (auto added = add_loads(options, *placements[0], outcome); !added) {
    return std::move(added).error();
  }
  return outcome;
}

}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/log.hpp"
#include "runtime/clock.hpp"
#include "sim/run/world.hpp"
#include "stream/simulated/job_faults.hpp"
#include "stream/simulated/job_in_world.hpp"
#include "stream/simulated/network_faults.hpp"

namespace weft::stream {
namespace {

constexpr Duration progress_every = Duration::milliseconds(500);
/// What is still in the network when its users are done is out of it within this.
constexpr PicoDuration longest_settling = PicoDuration::seconds(8);
/// Whoever interrupts does not wait longer than this takes to simulate.
constexpr PicoDuration longest_deafness = PicoDuration::microseconds(10);

/// Jobs and what happens to the network while they run.
class Simulation {
 public:
  Simulation(sim::World& world, std::span<const SimulatedJob> jobs,
             const SimulationOptions& options)
      : world_(world), jobs_(jobs), options_(options) {}

  /// `hosts` by job and node.
  Result<void> start(const std::vector<std::vector<std::uint32_t>>& hosts, JobFaults faults) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (options_.alone.value_or(j) != j) continue;
      numbers_.push_back(j);
      running_.push_back(std::make_unique<JobInWorld>(world_, static_cast<std::uint32_t>(j),
                                                      hosts[j], jobs_[j], options_.patience));
    }
    if (options_.network != nullptr && options_.network->trace != nullptr) {
      options_.network->trace->name_process(static_cast<std::uint32_t>(sim::TraceProcess::nodes),
                                            "nodes of jobs");
      for (auto& job : running_) job->trace_to(*options_.network->trace);
    }
    if (!faults.of_network.empty()) network_faults_.emplace(world_, std::move(faults.of_network));
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (auto up = running_[i]->begin(std::move(faults.of_jobs[numbers_[i]])); !up) {
        return named(i, up.error());
      }
    }
    reports_.resize(running_.size());
    return {};
  }

  /// Drives the simulation until every job is over.
  Result<std::vector<JobReport>> run() {
    PicoDuration slice = running_[0]->slice();
    for (const auto& job : running_) slice = std::min(slice, job->slice());
    Instant next_progress = monotonic_now() + progress_every;
    while (left_ = count_left(), left_ > 0) {
      advance(slice);
      for (std::size_t i = 0; i < running_.size(); ++i) {
        if (auto good = running_[i]->look_around(); !good) return named(i, good.error());
        if (!running_[i]->over() || reports_[i]) continue;
        auto report = running_[i]->report();
        if (!report) return named(i, report.error());
        reports_[i] = std::move(report).value();
        if (--left_ > 0) running_[i]->retire();
      }
      const auto& on_progress = running_[0]->local().on_progress;
      if (!on_progress || monotonic_now() < next_progress) continue;
      next_progress = monotonic_now() + progress_every;
      on_progress(running_[0]->progress());
    }
    std::vector<JobReport> reports;
    for (auto& report : reports_) {
      if (network_faults_) {
        const auto& played = network_faults_->played();
        report->faults.insert(report->faults.end(), played.begin(), played.end());
      }
      reports.push_back(*std::move(report));
    }
    return reports;
  }

  /// Lets what is under way arrive. Whether nothing is left then.
  bool settle() {
    for (const auto& traffic : world_.traffic()) traffic->stop();
    const PicoInstant end = now() + longest_settling;
    for (PicoDuration step = PicoDuration::microseconds(100);; step = step * 2) {
      if (world_.network().at_rest()) return true;
      if (now() >= end) return false;
      world_.engine().run_until(now() + step);
    }
  }
  /// Names of the network's users, by their numbers: traffic, then jobs.
  std::vector<std::string> users() const {
    std::vector<sim::TrafficPattern> patterns;
    for (const auto& traffic : world_.scenario().traffic) patterns.push_back(traffic.pattern);
    std::vector<std::string> names = names_of(patterns);
    for (const std::size_t j : numbers_) names.push_back(jobs_[j].name);
    return names;
  }
  std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    for (const auto& job : running_) {
      for (std::string& line : job->describe()) lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  PicoInstant now() const { return world_.engine().now(); }

  std::size_t count_left() const {
    return static_cast<std::size_t>(std::count(reports_.begin(), reports_.end(), std::nullopt));
  }

  /// On by so much, or until there is news.
  void advance(PicoDuration slice) {
    const PicoInstant end = now() + slice;
    const auto has_changed = [](const auto& job) { return job->has_changed(); };
    while (now() < end && std::none_of(running_.begin(), running_.end(), has_changed)) {
      world_.engine().run_until(std::min(end, now() + longest_deafness));
      if (interrupted_ || !options_.interrupted || !options_.interrupted()) continue;
      interrupted_ = true;
      spdlog::info("interrupted: the streams end; a second SIGINT kills");
      for (auto& job : running_) job->interrupt();
    }
  }

  /// With several jobs, whose error it is.
  Error named(std::size_t i, Error error) const {
    if (jobs_.size() > 1) {
      error.message = fmt::format("job {}: {}", jobs_[numbers_[i]].name, error.message);
    }
    return error;
  }

  sim::World& world_;
  std::span<const SimulatedJob> jobs_;
  const SimulationOptions& options_;
  std::vector<std::size_t> numbers_;  // of those that run
  std::vector<std::unique_ptr<JobInWorld>> running_;
  std::vector<std::optional<JobReport>> reports_;  // of those that are over
  std::optional<NetworkFaultPlayer> network_faults_;
  std::size_t left_ = 0;
  bool interrupted_ = false;
};

/// Hosts by job and node: each job on what those before it left.
Result<std::vector<std::vector<std::uint32_t>>> place_jobs(const sim::World& world,
                                                           std::span<const SimulatedJob> jobs) {
  const sim::Scenario& scenario = world.scenario();
  std::vector<std::uint32_t> free(world.topology().hosts());
  std::iota(free.begin(), free.end(), 0u);
  std::vector<std::vector<std::uint32_t>> all;
  for (const SimulatedJob& job : jobs) {
    const sim::PlacementOptions& placement = job.placement.value_or(scenario.placement);
    auto hosts =
        sim::place(placement, world.topology(), free, job.options.inputs + job.options.computes);
    if (!hosts) {
      const bool is_file = placement.kind == sim::PlacementKind::file;
      const std::string key = !is_file        ? "network.topology"
                              : job.placement ? job.key + ".placement"
                                              : "placement.kind";
      return scenario.located(key, hosts.error());
    }
    std::erase_if(free, [&](std::uint32_t host) {
      return std::find(hosts->begin(), hosts->end(), host) != hosts->end();
    });
    all.push_back(std::move(hosts).value());
  }
  return all;
}

}  // namespace

Result<std::vector<JobReport>> run_simulated_jobs(const sim::Scenario& scenario,
                                                  std::span<const SimulatedJob> jobs,
                                                  SimulationTrace* trace,
                                                  const SimulationOptions& options) {
  auto world = sim::World::make(scenario);
  if (!world) return std::move(world).error();
  auto hosts = place_jobs(**world, jobs);
  if (!hosts) return std::move(hosts).error();
  auto faults = parse_job_faults(**world, jobs, *hosts);
  if (!faults) return std::move(faults).error();
  auto& first = faults->of_jobs.front();
  first.insert(first.end(), options.faults.begin(), options.faults.end());
  std::optional<sim::Recorder> recorder;
  if (options.network != nullptr) {
    recorder.emplace((*world)->network(), std::string((*world)->router().name()),
                     options.network->trace);
  }
  Simulation all(**world, jobs, options);
  if (auto up = all.start(*hosts, std::move(faults).value()); !up) {
    return std::move(up).error();
  }
  auto reports = all.run();
  if (recorder) {
    sim::Engine& engine = (*world)->engine();
    recorder->finish(engine.now());
    options.network->topology = network_topology(*recorder);
    options.network->run = network_run(*recorder, engine.trace_hash(), all.users());
  }
  if (trace != nullptr) {
    std::vector<std::string> where;
    if (!reports) where = all.describe();
    const bool at_rest = options.settle && all.settle();
    *trace = {.trace_hash = (*world)->engine().trace_hash(),
              .events = (*world)->engine().events(),
              .packet_hops = (*world)->network().packet_hops(),
              .simulated = Duration((*world)->engine().now().ticks() / 1'000),
              .at_rest = at_rest,
              .nodes = std::move(where)};
  }
  return reports;
}

Result<JobReport> run_simulated_job(const sim::Scenario& scenario, const StreamOptions& options,
                                    const LocalOptions& local, const NodeFactory& factory,
                                    SimulationTrace* trace, const SimulationOptions& simulation) {
  SimulatedJob job{.options = options, .local = local, .factory = factory};
  if (scenario.has_single_job()) {
    job.name = scenario.jobs[0].name;
    job.start = scenario.jobs[0].start;
    job.placement = scenario.jobs[0].placement;
  }
  auto reports = run_simulated_jobs(scenario, {&job, 1}, trace, simulation);
  if (!reports) return std::move(reports).error();
  return std::move(reports->front());
}

}  // namespace weft::stream

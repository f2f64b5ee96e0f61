// SPDX-License-Identifier: Apache-2.0
#include "qos/live/live_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/quantile.hpp"
#include "fabric/tcp/tcp.hpp"
#include "qos/live/live_job.hpp"
#include "qos/live/window_of_marks.hpp"
#include "qos/placement.hpp"
#include "runtime/clock.hpp"
#include "sim/topology/builders.hpp"
#include "testbed/testbed.hpp"

namespace weft::qos {
namespace {

/// Until all processes of a phase have ended an iteration. Only a broken process takes as long.
constexpr Duration patience = Duration::seconds(30);
/// Windows until connections have found their rates.
constexpr std::uint32_t warm_up = 2;
constexpr std::uint32_t most_repeats = 9;
constexpr std::uint8_t weights_by_hand[] = {2, 4, 8};

Error refuse(std::string text) {
  return {ErrorCode::invalid_argument, std::move(text)};
}

class LiveRun {
 public:
  LiveRun(const ExperimentOptions& options, const LiveProgress& progress,
          std::vector<jobs::WorkloadJob> jobs, testbed::Testbed testbed)
      : options_(options),
        progress_(progress),
        jobs_(std::move(jobs)),
        testbed_(std::move(testbed)),
        placement_(jobs_, testbed_.hosts(), 1, options.scenario.seed),
        weights_(options.algorithm_1.levels, 1),
        windows_of_all_(static_cast<std::uint32_t>(
            jobs_.size() * (options.live_windows * (1 + std::size(weights_by_hand)) + warm_up) +
            warm_up + 2 * options.live_windows + options.iterations)) {}

  Result<LiveOutcome> run();

 private:
  Result<void> begin(const std::vector<std::uint32_t>& jobs);
  Result<std::vector<double>> measure(const std::string& phase, std::uint32_t windows);
  /// Iterations per second of the job's slowest process.
  double rate_of(const MarkedWindow& window) const {
    const auto work = static_cast<double>(JobWindow{.iterations = window.iterations}.work());
    return work / MarkedWindow::parts / options_.period.to_seconds();
  }
  Result<std::vector<MarkedWindow>> window(const std::string& phase);
  Result<void> listen_until(Instant until, const std::function<bool()>& enough);
  Result<void> apply(const Configuration& configuration);
  Result<void> run_alone();
  Result<void> control();
  Result<void> try_by_hand();
  void add_point(std::string levels, const std::vector<double>& rates);
  void find_best_trade_offs();
  Configuration raised(std::size_t job, std::uint8_t weight) const;
  Configuration on_default() const;

  const ExperimentOptions& options_;
  const LiveProgress& progress_;
  std::vector<jobs::WorkloadJob> jobs_;
  testbed::Testbed testbed_;
  Placement placement_;
  std::vector<std::unique_ptr<LiveJob>> running_;
  std::vector<std::uint8_t> weights_;  // by level, as the switches have them
  LiveOutcome outcome_;
  std::uint32_t windows_done_ = 0;
  std::uint32_t windows_of_all_;
};

Result<LiveOutcome> LiveRun::run() {
  for (const jobs::WorkloadJob& job : jobs_) {
    outcome_.jobs.push_back({.name = job.name, .kind = job.what()});
  }
  if (auto done = run_alone(); !done) return std::move(done).error();
  std::vector<std::uint32_t> all(jobs_.size());
  for (std::uint32_t j = 0; j < all.size(); ++j) all[j] = j;
  if (auto begun = begin(all); !begun) return std::move(begun).error();
  const auto rates = measure("default", options_.live_windows);
  if (!rates) return rates.error();
  for (std::size_t j = 0; j < jobs_.size(); ++j) outcome_.jobs[j].on_default = (*rates)[j];
  add_point("default", *rates);
  if (auto done = control(); !done) return std::move(done).error();
  if (auto done = try_by_hand(); !done) return std::move(done).error();
  find_best_trade_offs();
  return std::move(outcome_);
}

/// Other jobs end.
Result<void> LiveRun::begin(const std::vector<std::uint32_t>& jobs) {
  running_.clear();
  for (const std::uint32_t j : jobs) {
    running_.push_back(std::make_unique<LiveJob>(jobs_[j], placement_.hosts_of(j), testbed_));
    if (auto started = running_.back()->start(); !started) return started;
  }
  const auto all_under_way = [&] {
    return std::ranges::all_of(running_, [](const auto& job) { return job->is_under_way(); });
  };
  if (auto heard = listen_until(monotonic_now() + patience, all_under_way); !heard) return heard;
  if (!all_under_way()) {
    return Error{ErrorCode::timed_out,
                 fmt::format("no iteration of each process ended within {} s; use shorter ones",
                             patience.to_seconds())};
  }
  for (std::uint32_t i = 0; i < warm_up; ++i) {
    if (auto ran = window("starting"); !ran) return std::move(ran).error();
  }
  return {};
}

Result<void> LiveRun::listen_until(Instant until, const std::function<bool()>& enough) {
  for (Instant now = monotonic_now(); now < until && !enough(); now = monotonic_now()) {
    std::vector<pollfd> files;
    for (const auto& job : running_) job->add_to(files);
    const Duration left = until - now;
    const timespec timeout{.tv_sec = left.ticks() / 1'000'000'000,
                           .tv_nsec = left.ticks() % 1'000'000'000};
    (void)::ppoll(files.data(), files.size(), &timeout, nullptr);
    for (const auto& job : running_) {
      if (auto heard = job->hear(); !heard) return heard;
    }
  }
  return {};
}

Result<std::vector<MarkedWindow>> LiveRun::window(const std::string& phase) {
  if (!progress_(phase, windows_done_, windows_of_all_)) {
    return Error{ErrorCode::cancelled, "the experiment was ended"};
  }
  std::vector<std::vector<JobProgress>> before;
  for (const auto& job : running_) before.push_back(job->progress());
  const auto never = [] { return false; };
  if (auto heard = listen_until(monotonic_now() + options_.period, never); !heard) {
    return std::move(heard).error();
  }
  ++windows_done_;
  std::vector<MarkedWindow> windows;
  for (std::size_t j = 0; j < running_.size(); ++j) {
    windows.push_back(window_of_marks(before[j], running_[j]->progress(), options_.period));
  }
  return windows;
}

/// Iterations per second of each running job: medians over windows, since a window in which the
/// machine did something else says nothing of the jobs.
Result<std::vector<double>> LiveRun::measure(const std::string& phase, std::uint32_t windows) {
  std::vector<std::vector<double>> by_job(running_.size());
  for (std::uint32_t i = 0; i < windows; ++i) {
    const auto seen = window(phase);
    if (!seen) return seen.error();
    for (std::size_t j = 0; j < by_job.size(); ++j) by_job[j].push_back(rate_of((*seen)[j]));
  }
  std::vector<double> rates;
  for (std::vector<double>& of_job : by_job) rates.push_back(median_of(std::move(of_job)));
  return rates;
}

Result<void> LiveRun::run_alone() {
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    if (auto begun = begin({j}); !begun) return begun;
    // All else is in shares of it: on a busy machine, or of long iterations, it may take longer.
    auto rates = measure(jobs_[j].name + " alone", options_.live_windows);
    for (std::uint32_t i = 0; i < most_repeats && rates && rates->front() == 0; ++i) {
      rates = measure(jobs_[j].name + " alone", options_.live_windows);
    }
    if (!rates) return rates.error();
    if (rates->front() == 0) {
      return refuse(
          fmt::format("job {}: no iteration ended alone in {} windows of {} ms; use a "
                      "longer period or shorter iterations",
                      jobs_[j].name, options_.live_windows * (1 + most_repeats),
                      options_.period.to_seconds() * 1e3));
    }
    outcome_.jobs[j].alone = rates->front();
  }
  return {};
}

/// Levels of processes and, where they changed, weights in the switches.
Result<void> LiveRun::apply(const Configuration& configuration) {
  std::vector<std::uint8_t> weights(weights_.size(), 1);
  std::ranges::copy(configuration.weight_of, weights.begin());
  if (weights != weights_) {
    if (auto set = testbed_.set_level_weights(weights); !set) return set;
    weights_ = std::move(weights);
  }
  std::size_t process = 0;
  for (std::size_t j = 0; j < running_.size(); ++j) {
    ProcessLevels levels;
    for (std::uint32_t r = 0; r < jobs_[j].pattern.ranks; ++r, ++process) {
      const Level level = configuration.level_of[process];
      levels.push_back(level == default_level ? std::nullopt : std::optional(level));
    }
    running_[j]->set_levels(levels);
  }
  return {};
}

Result<void> LiveRun::control() {
  auto controller =
      make_controller(options_.controller, options_.algorithm_1, options_.scenario.seed);
  if (!controller) return controller.error();
  std::vector<JobFacts> facts;
  for (const jobs::WorkloadJob& job : jobs_) {
    facts.push_back({.processes = job.pattern.ranks, .message_bytes = job.pattern.message_bytes});
  }
  (*controller)->on_jobs(facts);
  for (std::uint32_t i = 0; i < options_.iterations; ++i) {
    if (auto applied = apply((*controller)->configuration()); !applied) return applied;
    if (!(*controller)->is_settled()) outcome_.iterations_to_best = i + 1;
    const auto seen = window((*controller)->is_settled() ? "settled" : "searching");
    if (!seen) return seen.error();
    std::vector<JobWindow> windows;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      windows.push_back({.iterations = (*seen)[j].iterations, .waited = (*seen)[j].waited});
      outcome_.jobs[j].controlled += rate_of((*seen)[j]) / options_.iterations;
    }
    (*controller)->on_window(windows);
  }
  outcome_.levels = (*controller)->configuration();
  if (auto applied = apply(outcome_.levels); !applied) return applied;
  const auto rates = measure("settled", options_.live_windows);
  if (!rates) return rates.error();
  for (std::size_t j = 0; j < jobs_.size(); ++j) outcome_.jobs[j].settled = (*rates)[j];
  add_point("controller", *rates);
  return {};
}

Configuration LiveRun::on_default() const {
  std::size_t processes = 0;
  for (const jobs::WorkloadJob& job : jobs_) processes += job.pattern.ranks;
  return {.level_of = std::vector<Level>(processes, default_level), .weight_of = {1}};
}

Configuration LiveRun::raised(std::size_t job, std::uint8_t weight) const {
  Configuration configuration = on_default();
  configuration.weight_of = {1, weight};
  auto process = configuration.level_of.begin();
  for (std::size_t j = 0; j < job; ++j) process += jobs_[j].pattern.ranks;
  std::fill_n(process, jobs_[job].pattern.ranks, Level{1});
  return configuration;
}

/// One job after the other on a level of its own.
Result<void> LiveRun::try_by_hand() {
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    for (const std::uint8_t weight : weights_by_hand) {
      if (auto applied = apply(raised(j, weight)); !applied) return applied;
      const std::string what = fmt::format("job {}: weight {}", jobs_[j].name, weight);
      const auto rates = measure(what, options_.live_windows);
      if (!rates) return rates.error();
      add_point(what, *rates);
    }
  }
  return {};
}

void LiveRun::add_point(std::string levels, const std::vector<double>& rates) {
  LivePoint point{.levels = std::move(levels), .of_alone = {}};
  for (std::size_t j = 0; j < rates.size(); ++j) {
    point.of_alone.push_back(rates[j] / outcome_.jobs[j].alone);
  }
  outcome_.points.push_back(std::move(point));
}

void LiveRun::find_best_trade_offs() {
  const auto beats = [](const LivePoint& a, const LivePoint& b) {
    bool better = false;
    for (std::size_t j = 0; j < a.of_alone.size(); ++j) {
      if (a.of_alone[j] < b.of_alone[j]) return false;
      better = better || a.of_alone[j] > b.of_alone[j];
    }
    return better;
  };
  for (LivePoint& point : outcome_.points) {
    point.is_best_trade_off = std::ranges::none_of(
        outcome_.points, [&](const LivePoint& other) { return beats(other, point); });
  }
}

/// Errors begin with the job's name.
Result<void> check_jobs(const std::vector<jobs::WorkloadJob>& jobs, std::uint32_t hosts) {
  for (const jobs::WorkloadJob& job : jobs) {
    const auto wrong = [&](const char* what) {
      return refuse(fmt::format("job {}: {}", job.name, what));
    };
    if (job.is_trace()) return wrong("a trace is not played live; write kind = \"workload\"");
    if (job.computation > 0) {
      return wrong("computation is found by simulating; live, write compute = TIME");
    }
    if (job.arrives != 0 || job.leaves != ~0U) {
      return wrong("live, jobs neither arrive nor leave; leave both keys out");
    }
  }
  const std::uint64_t processes = most_processes(jobs);
  if (processes <= hosts) return {};
  return refuse(fmt::format("{} processes are more than {} hosts; use fewer, or a larger topology",
                            processes, hosts));
}

bool has_two_halves(const sim::Topology& topology) {
  const std::uint32_t hosts = topology.hosts();
  for (std::uint32_t h = 0; h < hosts; ++h) {
    if (topology.edge(h) != topology.edge(h < hosts / 2 ? 0 : hosts - 1)) return false;
  }
  const sim::Vertex first = topology.edge(0), last = topology.edge(hosts - 1);
  return first != last && topology.ports(first) == hosts / 2 + 1 &&
         topology.ports(last) == hosts - hosts / 2 + 1;
}

}  // namespace

Result<testbed::TestbedOptions> testbed_for(const ExperimentOptions& options) {
  const sim::Scenario& scenario = options.scenario;
  const auto topology = sim::make_topology(scenario.topology);
  if (!topology) return scenario.located("network.topology", topology.error());
  testbed::TestbedOptions testbed;
  testbed.hosts = topology->hosts();
  testbed.link = scenario.network.host_link.rate;
  testbed.queue = ByteCount(scenario.network.buffer_bytes);
  if (topology->switches() > 1) {
    if (!has_two_halves(*topology)) {
      return scenario.located(
          "network.topology",
          refuse("--live needs a star, or two switches with half of the hosts each and one cable "
                 "between them; write one such as fat-tree:8,levels=2,radix=8,taper=4"));
    }
    testbed.uplink = scenario.network.local_link.rate;
  }
  const auto dscp = TcpOptions{}.dscp;
  for (std::uint32_t l = 0; l < options.algorithm_1.levels; ++l) {
    testbed.levels.push_back({.dscp = dscp[l], .weight = 1});
  }
  if (auto good = testbed::check(testbed); !good) {
    return scenario.located("network", refuse("live, " + good.error().message));
  }
  return testbed;
}

Result<LiveOutcome> run_live(const ExperimentOptions& options, const LiveProgress& progress) {
  auto jobs = jobs::workloads_of(options.scenario);
  if (!jobs) return jobs.error();
  const auto wanted = testbed_for(options);
  if (!wanted) return wanted.error();
  if (auto good = check_jobs(*jobs, wanted->hosts); !good) {
    return options.scenario.located("jobs", good.error());
  }
  auto testbed = testbed::Testbed::up(*wanted);
  if (!testbed) return std::move(testbed).error();
  LiveRun run(options, progress, std::move(jobs).value(), std::move(testbed).value());
  return run.run();
}

}  // namespace weft::qos

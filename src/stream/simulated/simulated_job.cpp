// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "runtime/clock.hpp"
#include "sim/run/stuck.hpp"
#include "sim/run/tally.hpp"
#include "sim/run/world.hpp"
#include "stream/simulated/job_faults.hpp"
#include "stream/simulated/job_in_world.hpp"
#include "stream/simulated/network_fault_player.hpp"
#include "stream/simulated/parts.hpp"

namespace weft::stream {
namespace {

constexpr Duration progress_every = Duration::milliseconds(500);
/// What is still in the network when its users are done is out of it within this.
constexpr PicoDuration longest_settling = PicoDuration::seconds(8);
/// Whoever interrupts does not wait longer than this takes to simulate.
constexpr PicoDuration longest_deafness = PicoDuration::microseconds(10);

/// Jobs and what happens to the network while they run. In a divided simulation each part has one,
/// and all of them make the same calls.
class Simulation {
 public:
  Simulation(sim::World& world, std::span<const SimulatedJob> jobs,
             const SimulationOptions& options, sim::Exchange& exchange)
      : world_(world), jobs_(jobs), options_(options), exchange_(exchange) {}

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
      running_[i]->begin(std::move(faults.of_jobs[numbers_[i]]));
    }
    reports_.resize(running_.size());
    return hear_of_each_other();
  }

  /// Drives the simulation until every job is over.
  Result<std::vector<JobReport>> run() {
    PicoDuration slice = running_[0]->slice();
    for (const auto& job : running_) slice = std::min(slice, job->slice());
    next_progress_ = monotonic_now() + progress_every;
    while (left_ = count_left(), left_ > 0) {
      if (auto good = advance(slice); !good) return std::move(good).error();
      for (std::size_t i = 0; i < running_.size(); ++i) {
        if (auto good = running_[i]->look_around(); !good) return named(i, good.error());
        if (!running_[i]->over() || reports_[i]) continue;
        auto nodes = gather_reports(exchange_, running_[i]->reports());
        auto remains = gather_reports(exchange_, running_[i]->remains());
        auto report = running_[i]->report(std::move(nodes), std::move(remains));
        if (!report) return named(i, report.error());
        reports_[i] = std::move(report).value();
        if (--left_ > 0) running_[i]->retire();
      }
      tell_progress();
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
      std::uint64_t busy = world_.network().at_rest() ? 0 : 1;
      exchange_.sum({&busy, 1});
      if (busy == 0) return true;
      if (now() >= end) return false;
      world_.run_until(now() + step);
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
  /// This part's nodes.
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

  /// On by so much, or until there is news. Errors: a node cannot go on.
  Result<void> advance(PicoDuration slice) {
    const PicoInstant end = now() + slice;
    while (now() < end) {
      world_.run_until(std::min(end, now() + longest_deafness));
      if (auto good = hear_of_each_other(); !good) return good;
      if (is_news_) break;
    }
    return {};
  }

  /// What parts know they know together from here on, and what the user wants.
  Result<void> hear_of_each_other() {
    const bool asks = exchange_.first_of_process();
    std::uint64_t interrupts = asks && options_.interrupted && options_.interrupted() ? 1 : 0;
    wants_progress_ = asks && exchange_.rank() == 0 && running_[0]->local().on_progress &&
                              monotonic_now() >= next_progress_
                          ? 1
                          : 0;
    std::vector<JobFacts> facts;
    for (const auto& job : running_) facts.push_back(job->facts());
    sim::Tally tally;
    tally.add(interrupts);
    tally.add(wants_progress_);
    for (JobFacts& of_job : facts) {
      for (std::uint64_t* fact : of_job.all()) tally.add(*fact);
    }
    tally.sum(exchange_);
    const auto any = [&](std::uint64_t JobFacts::*fact) {
      return std::any_of(facts.begin(), facts.end(), [&](const auto& f) { return f.*fact > 0; });
    };
    if (any(&JobFacts::failed)) return first_failure();
    for (std::size_t i = 0; i < running_.size(); ++i) running_[i]->learn(facts[i]);
    is_news_ = any(&JobFacts::changed);
    if (interrupts == 0 || interrupted_) return {};
    interrupted_ = true;
    spdlog::info("interrupted: the streams end; a second signal kills");
    for (auto& job : running_) job->interrupt();
    return {};
  }

  /// Of those of all parts, the first job's first one.
  Error first_failure() const {
    std::optional<PartFailure> own;
    for (std::size_t i = 0; i < running_.size() && !own; ++i) {
      auto failure = running_[i]->failure();
      if (failure) own = {i, std::move(*failure)};
    }
    PartFailure first = least_failure(exchange_, std::move(own));
    return named(first.job, std::move(first.failure.error));
  }

  void tell_progress() {
    if (wants_progress_ == 0) return;
    const StreamProgress sums = sum_progress(exchange_, running_[0]->progress_here());
    if (exchange_.rank() != 0) return;
    next_progress_ = monotonic_now() + progress_every;
    running_[0]->local().on_progress(running_[0]->progress(sums));
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
  sim::Exchange& exchange_;
  std::vector<std::size_t> numbers_;  // of those that run
  std::vector<std::unique_ptr<JobInWorld>> running_;
  std::vector<std::optional<JobReport>> reports_;  // of those that are over
  std::optional<NetworkFaultPlayer> network_faults_;
  std::size_t left_ = 0;
  Instant next_progress_ = Instant::never();
  std::uint64_t wants_progress_ = 0;  // the same in all parts
  bool is_news_ = false;
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

/// Links may come to have the rates that faults give them.
void expect_rates(sim::World& world, const JobFaults& faults) {
  const auto expect = [&world](const std::vector<testbed::Fault>& some) {
    for (const testbed::Fault& fault : some) {
      if (fault.kind == testbed::Fault::Kind::slow) world.expect_rates_up_to(fault.rate);
    }
  };
  expect(faults.of_network);
  for (const auto& of_job : faults.of_jobs) expect(of_job);
}

/// All of it: of a divided simulation every part has a share.
SimulationTrace trace_of(sim::World& world, sim::Exchange& exchange) {
  SimulationTrace trace{.trace_hash = world.engine().trace_hash(),
                        .events = world.engine().events(),
                        .packet_hops = world.network().packet_hops(),
                        .simulated = Duration(world.engine().now().ticks() / 1'000)};
  sim::Tally tally;
  for (std::uint64_t* figure : {&trace.trace_hash, &trace.events, &trace.packet_hops}) {
    tally.add(*figure);
  }
  tally.sum(exchange);
  return trace;
}

Result<std::unique_ptr<sim::World>> make_world(const sim::Scenario& scenario,
                                               sim::Exchange& exchange) {
  if (exchange.size() == 1) return sim::World::make(scenario);
  const PicoDuration talk_after = to_pico(scenario.fabric.acknowledgement);
  if (talk_after == PicoDuration{}) {
    return scenario.located("fabric.acknowledgement",
                            {ErrorCode::invalid_argument,
                             "fabric.acknowledgement = 0: nodes in different parts cannot hear of "
                             "each other in no time; write 100ns, or simulate in one part"});
  }
  return sim::World::make(scenario, &exchange, talk_after);
}

}  // namespace

Result<std::vector<JobReport>> run_simulated_jobs(const sim::Scenario& scenario,
                                                  std::span<const SimulatedJob> jobs,
                                                  SimulationTrace* trace,
                                                  const SimulationOptions& options) {
  sim::AloneExchange alone;
  sim::Exchange& exchange = options.exchange != nullptr ? *options.exchange : alone;
  WEFT_CHECK(options.network == nullptr || exchange.size() == 1);
  auto world = make_world(scenario, exchange);
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
  expect_rates(**world, *faults);
  Simulation all(**world, jobs, options, exchange);
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
    *trace = trace_of(**world, exchange);
    trace->at_rest = at_rest;
    trace->nodes = std::move(where);
  }
  if (reports) {
    if (auto good = sim::check_rest(**world, exchange); !good) return std::move(good).error();
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

// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_job.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "sim/faults/network_fault_player.hpp"
#include "sim/job/job_driver.hpp"
#include "sim/job/job_placer.hpp"
#include "sim/run/stuck.hpp"
#include "sim/run/tally.hpp"
#include "sim/run/world.hpp"
#include "stream/simulated/job_faults.hpp"
#include "stream/simulated/job_in_world.hpp"

namespace weft::stream {
namespace {

/// Packets in the network when its users are done leave it within this.
constexpr PicoDuration longest_settling = PicoDuration::seconds(8);

/// Hosts by job and node.
struct Places {
  std::vector<std::vector<std::uint32_t>> of_streams;
  std::vector<std::vector<std::uint32_t>> of_beside;
};

/// Jobs, and the faults of the network while they run. In a divided simulation each part has one,
/// and all of them make the same calls.
class Simulation {
 public:
  Simulation(sim::World& world, std::span<const SimulatedJob> jobs,
             const SimulationOptions& options, sim::Exchange& exchange)
      : world_(world), jobs_(jobs), options_(options), exchange_(exchange) {}

  Result<void> start(const Places& hosts, JobFaults faults) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (options_.alone.value_or(j) != j) continue;
      numbers_.push_back(j);
      running_.push_back(std::make_unique<JobInWorld>(world_, static_cast<std::uint32_t>(j),
                                                      hosts.of_streams[j], jobs_[j], options_));
    }
    for (const auto& job : running_) {
      if (options_.tap) job->tap_packets(options_.tapped_host, options_.tap);
    }
    if (auto good = make_beside(hosts); !good) return good;
    if (options_.network != nullptr && options_.network->trace != nullptr) {
      options_.network->trace->name_process(static_cast<std::uint32_t>(sim::TraceProcess::nodes),
                                            "nodes of jobs");
      for (auto& job : running_) job->trace_to(*options_.network->trace);
    }
    if (!faults.of_network.empty()) network_faults_.emplace(world_, std::move(faults.of_network));
    for (std::size_t i = 0; i < running_.size(); ++i) {
      running_[i]->begin(std::move(faults.of_jobs[numbers_[i]]));
    }
    return {};
  }

  /// Drives the simulation until every job is over.
  Result<std::vector<JobReport>> run() {
    sim::JobDriver driver(world_, exchange_, options_.wish);
    for (const auto& job : running_) driver.add(*job);
    for (const auto& job : beside_) driver.add(*job);
    if (auto good = driver.run(); !good) return std::move(good).error();
    cut_off_ = driver.cut_off();
    for (std::size_t i = 0; i < beside_.size(); ++i) options_.beside[i].on_concluded(*beside_[i]);
    std::vector<JobReport> reports;
    for (const auto& job : running_) {
      JobReport& report = reports.emplace_back(std::move(job->report()));
      if (!network_faults_) continue;
      const auto& played = network_faults_->played();
      report.faults.insert(report.faults.end(), played.begin(), played.end());
    }
    return reports;
  }

  bool cut_off() const { return cut_off_; }

  /// Lets messages under way arrive. Whether nothing is left then.
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
    for (const std::size_t j : numbers_) {
      names.push_back(jobs_[j].name);
      if (world_.scenario().fabric.reliable) names.push_back(jobs_[j].name + " packets");
    }
    for (const auto& job : beside_) names.push_back(job->name());
    return names;
  }
  std::optional<sim::RcCounters> rc_counters() const {
    std::optional<sim::RcCounters> all;
    for (const auto& job : running_) {
      const auto of_job = job->rc_counters();
      if (!of_job) continue;
      if (!all) all.emplace();
      *all += *of_job;
    }
    return all;
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

  Result<void> make_beside(const Places& hosts) {
    if (options_.alone) return {};
    for (std::size_t i = 0; i < options_.beside.size(); ++i) {
      auto job = options_.beside[i].make(world_, hosts.of_beside[i]);
      if (!job) return std::move(job).error();
      beside_.push_back(std::move(job).value());
    }
    return {};
  }

  sim::World& world_;
  std::span<const SimulatedJob> jobs_;
  const SimulationOptions& options_;
  sim::Exchange& exchange_;
  std::vector<std::size_t> numbers_;  // of those that run
  std::vector<std::unique_ptr<JobInWorld>> running_;
  std::vector<std::unique_ptr<sim::Job>> beside_;
  std::optional<sim::NetworkFaultPlayer> network_faults_;
  bool cut_off_ = false;
};

/// Hosts of all jobs, in the scenario's order.
Result<Places> place_all(const sim::World& world, std::span<const SimulatedJob> jobs,
                         std::span<const sim::JobBeside> beside) {
  sim::JobPlacer placer(world);
  Places places;
  std::size_t i = 0;
  for (std::size_t j = 0; j <= jobs.size(); ++j) {
    for (; i < beside.size() && beside[i].streams_before == j; ++i) {
      auto hosts = placer.next(beside[i].placement, beside[i].key, beside[i].hosts);
      if (!hosts) return std::move(hosts).error();
      places.of_beside.push_back(std::move(hosts).value());
    }
    if (j == jobs.size()) break;
    const StreamOptions& o = jobs[j].options;
    auto hosts = placer.next(jobs[j].placement, jobs[j].key, o.inputs + o.computes);
    if (!hosts) return std::move(hosts).error();
    places.of_streams.push_back(std::move(hosts).value());
  }
  return places;
}

/// Links may come to have the rates that faults give them.
void expect_rates(sim::World& world, const JobFaults& faults) {
  const auto expect = [&world](const std::vector<faults::Fault>& some) {
    for (const faults::Fault& fault : some) {
      if (fault.kind == faults::Fault::Kind::slow) world.expect_rates_up_to(fault.rate);
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
  if (scenario.fabric.reliable) {
    return scenario.located("fabric.transport",
                            {ErrorCode::invalid_argument,
                             "reliable connections are simulated in one part; leave out --parts "
                             "and mpirun, or the transport"});
  }
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

sim::EndWish end_wish(const StopSignals& signals) {
  if (!signals.came()) return sim::EndWish::none;
  constexpr Duration patience = Duration::seconds(2);
  return signals.since_first() < patience ? sim::EndWish::in_order : sim::EndWish::at_once;
}

Result<std::vector<JobReport>> run_simulated_jobs(const sim::Scenario& scenario,
                                                  std::span<const SimulatedJob> jobs,
                                                  SimulationTrace* trace,
                                                  const SimulationOptions& options) {
  sim::AloneExchange alone;
  sim::Exchange& exchange = options.exchange != nullptr ? *options.exchange : alone;
  WEFT_CHECK((options.network == nullptr && options.beside.empty()) || exchange.size() == 1);
  auto world = make_world(scenario, exchange);
  if (!world) return std::move(world).error();
  auto hosts = place_all(**world, jobs, options.beside);
  if (!hosts) return std::move(hosts).error();
  auto faults = parse_job_faults(**world, jobs, hosts->of_streams);
  if (!faults) return std::move(faults).error();
  if (!jobs.empty()) {
    auto& first = faults->of_jobs.front();
    first.insert(first.end(), options.faults.begin(), options.faults.end());
  }
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
    options.network->topology = sim::network_topology(*recorder);
    options.network->run = sim::network_run(*recorder, engine.trace_hash(), all.users());
  }
  if (trace != nullptr) {
    std::vector<std::string> where;
    if (!reports) where = all.describe();
    const bool at_rest = options.settle && all.settle();
    *trace = trace_of(**world, exchange);
    trace->at_rest = at_rest;
    trace->reliable = all.rc_counters();
    trace->nodes = std::move(where);
  }
  if (reports && !all.cut_off()) {
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

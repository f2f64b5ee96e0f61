// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_jobs.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/output_directory.hpp"
#include "cli/ranks_table.hpp"
#include "cli/scenario_job.hpp"
#include "cli/stream_output.hpp"
#include "cli/stream_run.hpp"
#include "cli/terminal.hpp"
#include "jobs/ranks_jobs.hpp"
#include "rdma/packet_file.hpp"
#include "report/published.hpp"
#include "report/run_record.hpp"
#include "runtime/clock.hpp"
#include "runtime/stop_signals.hpp"
#include "stream/local/killed_files.hpp"
#include "stream/node/admission.hpp"
#include "stream/node/limit_node.hpp"
#include "stream/node/node_report.hpp"
#include "stream/simulated/scenario_check.hpp"
#include "stream/simulated/simulated_job.hpp"

namespace weft::cli {

using Json = nlohmann::ordered_json;

Result<TrafficRun> run_traffic(const sim::Scenario& scenario, Team& team,
                               sim::NetworkRecording* network) {
  const StopSignals signals(StopSignals::Second::kills);
  const Instant start = monotonic_now();
  SimulationLine line;
  auto ran = team.run<sim::TrafficOutcome>([&](sim::Exchange& exchange) {
    return sim::run_traffic(scenario, exchange, network, line.progress(),
                            [&signals] { return signals.came(); });
  });
  if (!ran) return std::move(ran).error();
  const Simulation simulation{.trace_hash = ran->trace_hash,
                              .events = ran->events,
                              .packet_hops = ran->packet_hops,
                              .simulated = ran->simulated,
                              .wall_s = (monotonic_now() - start).to_seconds()};
  return TrafficRun{*std::move(ran), simulation};
}

Result<Simulation> simulation_of(const Result<TrafficRun>& run) {
  if (!run) return run.error();
  return run->simulation;
}

std::string to_json(const Simulation& s) {
  Json json{{"trace_hash", fmt::format("{:016x}", s.trace_hash)},
            {"events", s.events},
            {"packet_hops", s.packet_hops},
            {"simulated_s", s.simulated.to_seconds()},
            {"wall_s", s.wall_s}};
  if (s.reliable) {
    const net::rc::AdapterCounters& a = s.reliable->adapters;
    json["reliable_connections"] = {{"packets", s.reliable->packets},
                                    {"retransmissions", a.retransmissions},
                                    {"page_faults", s.reliable->page_faults},
                                    {"rnr_naks", a.rnr_naks},
                                    {"sequence_naks", a.sequence_naks},
                                    {"timeouts", a.timeouts},
                                    {"dammed", a.dammed},
                                    {"dummies", s.reliable->dummies},
                                    {"lost", s.reliable->lost}};
  }
  if (s.deterministic) json["deterministic"] = *s.deterministic;
  return json.dump();
}

void print_text(const Simulation& s, std::uint64_t seed) {
  print_labelled("simulated", {fmt::format("{} in {:.3g} s", to_text(s.simulated), s.wall_s),
                               fmt::format("{} events", s.events),
                               fmt::format("{} packet-hops", s.packet_hops)});
  print_labelled("trace", {fmt::format("{:016x}", s.trace_hash), fmt::format("seed {}", seed)});
  if (!s.reliable) return;
  const net::rc::AdapterCounters& a = s.reliable->adapters;
  print_labelled(
      "adapters",
      {fmt::format("{} packets", s.reliable->packets),
       fmt::format("{} sent again", a.retransmissions),
       fmt::format("{} page faults", s.reliable->page_faults),
       fmt::format("{} RNR NAKs", a.rnr_naks), fmt::format("{} sequence NAKs", a.sequence_naks),
       fmt::format("{} timeouts ({} of lost requests)", a.timeouts, a.dammed),
       fmt::format("{} dummies", s.reliable->dummies)});
}

std::optional<bool> compare(const Simulation& first, const Result<Simulation>& second, bool json,
                            Outcome& outcome) {
  if (!second && second.error().code == ErrorCode::cancelled) {
    report_error({ErrorCode::cancelled, "--check-determinism: " + second.error().message}, outcome);
    return std::nullopt;
  }
  if (!second) {
    report_error(second.error(), outcome);
    return false;
  }
  if (first.trace_hash == second->trace_hash && first.events == second->events) {
    if (!json) fmt::print("a second run did the same\n");
    return true;
  }
  report_error(make_error(ErrorCode::unavailable,
                          "two runs with one seed differ: traces {:016x} and {:016x}",
                          first.trace_hash, second->trace_hash),
               outcome);
  return false;
}

namespace {

/// As the tap's host numbers its queue pairs, from the first that applications have.
rdma::PacketEnds ends_of(const sim::RcTapped& tapped) {
  constexpr std::uint32_t first_queue_pair = 256;
  return {.from_host = tapped.leaves ? tapped.host : tapped.peer,
          .to_host = tapped.leaves ? tapped.peer : tapped.host,
          .queue_pair = first_queue_pair + (tapped.is_request ? tapped.responder_queue_pair
                                                              : tapped.requester_queue_pair),
          .flow = tapped.requester_queue_pair};
}

/// The jobs of a scenario from reading it to their reports. All processes of a team do the same,
/// and the first one reports.
class JobsCommand {
 public:
  JobsCommand(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
              Outcome& outcome)
      : scenario_(scenario),
        is_single_(scenario.has_single_job()),
        command_(command),
        team_(team),
        outcome_(outcome),
        // Parts of a divided simulation see their own links only.
        network_(team.parts() > 1 ? "" : command.out, command.trace, command.json) {}

  void execute() {
    if (auto good = understand(); !good) return report_error(good.error(), outcome_);
    auto prepared = team_.leads() ? prepare_outputs() : Result<void>();
    if (prepared = team_.agree(prepared); !prepared) {
      return report_error(prepared.error(), outcome_);
    }
    if (auto good = begin_capture(); !good) return report_error(good.error(), outcome_);
    const auto recording = network_.begin();
    if (!recording) return report_error(recording.error(), outcome_);
    auto first = run(*recording);
    if (!first) return report_error(placed(first.error()), outcome_);
    if (auto good = network_.end(); !good) return report_error(good.error(), outcome_);
    if (auto good = end_capture(); !good) return report_error(good.error(), outcome_);
    std::vector<report::RunRecord>& records = first->records;
    if (auto good = measure_limits(records); !good) return report_error(good.error(), outcome_);
    for (std::size_t j = 0; j < records.size(); ++j) {
      describe(settings_[j], records[j]);
      if (!is_single_) records[j].job = scenario_.jobs[j].name;
      if (!is_sound(records[j])) outcome_.code = ExitCode::failed;
    }
    if (records.empty()) tell_of_interrupt(first->whole);
    if (!command_.json) {
      if (!records.empty()) print_table(records);
      print_ranks_jobs(figures_of_workloads());
      print_text(first->whole, scenario_.seed);
    }
    if (command_.check_determinism && !is_interrupted()) {
      auto second = run();
      // One that was interrupted says nothing of the other.
      if (!is_interrupted()) {
        first->whole.deterministic =
            compare(first->whole, whole_of(std::move(second)), command_.json, outcome_);
      }
    }
    if (command_.json) fmt::print("{}\n", json_of(records, first->whole).dump());
    if (team_.leads()) write(records);
  }

  Result<JobRuns> run_once() {
    if (auto good = understand(); !good) return good.error();
    auto runs = run();
    if (!runs) return placed(runs.error());
    for (std::size_t j = 0; j < runs->records.size(); ++j) describe(settings_[j], runs->records[j]);
    return runs;
  }

 private:
  /// The same in all processes, whichever of them was.
  bool is_interrupted() {
    const std::function<Result<bool>(sim::Exchange&)> ask = [this](sim::Exchange& exchange) {
      std::uint64_t interrupts = exchange.first_of_process() && signals_.came() ? 1 : 0;
      exchange.sum({&interrupts, 1});
      return Result<bool>(interrupts > 0);
    };
    return *team_.run(ask);
  }

  /// Streams say it themselves.
  void tell_of_interrupt(const Simulation& whole) {
    const auto& runs = workloads_.runs();
    const bool all_ended =
        std::ranges::all_of(runs, [](const jobs::RanksRun& run) { return run.figures.ended; });
    if (all_ended || !is_interrupted()) return;
    print_error(
        fmt::format("a signal ended it after {} simulated; its figures are of the time until then",
                    to_text(whole.simulated)));
  }

  /// Of several streams each has a directory below --out.
  std::string directory_of(const std::string& job) const {
    return is_single_ ? command_.out : (std::filesystem::path(command_.out) / job).string();
  }

  /// Makes the directories, and refuses a trace or a capture that is another file of the command.
  Result<void> prepare_outputs() {
    CommandFiles others{.read = files_of(scenario_)};
    for (std::size_t j = 0; j < settings_.size(); ++j) {
      const stream::JobFiles files = stream::files_of(settings_[j].stream);
      others.read.insert(others.read.end(), files.read.begin(), files.read.end());
      others.written.insert(others.written.end(), files.written.begin(), files.written.end());
      if (command_.out.empty()) continue;
      others.directories.push_back(directory_of(scenario_.jobs[j].name));
      auto good = prepare_directory(others.directories.back(), command_.trace.replaces);
      if (!good) return good;
    }
    if (!command_.capture.empty()) {
      if (auto good = refuse_other_files("--capture", command_.capture, others); !good) return good;
    }
    return network_.check({}, std::move(others));
  }

  Result<void> begin_capture() {
    if (command_.capture.empty()) return {};
    if (!scenario_.fabric.reliable) {
      return invalid(
          "--capture {}: jobs of {} have no adapters; write transport = \"rc\" in its [fabric]",
          command_.capture, command_.scenario);
    }
    auto file = rdma::PacketFile::create(
        command_.capture, command_.trace.replaces ? Existing::replace : Existing::refuse);
    if (!file) return Error{file.error().code, "--capture: " + file.error().message};
    capture_.emplace(std::move(file).value());
    return {};
  }

  /// Ends the packet capture, which covers only the first run.
  Result<void> end_capture() {
    if (!capture_) return {};
    auto written = capture_->commit();
    capture_.reset();
    return written;
  }

  /// No exception leaves: it would end processes that wait for this one.
  Result<void> understand() {
    try {
      return read_jobs();
    } catch (const CLI::ParseError& error) {
      return Error{ErrorCode::invalid_argument, error.what()};
    }
  }

  Result<void> read_jobs() {
    if (auto good = workloads_.take_from(scenario_); !good) return good;
    if (!workloads_.empty() && team_.parts() > 1) {
      return invalid("--parts {}: workloads run in one part; leave it out", team_.parts());
    }
    is_single_ = is_single_ && workloads_.empty();
    for (const sim::ScenarioJob& job : scenario_.jobs) {
      StreamSettings settings = job_of(scenario_, job);
      settings.stream.sink_in_loop = settings.stream.source_in_loop = true;
      settings.json = command_.json;
      settings.no_limit = settings.no_limit || command_.no_limit;
      settings.local.executable_command = outcome_.command_line;
      settings.local.scenario_settings = command_.settings;
      if (auto good = check_options(settings.stream); !good) {
        return scenario_.located(job.key, good.error());
      }
      if (auto good = stream::check_files(settings.stream); !good) {
        return scenario_.located(job.key, good.error());
      }
      if (auto good = stream::admit(settings.stream, stream::NodesRun::in_one_process); !good) {
        return scenario_.located(job.key, good.error());
      }
      if (auto good = stream::check_in_scenario(scenario_, settings.stream, settings.local);
          !good) {
        return scenario_.located(job.key, good.error());
      }
      stream::begin_files(settings.stream);
      settings_.push_back(std::move(settings));
    }
    return {};
  }

  /// Errors of sources and sinks name the URI, but not its place in the file.
  Error placed(const Error& error) const {
    for (std::size_t j = 0; j < settings_.size(); ++j) {
      const StreamOptions& o = settings_[j].stream;
      const std::string& key = scenario_.jobs[j].key;
      const auto is_about = [&](const std::string& value) {
        return error.message.find(fmt::format("'{}'", value)) != std::string::npos;
      };
      if (is_about(o.source)) return scenario_.located(key + ".source", error);
      for (const std::string& sink : o.sinks) {
        if (is_about(sink)) return scenario_.located(key + ".sink", error);
      }
    }
    return error;
  }

  std::vector<stream::SimulatedJob> jobs() const {
    std::vector<stream::SimulatedJob> all;
    for (std::size_t j = 0; j < settings_.size(); ++j) {
      const sim::ScenarioJob& job = scenario_.jobs[j];
      all.push_back({.options = settings_[j].stream,
                     .local = settings_[j].local,
                     .factory = stream::stream_node_factory(settings_[j].stream),
                     .name = job.name,
                     .key = job.key,
                     .start = job.start,
                     .placement = job.placement});
    }
    return all;
  }

  stream::SimulationOptions watched(sim::Exchange& exchange) const {
    return {.faults = {},
            .exchange = &exchange,
            .wish = [this] { return stream::end_wish(signals_); },
            .alone = {}};
  }

  Result<JobRuns> run(sim::NetworkRecording* network = nullptr) {
    std::optional<ProgressLine> line;
    if (!settings_.empty()) {
      StreamSettings& shown = settings_.front();
      line.emplace(is_single_ ? shown.stream.schedule : scenario_.jobs.front().name, shown.stream);
      if (line->wanted() && !command_.json) {
        shown.local.on_progress = [&line](const StreamProgress& p) { line->show(p); };
      }
    }
    const Instant start = monotonic_now();
    auto runs = team_.run<JobRuns>(
        [this, network](sim::Exchange& exchange) { return run_part(exchange, network); });
    if (!settings_.empty()) settings_.front().local.on_progress = nullptr;
    for (const StreamSettings& settings : settings_) {
      auto good = stream::complete_killed_files(settings.stream);
      if (!good && runs) runs = std::move(good).error();
    }
    if (runs) runs->whole.wall_s = (monotonic_now() - start).to_seconds();
    return runs;
  }

  Result<JobRuns> run_part(sim::Exchange& exchange, sim::NetworkRecording* network) {
    stream::SimulationTrace trace;
    stream::SimulationOptions options = watched(exchange);
    options.network = network;
    const std::vector<sim::JobBeside> beside = workloads_.beside();
    options.beside = beside;
    if (capture_) {
      options.tap = [this](const sim::RcTapped& tapped) {
        capture_->write(tapped.at, tapped.packet, ends_of(tapped));
      };
    }
    options.tapped_host = command_.capture_host;
    const auto reports = stream::run_simulated_jobs(scenario_, jobs(), &trace, options);
    if (!reports) return reports.error();
    JobRuns runs{.records = {},
                 .whole = {.trace_hash = trace.trace_hash,
                           .events = trace.events,
                           .packet_hops = trace.packet_hops,
                           .simulated = trace.simulated,
                           .reliable = trace.reliable}};
    for (std::size_t j = 0; j < reports->size(); ++j) {
      runs.records.push_back(stream::merge_reports(settings_[j].stream, (*reports)[j]));
    }
    return runs;
  }

  static Result<Simulation> whole_of(Result<JobRuns> runs) {
    if (!runs) return std::move(runs).error();
    return runs->whole;
  }

  /// Each job's limit is the rate of its nodes in their places with no other job beside them, and
  /// without faults.
  Result<void> measure_limits(std::vector<report::RunRecord>& records) {
    const bool is_single = is_single_;
    places_ = workloads_.beside();
    if (is_single) report::attach_references(settings_[0].references, records);
    sim::Scenario quiet = scenario_;
    quiet.faults.clear();
    quiet.random_faults = {};
    for (std::size_t j = 0; j < records.size(); ++j) {
      const StreamSettings& of_job = settings_[j];
      if (of_job.no_limit || is_interrupted()) continue;
      stream::LimitConfig config{.roster = {of_job.stream.inputs, of_job.stream.computes},
                                 .message_bytes = contribution_bytes(records[j]),
                                 .pattern = stream::LimitPattern::partners,
                                 .duration = of_job.local.limit_duration};
      auto rate = is_single ? best_limit(quiet, config) : limit_of(quiet, j, config);
      if (!rate) return std::move(rate).error();
      const double limit = stream::limit_of(*rate, std::span(&records[j], 1));
      stream::set_limit(of_job.stream, limit, records[j]);
    }
    if (is_single) report::attach_references(settings_[0].references, records);
    return {};
  }

  /// Measures the only job's limit as `weft stream` does: the better one of two patterns.
  Result<double> best_limit(const sim::Scenario& quiet, stream::LimitConfig partners) {
    partners.duration = partners.duration / 2;
    stream::LimitConfig everybody = partners;
    everybody.pattern = stream::LimitPattern::everybody;
    everybody.mix = true;
    const auto all = limit_of(quiet, 0, everybody);
    if (!all) return all;
    const auto some = limit_of(quiet, 0, partners);
    if (!some) return some;
    return std::max(*all, *some);
  }

  Result<double> limit_of(const sim::Scenario& quiet, std::size_t j,
                          const stream::LimitConfig& config) {
    return team_.run<double>(
        [&](sim::Exchange& exchange) { return limit_in_part(quiet, j, config, exchange); });
  }

  Result<double> limit_in_part(const sim::Scenario& quiet, std::size_t j,
                               const stream::LimitConfig& config, sim::Exchange& exchange) const {
    StreamOptions bare = settings_[j].stream;
    bare.duration = Duration{};
    std::vector<stream::SimulatedJob> all = jobs();
    std::vector<stream::SimulatedJob> beside;
    for (stream::SimulatedJob& job : all) {
      if (beside.size() != j) {
        beside.push_back(std::move(job));
        continue;
      }
      beside.push_back({.options = bare,
                        .local = job.local,
                        .factory = stream::limit_node_factory(config),
                        .name = job.name,
                        .key = job.key,
                        .start = {},
                        .placement = job.placement});
    }
    stream::SimulationOptions options = watched(exchange);
    options.alone = j;
    options.beside = places_;
    const auto reports = stream::run_simulated_jobs(quiet, beside, nullptr, options);
    if (!reports) return reports.error();
    return stream::limit_row(config, reports->front().nodes).aggregate_bytes_per_s;
  }

  Json json_of(const std::vector<report::RunRecord>& records, const Simulation& whole) const {
    const auto summary = [](const report::RunRecord& record) {
      return Json::parse(report::to_json(record, report::RecordForm::summary));
    };
    Json json = Json::object();
    if (is_single_) {
      json = summary(records[0]);
    } else {
      json["jobs"] = Json::array();
      auto workload = workloads_.runs().begin();
      const auto add_workloads = [&](std::size_t streams) {
        for (; workload != workloads_.runs().end(); ++workload) {
          if (workloads_.streams_before(*workload) > streams) return;
          json["jobs"].push_back(Json::parse(workloads_.to_json(*workload)));
        }
      };
      add_workloads(0);
      for (std::size_t j = 0; j < records.size(); ++j) {
        const sim::ScenarioJob& job = scenario_.jobs[j];
        Json one{{"name", job.name},
                 {"kind", "stream"},
                 {"level", job.level},
                 {"start_s", job.start.to_seconds()}};
        one.update(summary(records[j]));
        json["jobs"].push_back(std::move(one));
        add_workloads(j + 1);
      }
    }
    json["simulation"] = Json::parse(to_json(whole));
    return json;
  }

  std::vector<std::string> figures_of_workloads() const {
    std::vector<std::string> all;
    for (const auto& run : workloads_.runs()) all.push_back(workloads_.to_json(run));
    return all;
  }

  void write(const std::vector<report::RunRecord>& records) {
    if (command_.out.empty()) return;
    if (auto written = network_.write(about_network()); !written) {
      return report_error(written.error(), outcome_);
    }
    if (is_single_) {
      if (write_run(command_.out, records[0])) {
        announce_report(command_.out, command_.json, outcome_);
      }
      return;
    }
    for (const report::RunRecord& record : records) {
      const std::string directory = directory_of(record.job);
      if (!write_run(directory, record)) return;
      announce_report(directory, true, outcome_);
    }
    forget_record(command_.out, "run.json", command_.trace.replaces);
    if (records.empty()) {
      forget_record(command_.out, "compare.json", command_.trace.replaces);
      return announce_report(command_.out, command_.json, outcome_);
    }
    if (auto written = report::write_comparison(command_.out, records); !written) {
      return report_error({ErrorCode::io, "--out: " + written.error().message}, outcome_);
    }
    announce_report(command_.out, command_.json, outcome_);
  }

  report::NetworkRecord about_network() const {
    report::NetworkRecord about{.command = outcome_.command_line, .seed = scenario_.seed};
    if (is_single_) {
      about.parameters = parameters_of(settings_[0]);
      return about;
    }
    for (const auto& entry : scenario_.entries) {
      if (!entry.value.empty()) about.parameters.emplace_back(entry.key, entry.value);
    }
    return about;
  }

  bool write_run(const std::string& directory, const report::RunRecord& record) {
    forget_record(directory, "compare.json", command_.trace.replaces);
    auto written = report::write_run(directory, record);
    if (!written) report_error({ErrorCode::io, "--out: " + written.error().message}, outcome_);
    return written.ok();
  }

  sim::Scenario scenario_;  // its streams, once `workloads_` has taken the others
  jobs::RanksJobs workloads_;
  std::vector<sim::JobBeside> places_;  // of workloads that do not run
  bool is_single_;
  const SimulateCommand& command_;
  Team& team_;
  Outcome& outcome_;
  StopSignals signals_{StopSignals::Second::kills};
  std::vector<StreamSettings> settings_;  // by job
  std::optional<rdma::PacketFile> capture_;
  NetworkOutput network_;
};

}  // namespace

Result<JobRuns> run_jobs(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                         Outcome& outcome) {
  return JobsCommand(scenario, command, team, outcome).run_once();
}

void simulate_jobs(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                   Outcome& outcome) {
  run_stoppable(outcome, [&] { JobsCommand(scenario, command, team, outcome).execute(); });
}

}  // namespace weft::cli

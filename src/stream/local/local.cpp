// SPDX-License-Identifier: Apache-2.0
#include "stream/local/local.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"
#include "runtime/clock.hpp"
#include "runtime/cores.hpp"
#include "runtime/stop_signals.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "stream/local/job_metrics.hpp"
#include "stream/local/killed_files.hpp"
#include "stream/local/life_histories.hpp"
#include "stream/local/local_node.hpp"
#include "stream/node/admission.hpp"
#include "stream/node/job_progress.hpp"
#include "stream/node/limit_node.hpp"
#include "stream/node/ring_sizes.hpp"
#include "stream/simulated/scenario_check.hpp"
#include "stream/simulated/simulated_job.hpp"
#include "stream/simulated/testbed_twin.hpp"

namespace weft::stream {
namespace {

Result<std::optional<testbed::Testbed>> make_testbed(const StreamOptions& options,
                                                     const LocalOptions& local) {
  if (!local.testbed) return std::optional<testbed::Testbed>();
  if (options.fabric == "shm") {
    return Error{ErrorCode::invalid_argument,
                 "--fabric shm: the hosts of a testbed share no memory; use --fabric tcp"};
  }
  testbed::TestbedOptions bed;
  bed.hosts = options.inputs + options.computes;
  bed.link = local.testbed_link;
  bed.queue = local.testbed_queue;
  auto up = testbed::Testbed::up(bed);
  if (!up) return std::move(up).error();
  return std::optional<testbed::Testbed>(std::move(up).value());
}

/// Checks whether the job will have what the fault happens to.
Result<void> admit(const faults::Fault& fault, const StreamOptions& options,
                   const LocalOptions& local) {
  using Kind = faults::Fault::Kind;
  const bool of_cables =
      fault.kind == Kind::link_down || fault.kind == Kind::partition || fault.kind == Kind::loss;
  if (of_cables && !local.testbed) {
    return Error{ErrorCode::invalid_argument, "only a testbed has cables: add --testbed RATE"};
  }
  if (fault.kind == Kind::slow && !local.testbed && !options.link) {
    return Error{ErrorCode::invalid_argument,
                 "only links have a rate: add --link RATE or --testbed RATE"};
  }
  return {};
}

Result<std::vector<faults::Fault>> parse_faults(const StreamOptions& options,
                                                const LocalOptions& local) {
  std::vector<faults::Fault> faults;
  for (const std::string& text : local.faults) {
    auto fault = faults::parse_fault(text, options.inputs + options.computes);
    if (!fault) return std::move(fault).error();
    if (auto admitted = admit(*fault, options, local); !admitted) {
      return Error{admitted.error().code,
                   fmt::format("--fault '{}': {}", text, admitted.error().message)};
    }
    faults.push_back(std::move(fault).value());
  }
  return faults;
}

/// For a job that is interrupted while its nodes start.
constexpr Duration to_begin = Duration::seconds(1);
/// For the nodes of a job that is interrupted to agree on the stream's end. It takes a few round
/// trips and the time for what is under way, which is long on links with absurd latencies only.
constexpr Duration to_agree = Duration::seconds(5);

/// Ends a job's stream when its time is over or somebody wishes it.
class Ending {
 public:
  Ending(LocalJob& job, const StopSignals& signals) : job_(job), signals_(signals) {}

  /// Called often. `over`: the stream has lasted long enough; `flows`: it has begun. The error is
  /// that the job ends at once.
  Result<void> look(Instant now, bool over, bool flows) {
    if (!stopping_ && (over || signals_.came())) {
      stopping_ = true;
      job_.stop();
      if (!over) spdlog::info("interrupted: the stream ends; a second signal kills");
    }
    if (!signals_.came()) return {};
    if (!std::exchange(hurried_, true)) job_.hurry();
    // Nodes that wait for the writer of a pipe hear nothing. A run that has not begun needs no end.
    const bool stuck = !flows && signals_.since_first() > to_begin;
    if (signals_.count() > 1 || stuck) return Error{ErrorCode::cancelled, "interrupted"};
    if (cut_off_ || signals_.since_first() <= to_agree || job_.waits_for_sink(now)) return {};
    cut_off_ = true;
    spdlog::warn(
        "the nodes did not agree on the stream's end within {}: each ends with what its sink has "
        "got",
        to_text(to_agree));
    job_.cut_off();
    return {};
  }

 private:
  LocalJob& job_;
  const StopSignals& signals_;
  bool stopping_ = false;
  bool hurried_ = false;
  bool cut_off_ = false;
};

/// Drives a job until all its nodes have reported.
Result<JobReport> drive(LocalJob& job, const StreamOptions& options, const LocalOptions& local,
                        std::uint32_t nodes) {
  const StopSignals signals;
  if (auto started = job.start(); !started) return std::move(started).error();
  JobMetrics metrics;
  if (auto open = metrics.open(local.metrics); !open) {
    // A port that is taken is the system's refusal, not a wrong option.
    const ErrorCode code = open.error().code;
    return Error{code == ErrorCode::unavailable ? ErrorCode::io : code, open.error().message};
  }
  Instant start = monotonic_now();
  const Instant begun = start;
  bool flows = false;
  const Duration progress_every = Duration::milliseconds(500);
  Instant next_progress = start + progress_every;
  JobProgress progress(nodes, start);
  LifeHistories histories({options.inputs, options.computes}, progress_every);
  Ending ending(job, signals);
  while (!job.all_reported()) {
    const Instant now =
        job.step(next_progress, [&](NodeId node, Incarnation life, const std::string& text) {
          const auto p = decode_progress(text);
          if (!p) return;
          progress.set(node, life, *p);
          histories.hear(node, *p, monotonic_now());
        });
    metrics.serve(now);
    if (job.failure()) return *job.failure();
    if (!flows) {
      start = now;  // starting up does not count
      flows = job.started();
      if (!flows && now - begun - job.stood_still() > options.start_timeout * 2) {
        return make_error(ErrorCode::timed_out,
                          "the job did not start within {}: see --start-timeout and --log info",
                          to_text(options.start_timeout * 2));
      }
    }
    job.give_up_on_silent_nodes(now, std::max(options.peer_timeout, Duration::seconds(5)));
    const char* lost = !job.any_lives(0, options.inputs)       ? "input"
                       : !job.any_lives(options.inputs, nodes) ? "compute"
                                                               : nullptr;
    if (lost != nullptr && !job.all_reported()) {
      return make_error(ErrorCode::unavailable, "all {} nodes of the job are lost", lost);
    }
    const bool over = options.duration != Duration{} && now - start >= options.duration;
    if (auto goes_on = ending.look(now, over, flows); !goes_on) return std::move(goes_on).error();
    if (now < next_progress) continue;
    next_progress = now + progress_every;
    const StreamProgress total = progress.total(now);
    metrics.set(total);
    if (local.on_progress) local.on_progress(total);
  }
  if (job.failure()) return *job.failure();
  // A signal that comes now ends nothing that belongs to the run.
  const bool is_interrupted = signals.came();
  JobReport report{
      .nodes = job.finish(), .remains = {}, .faults = {}, .interrupted = is_interrupted};
  if (report.nodes.empty()) {
    return Error{ErrorCode::unavailable, "all nodes of the job are lost"};
  }
  report.faults = job.faults_played();
  report.remains = histories.remains(report.nodes, goodput_bucket(options));
  return report;
}

/// The faults to carry out: none, or those of the options.
enum class Mishaps : bool { none, as_said };

Result<JobReport> run_processes(const StreamOptions& options, const LocalOptions& local,
                                const NodeFactory& factory, Mishaps mishaps,
                                sim::NetworkRecording*) {
  auto faults = parse_faults(options, local);
  if (!faults) return std::move(faults).error();
  if (mishaps == Mishaps::none) faults->clear();
  auto bed = make_testbed(options, local);
  if (!bed) return std::move(bed).error();
  const std::uint32_t nodes = options.inputs + options.computes;
  if (auto prepared = prepare_fabric(fabric_choice(options)); !prepared)
    return std::move(prepared).error();
  const JobSecret secret = make_job_secret();
  JobOptions job_options;
  job_options.nodes = nodes;
  job_options.restart = local.restart;
  job_options.faults = std::move(faults).value();
  job_options.testbed = bed->has_value() ? &**bed : nullptr;
  LocalJob job(std::move(job_options), [&](NodePlace place) {
    return run_local_node(options, secret, factory, nodes, local.log_level, std::move(place));
  });
  return drive(job, options, local, nodes);
}

/// Whether nodes decide the pace that take turns on this machine's cores.
bool do_turns_decide(const StreamOptions& options, const LocalOptions& local) {
  return !options.link && !local.testbed && options.inputs + options.computes > allowed_cores();
}

constexpr std::string_view simulated = "sim:";

Result<JobReport> run_simulation(const StreamOptions& options, const LocalOptions& local,
                                 const NodeFactory& factory, Mishaps mishaps,
                                 sim::NetworkRecording* network) {
  auto scenario =
      sim::read_fabric_scenario(options.fabric.substr(simulated.size()), local.scenario_settings);
  if (!scenario) {
    return Error{scenario.error().code, fmt::format("--fabric: {}", scenario.error().message)};
  }
  scenario->seed = options.seed;
  if (auto good = check_in_scenario(*scenario, options, local); !good)
    return std::move(good).error();
  if (!scenario->jobs.empty() && !scenario->has_single_job()) {
    return scenario->located(scenario->jobs.back().key,
                             {ErrorCode::invalid_argument,
                              "this scenario has jobs of its own; run it with weft simulate"});
  }
  const StopSignals signals(StopSignals::Second::kills);
  const SimulationOptions watched{.faults = {},
                                  .wish = [&signals] { return end_wish(signals); },
                                  .network = network,
                                  .alone = {}};
  if (mishaps == Mishaps::as_said) {
    return run_simulated_job(*scenario, options, local, factory, nullptr, watched);
  }
  LocalOptions quiet = local;
  quiet.faults.clear();
  scenario->faults.clear();
  scenario->random_faults = {};
  return run_simulated_job(*scenario, options, quiet, factory, nullptr, watched);
}

/// Runs the nodes of a job.
struct JobRunner {
  std::string_view fabric;  ///< its beginning
  NodesRun nodes;
  bool in_loop;  ///< sources and sinks: threads of their own would not live in simulated time
  bool touches_buffers;
  Result<JobReport> (*run)(const StreamOptions&, const LocalOptions&, const NodeFactory&, Mishaps,
                           sim::NetworkRecording*);
};
constexpr std::array job_runners{
    JobRunner{.fabric = simulated,
              .nodes = NodesRun::in_one_process,
              .in_loop = true,
              .touches_buffers = false,
              .run = run_simulation},
    JobRunner{.fabric = "",
              .nodes = NodesRun::in_processes,
              .in_loop = false,
              .touches_buffers = true,
              .run = run_processes},
};

const JobRunner& runner_of(const StreamOptions& options) {
  return *std::find_if(job_runners.begin(), job_runners.end(), [&](const JobRunner& runner) {
    return options.fabric.starts_with(runner.fabric);
  });
}

Result<report::LimitRow> run_pattern(const StreamOptions& options, const LocalOptions& local,
                                     const LimitConfig& config) {
  auto reports =
      runner_of(options).run(options, local, limit_node_factory(config), Mishaps::none, nullptr);
  if (!reports) return std::move(reports).error();
  // Half a measurement is none.
  if (reports->interrupted) return Error{ErrorCode::cancelled, "interrupted"};
  return limit_row(config, reports->nodes);
}

}  // namespace

Result<report::LimitRow> run_limit(const StreamOptions& options, const LocalOptions& local,
                                   std::size_t message_bytes, bool mix) {
  StreamOptions bare = options;
  bare.duration = Duration{};
  // Its nodes have no rings.
  StreamOptions small = options;
  small.buffer = ByteCount(std::max<std::size_t>(message_bytes, 1));
  small.descriptors = 1;
  small.overlap_microslices = 0;
  small.microslices_per_timeslice = 1;
  small.one_ring = true;
  if (auto good = check_nodes(small); !good) return std::move(good).error();
  if (auto good = admit(small, runner_of(options).nodes); !good) {
    return std::move(good).error();
  }
  LocalOptions quiet = local;
  quiet.on_progress = nullptr;
  LimitConfig config{.roster = {options.inputs, options.computes},
                     .message_bytes = message_bytes,
                     .mix = mix,
                     .duration = local.limit_duration / 2};
  auto everybody = run_pattern(bare, quiet, config);
  if (!everybody) return everybody;
  config.pattern = LimitPattern::partners;
  config.mix = false;
  const auto partners = run_pattern(bare, quiet, config);
  if (!partners) return partners;
  everybody->limit_bytes_per_s =
      std::max(everybody->aggregate_bytes_per_s, partners->aggregate_bytes_per_s);
  return everybody;
}

Result<report::RunRecord> run_local(const StreamOptions& options, const LocalOptions& local,
                                    sim::NetworkRecording* network) {
  if (auto checked = check_options(options); !checked) return std::move(checked).error();
  const JobRunner& runner = runner_of(options);
  if (auto good = check_files(options); !good) return std::move(good).error();
  if (auto good = admit(options, runner.nodes); !good) {
    return std::move(good).error();
  }
  StreamOptions suited = options;
  suited.sink_in_loop = options.sink_in_loop || runner.in_loop;
  suited.source_in_loop = options.source_in_loop || runner.in_loop;
  suited.grant.begins_full = options.grant.begins_full || (runner.nodes == NodesRun::in_processes &&
                                                           do_turns_decide(options, local));
  if (runner.touches_buffers) {
    suited.touched_buffers =
        std::max(options.touched_buffers, touched_before_start(options.inputs + options.computes));
  }
  begin_files(suited);
  for (std::uint32_t c = 0; c < suited.computes; ++c) tell_of_files_left_behind(suited, c);
  auto reports = runner.run(suited, local, stream_node_factory(suited), Mishaps::as_said, network);
  // Archives keep what nodes delivered, however the run and the nodes ended.
  const auto completed = complete_killed_files(suited);
  if (!reports) {
    if (!completed) spdlog::warn("{}", completed.error().message);
    return std::move(reports).error();
  }
  report::RunRecord record = merge_reports(suited, *reports);
  if (!completed) {
    ++record.checks.errors;
    if (record.checks.first_error.empty()) record.checks.first_error = completed.error().message;
  }
  return record;
}

Result<report::RunRecord> run_twin(const StreamOptions& options, const LocalOptions& local) {
  const sim::Scenario twin = twin_of_testbed(options, local);
  StreamOptions suited = options;
  suited.fabric = fmt::format("twin of {}", options.fabric);
  suited.sink_in_loop = suited.source_in_loop = true;
  LocalOptions simulated_local = local;
  simulated_local.testbed = false;
  simulated_local.metrics.clear();
  if (auto good = check_in_scenario(twin, suited, simulated_local); !good) {
    return std::move(good).error();
  }
  const StopSignals signals(StopSignals::Second::kills);
  const SimulationOptions watched{.faults = {},
                                  .wish = [&signals] { return end_wish(signals); },
                                  .network = nullptr,
                                  .alone = {}};
  auto reports = run_simulated_job(twin, suited, simulated_local, stream_node_factory(suited),
                                   nullptr, watched);
  if (!reports) return std::move(reports).error();
  return merge_reports(suited, *reports);
}

}  // namespace weft::stream

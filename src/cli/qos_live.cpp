// SPDX-License-Identifier: Apache-2.0
#include "cli/qos_live.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/qos_report.hpp"
#include "cli/terminal.hpp"
#include "qos/live/live_experiment.hpp"
#include "report/words.hpp"
#include "runtime/clock.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

double share(double rate, double of) {
  return of > 0 ? rate / of - 1 : 0;
}

/// As the simulated experiment has it. Trade-offs are another member.
report::QosRecord record_of(const qos::ExperimentOptions& options, const qos::LiveOutcome& outcome,
                            const std::string& command) {
  report::QosRecord record{.scenario = options.scenario.name,
                           .topology = options.scenario.topology + ", real processes",
                           .controller = options.controller,
                           .command = command,
                           .iterations = options.iterations,
                           .placements = 1,
                           .iterations_to_best = outcome.iterations_to_best,
                           .seed = options.scenario.seed,
                           .jobs = {},
                           .steps = {},
                           .loads = {},
                           .published = {},
                           .trade_offs = {}};
  for (const qos::LiveJobOutcome& job : outcome.jobs) {
    record.jobs.push_back({.name = job.name,
                           .kind = job.kind,
                           .placement = 0,
                           .default_of_isolation = share(job.on_default, job.alone),
                           .controlled_of_isolation = share(job.controlled, job.alone),
                           .improvement = share(job.controlled, job.on_default)});
  }
  for (const qos::LivePoint& point : outcome.points) {
    record.trade_offs.push_back(
        {.levels = point.levels, .of_alone = point.of_alone, .is_best = point.is_best_trade_off});
  }
  return record;
}

void add_live(Json& json, const qos::LiveOutcome& outcome) {
  json["live"] = true;
  for (std::size_t j = 0; j < outcome.jobs.size(); ++j) {
    const qos::LiveJobOutcome& job = outcome.jobs[j];
    const auto seconds = [](double rate) { return rate > 0 ? Json(1 / rate) : Json(nullptr); };
    json["jobs"][j]["settled_of_isolation"] = share(job.settled, job.alone);
    json["jobs"][j]["iteration_s"] = {{"alone", seconds(job.alone)},
                                      {"default", seconds(job.on_default)},
                                      {"controlled", seconds(job.controlled)},
                                      {"settled", seconds(job.settled)}};
  }
  json["trade_offs"] = Json::array();
  for (const qos::LivePoint& point : outcome.points) {
    Json of_alone;
    for (std::size_t j = 0; j < outcome.jobs.size(); ++j) {
      of_alone[outcome.jobs[j].name] = point.of_alone[j];
    }
    json["trade_offs"].push_back({{"levels", point.levels},
                                  {"of_alone", std::move(of_alone)},
                                  {"best", point.is_best_trade_off}});
  }
}

std::string milliseconds(double rate) {
  return rate > 0 ? fmt::format("{:.2f} ms", 1e3 / rate) : std::string("-");
}

void print_text(const qos::ExperimentOptions& options, const qos::LiveOutcome& outcome) {
  fmt::print("{}, {} of {}, real processes\n", options.controller,
             report::counted(options.iterations, "iteration", "iterations"),
             to_text(options.period));
  Table times({"an iteration of", "alone", "default", "searching", "settled", "of alone"});
  for (const qos::LiveJobOutcome& job : outcome.jobs) {
    times.add({job.name, milliseconds(job.alone), milliseconds(job.on_default),
               milliseconds(job.controlled), milliseconds(job.settled),
               fmt::format("{:+.1f} %", share(job.settled, job.alone) * 100)});
  }
  times.print();
  std::vector<std::string> head = {"work, of alone"};
  for (const qos::LiveJobOutcome& job : outcome.jobs) head.push_back(job.name);
  head.emplace_back("trade-off");
  Table points(head);
  for (const qos::LivePoint& point : outcome.points) {
    std::vector<std::string> cells = {point.levels};
    for (const double of_alone : point.of_alone) {
      cells.push_back(fmt::format("{:.1f} %", of_alone * 100));
    }
    cells.emplace_back(point.is_best_trade_off ? "best" : "");
    points.add(std::move(cells));
  }
  points.print();
  fmt::print("the last change came after {} of {} iterations, seed {}\n",
             outcome.iterations_to_best, options.iterations, options.scenario.seed);
}

}  // namespace

void run_qos_live(const qos::ExperimentOptions& options, bool json, const std::string& out,
                  const StopSignals& signals, Outcome& outcome) {
  const Instant begun = monotonic_now();
  Result<qos::LiveOutcome> result = [&] {
    StatusLine line;
    return qos::run_live(
        options, [&](const std::string& phase, std::uint32_t done, std::uint32_t of) {
          const std::chrono::duration<double> taken((monotonic_now() - begun).to_seconds());
          line.show({phase, fmt::format("{} of {} windows", done, of),
                     share_done(static_cast<double>(done) / of, taken)});
          return !signals.came();
        });
  }();
  if (!result) return report_error(result.error(), outcome);
  const report::QosRecord record = record_of(options, *result, outcome.command_line);
  Json all = Json::parse(qos_json(record, (monotonic_now() - begun).to_seconds()));
  add_live(all, *result);
  const std::string written = all.dump();
  if (!write_qos(record, written, out, !json, outcome)) return;
  if (json) {
    fmt::print("{}\n", written);
  } else {
    print_text(options, *result);
  }
}

}  // namespace weft::cli

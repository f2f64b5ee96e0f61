// SPDX-License-Identifier: Apache-2.0
// weft simulate --compare-avoidance: what each means against the pitfalls of on-demand paging does
// for a stream.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "cli/output_directory.hpp"
#include "cli/simulate_jobs.hpp"
#include "cli/stream_output.hpp"
#include "cli/stream_run.hpp"
#include "cli/terminal.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Means {
  const char* name;
  std::vector<std::string> settings;
};

const std::array<Means, 5>& all_means() {
  static const std::array<Means, 5> all = {{
      {"as it is", {}},
      {"dummy", {"fabric.dummy-after=600us"}},
      {"dummy and shortest RNR delay", {"fabric.dummy-after=600us", "fabric.rnr-delay=10us"}},
      {"prefetch", {"fabric.prefetch=true"}},
      {"pinned", {"fabric.memory=pinned"}},
  }};
  return all;
}

struct Compared {
  const Means* means = nullptr;
  report::RunRecord record;
  Simulation simulation;
};

Error unfit(std::string text) {
  return {ErrorCode::invalid_argument, "--compare-avoidance: " + std::move(text)};
}

Result<void> check(const sim::Scenario& scenario, const SimulateCommand& command,
                   const Team& team) {
  if (!scenario.has_single_job() || !scenario.fabric.reliable) {
    return unfit(
        fmt::format("{} has no stream over adapters; write [job] and, in [fabric], "
                    "transport = \"rc\" and memory = \"paged\"",
                    command.scenario));
  }
  if (team.parts() > 1) return unfit("runs in one part; leave --parts out");
  if (!command.capture.empty()) return unfit("makes several runs; leave --capture out");
  if (command.check_determinism) return unfit("has no use for --check-determinism; leave it out");
  if (!command.trace.path.empty()) return unfit("makes several runs; leave --trace out");
  return {};
}

Result<Compared> run_with(const Means& means, const SimulateCommand& command, Team& team,
                          Outcome& outcome) {
  SimulateCommand one = command;
  one.no_limit = true;
  one.settings.insert(one.settings.end(), means.settings.begin(), means.settings.end());
  auto scenario = sim::read_scenario(one.scenario, one.settings);
  if (!scenario) return scenario.error();
  if (command.seed) scenario->seed = *command.seed;
  auto runs = run_jobs(*scenario, one, team, outcome);
  if (!runs) return runs.error();
  Compared compared{&means, std::move(runs->records.front()), runs->whole};
  compared.record.job = means.name;
  const sim::RcCounters& rc = *compared.simulation.reliable;
  const auto add = [&](const char* name, std::string value) {
    compared.record.parameters.emplace_back(name, std::move(value));
  };
  add("simulated time", to_text(compared.simulation.simulated));
  add("adapters' packets", fmt::format("{}", rc.packets));
  add("page faults", fmt::format("{}", rc.page_faults));
  add("adapters' timeouts", fmt::format("{}", rc.adapters.timeouts));
  return compared;
}

void print(const std::vector<Compared>& all) {
  Table table({"memory", "simulated", "sent", "lost", "packets", "faults", "timeouts"});
  for (const Compared& one : all) {
    const sim::RcCounters& rc = *one.simulation.reliable;
    table.add({one.means->name, to_text(one.simulation.simulated),
               fmt::format("{}", one.record.timeslices_sent),
               fmt::format("{}", one.record.timeslices_lost), fmt::format("{}", rc.packets),
               fmt::format("{}", rc.page_faults), fmt::format("{}", rc.adapters.timeouts)});
  }
  table.print();
}

std::string json_of(const std::vector<Compared>& all) {
  Json runs = Json::array();
  for (const Compared& one : all) {
    Json run{{"avoidance", one.means->name}, {"settings", one.means->settings}};
    run.update(Json::parse(report::to_json(one.record, report::RecordForm::summary)));
    run["simulation"] = Json::parse(to_json(one.simulation));
    runs.push_back(std::move(run));
  }
  return Json{{"runs", std::move(runs)}}.dump();
}

}  // namespace

void compare_avoidance(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                       Outcome& outcome) {
  if (auto good = check(scenario, command, team); !good) {
    return report_error(good.error(), outcome);
  }
  std::vector<Compared> all;
  for (const Means& means : all_means()) {
    auto compared = run_with(means, command, team, outcome);
    if (!compared) return report_error(compared.error(), outcome);
    if (!is_sound(compared->record)) outcome.code = ExitCode::failed;
    all.push_back(*std::move(compared));
    if (all.back().record.interrupted) break;
  }
  if (command.json) {
    fmt::print("{}\n", json_of(all));
  } else {
    print(all);
  }
  if (command.out.empty()) return;
  std::vector<report::RunRecord> records;
  for (Compared& one : all) records.push_back(std::move(one.record));
  for (const char* other : {"run.json", "network.json", "network.html"}) {
    forget_record(command.out, other, command.trace.replaces);
  }
  if (auto written = report::write_comparison(command.out, records); !written) {
    return report_error({ErrorCode::io, "--out: " + written.error().message}, outcome);
  }
  announce_report(command.out, command.json, outcome);
}

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/qos_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "report/run_record.hpp"
#include "report/words.hpp"

namespace weft::cli {
namespace {

/// The figures of paper 5 for one of its experiments, by the name of the scenario's file.
struct PaperExperiment {
  const char* scenario;
  const char* figure;
  const char* best;
  const char* worst;
  const char* on_default;
};
constexpr PaperExperiment paper_experiments[] = {
    {"qos-medium", "Fig. 3", "+27 %", "-10 %, all but two at most -4 %", ""},
    {"qos-small", "Fig. 4", "above +20 %", "-4 %", ""},
    {"qos-observation", "Fig. 5", "as Fig. 4", "as Fig. 4", ""},
    {"qos-imbalance-little", "Fig. 6", "relatively small", "", ""},
    {"qos-imbalance-large", "Fig. 7", "as Fig. 4; one job 11 % above isolation", "", ""},
    {"qos-paradis", "Fig. 8", "less than Fig. 4", "", ""},
    {"qos-amg", "Fig. 9", "Mini-AMG minimal", "", ""},
    {"qos-computation-35", "Fig. 10", "+29 %", "-15 %", "-57 %"},
    {"qos-computation-90", "Fig. 11", "+7 %", "-1 %", "-12 %"},
    {"qos-threshold-04", "Fig. 12", "slightly below Fig. 4", "", ""},
    {"qos-threshold-10", "Fig. 13", "medians as Fig. 4", "significantly lower than Fig. 4", ""},
    {"qos-arrivals", "Fig. 14", "+25 %", "-6 %", ""},
    {"qos-large", "Fig. 15", "+20 %", "essentially unchanged", ""},
    {"qos-applications", "Fig. 17", "not significant", "not significant", ""},
    {"qos-applications-mixed", "Fig. 18", "+6 %", "-3 %", ""},
    {"qos-adaptive", "Fig. 19", "mixed", "mixed", ""},
};

void add_published(report::QosRecord& record) {
  const std::string name = std::filesystem::path(record.scenario).stem().string();
  double best = -1e9, worst = 1e9, lost = 0;
  for (const report::QosJob& job : record.jobs) {
    best = std::max(best, job.improvement);
    worst = std::min(worst, job.improvement);
    lost = std::min(lost, job.default_of_isolation);
  }
  for (const PaperExperiment& e : paper_experiments) {
    if (name != e.scenario) continue;
    const auto add = [&](const char* what, std::string_view paper, double ours) {
      if (paper.empty()) return;
      record.published.push_back(
          {fmt::format("{}: {}", e.figure, what), std::string(paper), report::as_change(ours)});
    };
    add("best improvement of a job", e.best, best);
    add("worst", e.worst, worst);
    add("default against isolation, worst job", e.on_default, lost);
  }
}

/// Improvement against accepted configurations: the mean over windows at each placement, the median
/// over placements.
std::vector<report::QosStep> steps_of(const qos::ExperimentOutcome& outcome) {
  std::map<std::uint32_t, std::vector<double>> means;
  for (const qos::PlacementOutcome& placement : outcome.placements) {
    std::map<std::uint32_t, std::pair<double, double>> sums;  // sum, windows
    for (std::size_t w = 0; w < placement.accepted.size(); ++w) {
      auto& [sum, windows] = sums[placement.accepted[w]];
      sum += placement.improvements[w];
      windows += 1;
    }
    for (const auto& [accepted, sum] : sums) means[accepted].push_back(sum.first / sum.second);
  }
  std::vector<report::QosStep> steps;
  for (auto& [accepted, values] : means) {
    const auto quantiles = report::quantiles_of(values);
    steps.push_back({.accepted = accepted, .improvement = quantiles ? quantiles->median : 0});
  }
  return steps;
}

}  // namespace

namespace {

report::QosNetwork network_of(const qos::ExperimentOutcome& outcome) {
  report::QosNetwork network;
  const auto &before = outcome.on_default.links, &after = outcome.controlled.links;
  for (std::uint32_t level = 0; level < 16; ++level) {
    const auto is_used = [&](const qos::LinkLoad& link) { return link.by_level[level] > 0; };
    if (std::ranges::any_of(before, is_used) || std::ranges::any_of(after, is_used)) {
      network.levels.push_back(level);
    }
  }
  for (const qos::LoadedVertex& v : outcome.on_default.vertices) {
    network.vertices.push_back({.name = v.name, .height = v.height});
  }
  for (std::size_t l = 0; l < before.size(); ++l) {
    report::QosLink& link =
        network.links.emplace_back(report::QosLink{.from = before[l].from, .to = before[l].to});
    for (const std::uint32_t level : network.levels) {
      link.before.push_back(before[l].by_level[level]);
      link.after.push_back(after[l].by_level[level]);
    }
  }
  return network;
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto quantiles = report::quantiles_of(std::move(values));
  return quantiles ? quantiles->median : 0;
}

Summary summary_of(const std::vector<double>& improvements) {
  Summary s{.median = median_of(improvements)};
  if (improvements.empty()) return s;
  for (const double i : improvements) s.mean += i / static_cast<double>(improvements.size());
  s.best = *std::max_element(improvements.begin(), improvements.end());
  s.worst = *std::min_element(improvements.begin(), improvements.end());
  return s;
}

std::string qos_json(const report::QosRecord& record, double wall_s) {
  const auto all = nlohmann::ordered_json::parse(report::to_json(record));
  std::vector<double> improvements;
  for (const report::QosJob& job : record.jobs) improvements.push_back(job.improvement);
  const Summary s = summary_of(improvements);
  const nlohmann::ordered_json json{{"scenario", all["scenario"]},
                                    {"controller", all["controller"]},
                                    {"iterations", record.iterations},
                                    {"placements", record.placements},
                                    {"seed", record.seed},
                                    {"wall_s", wall_s},
                                    {"jobs", all["jobs"]},
                                    {"absent_jobs", record.absent_jobs},
                                    {"median_improvement", s.median},
                                    {"mean_improvement", s.mean},
                                    {"best_improvement", s.best},
                                    {"worst_improvement", s.worst},
                                    {"iterations_to_best", record.iterations_to_best}};
  return json.dump();
}

bool write_qos(const report::QosRecord& record, const std::string& json, const std::string& out,
               bool says, Outcome& outcome) {
  if (out.empty()) return true;
  const std::filesystem::path directory = out;
  // The printed object, and all else that the page shows.
  auto all = nlohmann::ordered_json::parse(json);
  const auto parsed = nlohmann::ordered_json::parse(report::to_json(record));
  for (const auto& [name, value] : parsed.items()) {
    if (!all.contains(name)) all[name] = value;
  }
  const std::string page = (directory / "qos.html").string();
  for (const auto& [path, text] : {std::pair((directory / "qos.json").string(), all.dump() + "\n"),
                                   std::pair(page, report::qos_page(record))}) {
    if (auto written = report::write_file_whole(path, text); !written) {
      report_error({ErrorCode::io, "--out: " + written.error().message}, outcome);
      return false;
    }
  }
  if (says) fmt::print("report: {}\n", page);
  return true;
}

report::QosRecord record_of(const qos::ExperimentOptions& options,
                            const qos::ExperimentOutcome& outcome, const std::string& command) {
  report::QosRecord record{.scenario = options.scenario.name,
                           .topology = options.scenario.topology,
                           .controller = options.controller,
                           .command = command,
                           .iterations = options.iterations,
                           .placements = options.placements,
                           .iterations_to_best = outcome.iterations_to_best,
                           .seed = options.scenario.seed,
                           .jobs = {},
                           .absent_jobs = outcome.absent,
                           .steps = steps_of(outcome),
                           .loads = {},
                           .published = {},
                           .trade_offs = {}};
  for (const qos::JobOutcome& job : outcome.jobs) {
    record.jobs.push_back({.name = job.name,
                           .kind = job.kind,
                           .placement = job.placement,
                           .default_of_isolation = job.default_of_isolation(),
                           .controlled_of_isolation = job.controlled_of_isolation(),
                           .improvement = job.improvement()});
  }
  for (const qos::LevelLoad& load : outcome.loads) {
    record.loads.push_back({.links = load.links,
                            .level = load.level,
                            .weight = load.weight,
                            .before = load.on_default,
                            .after = load.controlled});
  }
  record.network = network_of(outcome);
  add_published(record);
  return record;
}

}  // namespace weft::cli

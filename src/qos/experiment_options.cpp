// SPDX-License-Identifier: Apache-2.0
// [qos] of a scenario.
#include <fmt/format.h>

#include <utility>

#include "base/nearest.hpp"
#include "jobs/option_text.hpp"
#include "qos/experiment.hpp"

namespace weft::qos {
namespace {

using jobs::assign;
using jobs::number_of;

Result<void> take(ExperimentOptions& o, const std::string& key, const std::string& text) {
  if (key == "controller") return assign(o.controller, Result<std::string>(text));
  if (key == "period") return assign(o.period, parse_duration(text));
  if (key == "iterations") return assign(o.iterations, number_of<std::uint32_t>(text));
  if (key == "placements") return assign(o.placements, number_of<std::uint32_t>(text));
  if (key == "live-windows") return assign(o.live_windows, number_of<std::uint32_t>(text));
  if (key == "predictions") return assign(o.predictions, number_of<std::uint32_t>(text));
  if (key == "variants") return assign(o.variants, number_of<std::uint32_t>(text));
  Algorithm1Options& a = o.algorithm_1;
  if (key == "threshold") return assign(a.threshold, number_of<double>(text));
  if (key == "levels") return assign(a.levels, number_of<std::uint32_t>(text));
  if (key == "default-windows") return assign(a.default_windows, number_of<std::uint32_t>(text));
  if (key == "largest-weight") return assign(a.largest_weight, number_of<std::uint8_t>(text));
  constexpr std::string_view known[] = {
      "controller",  "period",    "iterations", "placements",      "variants",      "live-windows",
      "predictions", "threshold", "levels",     "default-windows", "largest-weight"};
  return jobs::refuse(unknown_key(key, "[qos]", known));
}

/// Errors begin with the key that is wrong.
Result<void> check(const ExperimentOptions& o) {
  const Algorithm1Options& a = o.algorithm_1;
  if (auto known = check_controller(o.controller, {}); !known) {
    return jobs::refuse(fmt::format("controller is {}: {}", o.controller, known.error().message));
  }
  if (!(a.threshold > 0 && a.threshold <= 1)) {
    return jobs::refuse(
        fmt::format("threshold is {}: use a number above 0 and at most 1, as 0.9", a.threshold));
  }
  if (a.levels < 2 || a.levels > 16) {
    return jobs::refuse(fmt::format("levels is {}: a network has 2 to 16", a.levels));
  }
  if (a.largest_weight < 2) {
    return jobs::refuse(fmt::format("largest-weight is {}: the default level has 1; use 2 to 255",
                                    a.largest_weight));
  }
  const std::pair<const char*, std::uint32_t> counts[] = {{"iterations", o.iterations},
                                                          {"placements", o.placements},
                                                          {"variants", o.variants},
                                                          {"live-windows", o.live_windows},
                                                          {"default-windows", a.default_windows}};
  for (const auto& [key, value] : counts) {
    if (value >= 1 && value <= 1'000'000) continue;
    return jobs::refuse(fmt::format("{} is {}: use 1 to 1000000", key, value));
  }
  constexpr std::uint32_t fewest = 100, most = 1'000'000;
  if (o.predictions != 0 && (o.predictions < fewest || o.predictions > most)) {
    return jobs::refuse(fmt::format("predictions is {}: use {} to {}, or 0 for 100 for each job",
                                    o.predictions, fewest, most));
  }
  if (o.period <= Duration{} || o.period > Duration::seconds(3600)) {
    return jobs::refuse(fmt::format(
        "period is {} ns: use a time above 0 and up to an hour, as 60ms", o.period.ticks()));
  }
  return {};
}

/// Refuses what an experiment decides itself.
Result<void> check_rest(const sim::Scenario& scenario) {
  for (const sim::ScenarioEntry& entry : scenario.entries) {
    if (!entry.key.starts_with("levels")) continue;
    return scenario.located(
        entry.key, jobs::refuse("an experiment chooses the weights of its levels; take [[levels]] "
                                "out, and write levels = 16 in [qos]"));
  }
  return sim::refuse_faults(scenario, "or run weft simulate");
}

}  // namespace

Result<ExperimentOptions> options_of(sim::Scenario scenario) {
  ExperimentOptions options;
  for (const sim::JobOption& option : scenario.qos) {
    Result<void> taken = option.values.size() == 1
                             ? take(options, option.name, option.values[0])
                             : jobs::refuse("it has several values; write one");
    if (!taken) return scenario.located("qos." + option.name, taken.error());
  }
  if (auto good = check(options); !good) return scenario.located("qos", good.error());
  if (auto good = check_rest(scenario); !good) return std::move(good).error();
  options.scenario = std::move(scenario);
  return options;
}

}  // namespace weft::qos

// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_job.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/make_error.hpp"
#include "cli/config_file.hpp"
#include "cli/parsed_option.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft::cli {
namespace {

/// Options that a job on a given network cannot have, or that are the caller's business.
constexpr std::array not_of_a_job{"fabric", "link", "testbed", "metrics", "seed", "json",
                                  "out",    "log",  "config",  "fault",   "set"};

/// What ends a job. A command line that gives one of them means no other.
constexpr std::array ends_of_a_job{"timeslices", "duration"};

bool is_end(const std::string& option) {
  return std::ranges::find(ends_of_a_job, option) != ends_of_a_job.end();
}

bool has_end(const CLI::App& command) {
  return std::ranges::any_of(ends_of_a_job, [&](const char* end) {
    const CLI::Option* const option = command.get_option_no_throw(fmt::format("--{}", end));
    return option != nullptr && option->count() > 0;
  });
}

}  // namespace

void apply_scenario(CLI::App& command, const sim::Scenario& scenario, const sim::ScenarioJob& job,
                    StreamSettings& settings) {
  settings.stream.data_level = settings.stream.control_level = ServiceLevel(job.level);
  const bool has_own_end = has_end(command);
  for (const sim::JobOption& option : job.options) {
    // One of --set comes from the command line, too.
    if (has_own_end && option.setting.empty() && is_end(option.name)) continue;
    const std::string place =
        option.setting.empty() ? fmt::format("{}:{}", scenario.name, option.line) : option.setting;
    const std::string value = option.values.size() == 1 ? sim::shown(option.values[0]) : "[…]";
    const std::string where = sim::one_line(
        option.setting.empty() ? fmt::format("{}: {}.{} = {}", place, job.key, option.name, value)
                               : place);
    if (std::find(not_of_a_job.begin(), not_of_a_job.end(), option.name) != not_of_a_job.end()) {
      throw CLI::ConfigError(fmt::format("{}: that is no option of a simulated job; {}", where,
                                         option.name == "seed" ? "write it above all sections"
                                         : option.name == "fault"
                                             ? "write faults = […] above all sections"
                                             : "leave it out"));
    }
    try {
      apply_setting(command, where, option.name, option.values);
    } catch (const CLI::ParseError& error) {
      throw CLI::ConfigError(sim::one_line(error.what()));
    }
  }
  const std::string seed = fmt::format("{}", scenario.seed);
  apply_setting(command, scenario.name, "seed", {seed});
  settings.scenario.clear();
  for (const sim::ScenarioEntry& entry : scenario.entries) {
    const bool is_of_job = entry.key.starts_with("job.") || entry.key.starts_with("jobs[");
    if (entry.value.empty() || is_of_job || entry.key == "seed") continue;
    settings.scenario.emplace_back("scenario: " + entry.key, entry.value);
  }
}

Result<void> resolve(CLI::App& command, StreamSettings& settings) {
  if (const auto path = scenario_path(settings.stream)) {
    auto scenario = sim::read_fabric_scenario(*path, settings.local.scenario_settings);
    if (!scenario) {
      return Error{scenario.error().code, fmt::format("--fabric: {}", scenario.error().message)};
    }
    if (scenario->jobs.size() > 1 || (!scenario->jobs.empty() && !scenario->has_single_job())) {
      return invalid("--fabric: {} has jobs of its own, [[jobs]]; run them with weft simulate {}",
                     *path, *path);
    }
    const bool has_job = !scenario->jobs.empty();
    apply_scenario(command, *scenario, has_job ? scenario->jobs[0] : sim::ScenarioJob(), settings);
  } else if (!settings.local.scenario_settings.empty()) {
    return invalid("--set {}: only a simulation has a scenario; add --fabric sim:SCENARIO.toml",
                   settings.local.scenario_settings.front());
  }
  complete(settings);
  return {};
}

StreamSettings job_of(const sim::Scenario& scenario, const sim::ScenarioJob& job) {
  StreamSettings settings;
  CLI::App command;
  add_job_options(command, settings);
  add_local_options(command, settings);
  check_values(command);
  settings.stream.fabric = "sim:" + scenario.name;
  apply_scenario(command, scenario, job, settings);
  try {
    complete(settings);
  } catch (const CLI::ParseError& error) {
    throw CLI::ConfigError(
        scenario.located(job.key, {ErrorCode::invalid_argument, error.what()}).message);
  }
  return settings;
}

}  // namespace weft::cli

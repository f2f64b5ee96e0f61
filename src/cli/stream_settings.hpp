// SPDX-License-Identifier: Apache-2.0
// The options that the `weft stream` commands share, as the command line and the TOML file name
// them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/published.hpp"
#include "weft/stream.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// Everything a `weft stream` command can be told.
struct StreamSettings {
  StreamOptions stream;
  LocalOptions local;
  bool json = false;
  std::string out;  ///< directory for records and report; empty: none
  bool no_limit = false;
  std::string reference;                      ///< file of published figures; empty: none
  std::vector<report::Reference> references;  ///< read from it by `complete`
  bool twin = false;                          ///< of the testbed: run there too
  std::optional<Duration> sample_every;
  std::optional<Duration> limit_duration;
  /// Options of schedules that the command line has, each with its schedule. Files may have some of
  /// schedules that are not chosen, as several commands may share a file.
  std::vector<std::pair<std::string, std::string>> schedule_options;
  /// The keys and values of a simulation's scenario, for the record.
  std::vector<std::pair<std::string, std::string>> scenario;
};

/// Adds the options of a job: its data, schedule and fabric.
void add_job_options(CLI::App& command, StreamSettings& settings);
/// Adds those of jobs whose processes all run here: testbed, faults, limit, output.
void add_local_options(CLI::App& command, StreamSettings& settings);
/// Chooses defaults that depend on other options: how long the job runs when neither --timeslices
/// nor --duration was given (ten seconds, simulated ten milliseconds), how often samples are taken
/// and how long the limit is measured. Reads the published figures. Throws CLI::ValidationError.
void complete(StreamSettings& settings);
/// Errors: an option on the command line is of a schedule that is none of the chosen ones.
Result<void> check_schedule_options(const StreamSettings& settings,
                                    std::span<const std::string> chosen);
/// The scenario of a job in a simulation (--fabric sim:SCENARIO).
std::optional<std::string> scenario_path(const StreamOptions& options);
/// The parameters as a report shows them.
std::vector<std::pair<std::string, std::string>> parameters_of(const StreamSettings& settings);

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
// The options that the `weft stream` commands share, as the command line and the TOML file name
// them.
#pragma once

#include <string>
#include <vector>

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
};

/// Adds the options of a job: what flows, by which schedule, over which fabric.
void add_job_options(CLI::App& command, StreamSettings& settings);
/// Adds those of jobs whose processes all run here: testbed, faults, limit, output.
void add_local_options(CLI::App& command, StreamSettings& settings);
/// Makes a bare --timeslices / --duration default when neither was given: ten seconds.
void complete(StreamSettings& settings);
/// The parameters as a report shows them.
std::vector<std::pair<std::string, std::string>> parameters_of(const StreamSettings& settings);

}  // namespace weft::cli

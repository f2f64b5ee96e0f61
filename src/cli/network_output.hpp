// SPDX-License-Identifier: Apache-2.0
// The output of commands that simulate a network: DIR/network.json with its page, and a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output_files.hpp"
#include "report/network_record.hpp"
#include "sim/record/network_record.hpp"
#include "sim/telemetry/trace_file.hpp"
#include "weft/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

struct TraceSettings {
  std::string path;  ///< empty: none
  std::uint64_t most_events = sim::TraceFile::usual_most;
  bool limits_events = false;  ///< --trace-events is given
  bool replaces = false;       ///< a file that exists
};

/// --trace and --trace-events.
void add_trace_options(CLI::App& command, TraceSettings& settings);

/// A simulation that is divided among processes or threads has no trace.
Result<void> check_trace_in_parts(const TraceSettings& settings, std::uint32_t parts);

/// One command's. It records when there is a directory or a trace.
class NetworkOutput {
 public:
  /// `out`: directory; empty: none. Quiet: standard output does not name the files.
  NetworkOutput(std::string out, TraceSettings trace, bool quiet)
      : out_(std::move(out)), settings_(std::move(trace)), quiet_(quiet) {}

  /// Before any run: whether the traces of runs with these names, or of the only one, can be
  /// written, and are none of the command's other files.
  Result<void> check(std::span<const std::string> names, CommandFiles others) const;
  bool wanted() const { return !out_.empty() || !settings_.path.empty(); }
  /// Before a run; `name` tells it from others and is part of its trace's name, empty where it is
  /// alone. Returns the recording, for as long as the run lasts; null: nothing is wanted. Errors:
  /// the trace cannot be made.
  Result<sim::NetworkRecording*> begin(const std::string& name = {});
  /// After a run that went well. Errors: the trace cannot be written.
  Result<void> end();
  /// After the last run: writes DIR/network.json, about all of them; when no run recorded anything,
  /// it removes the file of an earlier command. Errors name the file.
  Result<void> write(report::NetworkRecord about);

 private:
  std::string out_;
  TraceSettings settings_;
  bool quiet_;
  std::string name_;
  std::optional<sim::TraceFile> trace_;
  sim::NetworkRecording recording_;
  report::NetworkTopology topology_;
  std::vector<report::NetworkRun> runs_;
};

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
// The terminal output of the `weft stream` commands.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "report/run_record.hpp"
#include "sim/run/progress.hpp"
#include "weft/stream.hpp"

namespace weft::cli {

/// A spread or a round: in milliseconds, so that a column has one unit, from a second on in
/// seconds.
std::string milliseconds_text(double us);

/// How far a job has come, on the status line.
class ProgressLine {
 public:
  /// `options` say when the job ends, if they do.
  ProgressLine(std::string label, const StreamOptions& options);
  bool wanted() const { return line_.wanted(); }
  void show(const StreamProgress& progress);

 private:
  std::string label_;
  Duration duration_;
  std::uint64_t timeslices_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  StatusLine line_;
};

/// How far a simulation without jobs has come, on the status line.
class SimulationLine {
 public:
  /// Refers to this object; empty when nobody looks.
  sim::Progress progress();

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  StatusLine line_;
};

/// The runs side by side, a row each.
void print_table(std::span<const report::RunRecord> runs);
void print_limit_row(const report::LimitRow& row, bool with_header);
/// {"runs": […]}
std::string runs_as_json(std::span<const report::RunRecord> runs);
/// Writes the report of `directory` and, unless quiet, says where it is.
void announce_report(const std::string& directory, bool quiet, Outcome& outcome);

}  // namespace weft::cli

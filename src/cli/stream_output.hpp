// SPDX-License-Identifier: Apache-2.0
// What the `weft stream` commands show in a terminal.
#pragma once

#include <span>
#include <string>

#include "cli/commands.hpp"
#include "report/run_record.hpp"
#include "weft/stream.hpp"

namespace weft::cli {

/// One line that is written over and over while a job runs, if standard error is a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(std::string label);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  bool wanted() const { return terminal_; }
  void show(const StreamProgress& progress);

 private:
  std::string label_;
  bool terminal_;
  bool shown_ = false;
};

/// The runs side by side, a row each.
void print_table(std::span<const report::RunRecord> runs);
void print_limit_row(const report::LimitRow& row, bool with_header);
/// {"runs": […]}
std::string runs_as_json(std::span<const report::RunRecord> runs);
/// Takes a record of the other kind, left by an earlier run, out of the way.
void forget_record(const std::string& directory, const char* file);
/// Writes the report of `directory` and, unless quiet, says where it is.
void announce_report(const std::string& directory, bool quiet, Outcome& outcome);

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
// The words of a report: names of runs, its title, its summary. Plain text, not HTML.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace weft::report {

/// A short name per run, each different: the schedule (of runs of `weft stream limit` only: the
/// fabric), then the features that tell runs of the same schedule apart (fabric, a parameter), then
/// a number.
std::vector<std::string> run_labels(std::span<const RunRecord> runs);

/// True for a run of `weft stream limit`.
inline bool is_limit_run(const RunRecord& run) {
  return !run.limit.empty();
}

/// Returns whether a sink of the run may find something wrong.
bool was_checked(const RunRecord& run);
/// Returns whether a sink of the run compares contents with what the source must have sent.
bool checks_contents(const RunRecord& run);

std::string title_of(std::span<const RunRecord> runs);
/// One paragraph.
std::string summary_of(std::span<const RunRecord> runs);
/// Whether anything was lost or a check failed in one of the runs, with one sentence that names it.
/// Empty when there was nothing to lose.
struct Verdict {
  bool good = true;
  std::string sentence;
};
Verdict verdict_of(std::span<const RunRecord> runs);

/// "3 timeslices dropped: …"
std::string dropped_text(std::uint64_t timeslices);

/// Median and 90th percentile against the floor, none without a floor above 0.
std::optional<double> times_floor(const RunRecord& run, double spread_us);

std::string with_thousands(std::uint64_t n);  ///< "1,234,567"
/// "1 host", "1,024 hosts"
std::string counted(std::uint64_t n, const char* one, const char* many);
std::string as_percent(double fraction);   ///< "97.3 %"
std::string as_change(double fraction);    ///< "+2.7 %", "-2.7 %"
std::string as_rate(double bytes_per_s);   ///< "11.9 MB/s"
std::string as_time(double microseconds);  ///< "38.7 ms"
std::string as_times(double factor);       ///< "1.04×"

}  // namespace weft::report

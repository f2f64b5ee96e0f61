// SPDX-License-Identifier: Apache-2.0
// The jobs of a scenario whose ranks are simulated without processes: `[[jobs]]` with
// `kind = "workload"` or `"trace"`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/workload/patterns.hpp"
#include "trace/replay/repeated_feed.hpp"
#include "weft/result.hpp"

namespace weft::jobs {

struct WorkloadJob {
  std::string name;
  sim::PatternOptions pattern;  ///< of a trace: `ranks` and the mean of `message_bytes` only
  /// Examined, of one number of ranks; each iteration takes one of them. Empty: it is a workload.
  trace::Traces traces;
  std::vector<std::string> files;  ///< of the traces, as the scenario has them
  double compute_factor = 1;       ///< of a trace's computation
  std::uint64_t eager_bytes = 16 << 10;
  double compute_noise = 0.02;
  /// Of an iteration of the rank that computes the longest, the share that it computes when the job
  /// runs alone, in (0, 1): `pattern.compute` is found by measuring. 0: it is given.
  double computation = 0;
  std::uint32_t arrives = 0;          ///< the first window that it is in
  std::uint32_t leaves = ~0U;         ///< the first that it is not in any more
  std::uint64_t ages_per_window = 0;  ///< iterations between the beginnings of two windows

  bool is_trace() const { return !traces.empty(); }
  /// "all-to-all", or the names of a trace's files.
  std::string what() const;
  bool is_in(std::uint32_t window) const { return arrives <= window && window < leaves; }
};

/// The scenario's jobs, several where one says `copies`. Errors name file, line, key, value and
/// fix.
Result<std::vector<WorkloadJob>> workloads_of(const sim::Scenario& scenario);

}  // namespace weft::jobs

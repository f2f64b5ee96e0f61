// SPDX-License-Identifier: Apache-2.0
// Reads the jobs of a scenario that have simulated ranks instead of processes: `[[jobs]]` with
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

/// One job: a communication pattern (paper 5, 5.3) or the replay of traces.
struct WorkloadJob {
  std::string name;
  sim::PatternOptions pattern;  ///< a trace sets only `ranks` and the mean of `message_bytes`
  /// Examined traces of the same number of ranks, which the iterations replay in turn. Empty for a
  /// workload.
  trace::Traces traces;
  std::vector<std::string> files;     ///< the traces' paths, as the scenario writes them
  std::uint32_t traces_checksum = 0;  ///< of all bytes of the traces, in the order of `files`
  double compute_factor = 1;          ///< multiplies the times that a trace computes
  std::uint64_t eager_bytes = 16 << 10;
  double compute_noise = 0.02;
  /// The share of an iteration, in (0, 1), that the slowest rank computes when the job runs alone;
  /// a measurement then finds `pattern.compute`. 0: the scenario gives `pattern.compute`.
  double computation = 0;
  std::uint32_t arrives = 0;          ///< the first window in which the job runs
  std::uint32_t leaves = ~0U;         ///< the first later window in which it does not
  std::uint64_t ages_per_window = 0;  ///< iterations from the beginning of one window to the next

  bool is_trace() const { return !traces.empty(); }
  /// Returns the pattern's name, such as "all-to-all", or the names of the traces' files.
  std::string what() const;
  /// True when the job runs in that window.
  bool is_in(std::uint32_t window) const { return arrives <= window && window < leaves; }
};

/// Returns the scenario's jobs in its order; a table with `copies` makes several jobs. Errors name
/// file, line, key, value and fix.
Result<std::vector<WorkloadJob>> workloads_of(const sim::Scenario& scenario);

}  // namespace weft::jobs

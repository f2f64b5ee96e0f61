// SPDX-License-Identifier: Apache-2.0
// Emulated runs of the probe between native ones. A virtual machine's processors move: 8 bytes take
// 110, 170 or 490 ns natively, as two processors share a core, a cache or nothing. An emulated run
// tells something only beside native runs of the same state.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "emulate/probe.hpp"

namespace weft::emulate {

using Figures = std::map<std::string, double>;  ///< of one run of the probe, by name

struct PairedRun {
  Figures native;  ///< the mean of the runs before and after
  Figures emulated;
};

struct PairedRuns {
  std::vector<PairedRun> runs;  ///< at least one
  int rejected = 0;             ///< runs whose native neighbours differ, or are of another state
};

struct PairingLimits {
  int runs = 9;                ///< wanted; twice as many are tried
  double least_bandwidth = 0;  ///< bytes a second that both native runs have to reach; 0: any
  double near_latency = 0;     ///< ns; both least latencies are at most a third off; 0: any
};

/// Whether two native runs are of the same state: least latencies and 25th percentiles within a
/// quarter, median bandwidths within a tenth. `a` and `b` have the same names.
bool agree(const Figures& a, const Figures& b);

/// Runs the probe with those arguments, natively and as `how` says in turns, until so many emulated
/// runs lie between native ones that agree. Error (unavailable): no run does; otherwise those of
/// run_probe. Calls `on_pair` after each run that counts.
Result<PairedRuns> run_paired(const Probe& probe, const ProbeRun& how,
                              const std::vector<std::string>& arguments, PairingLimits limits,
                              const std::function<void()>& on_pair = {});

/// Drops the runs whose native latency is over twice the least of all: what holding a message costs
/// depends on the processors' state, and one calibration is for one state.
void keep_fastest_state(PairedRuns& paired);

/// Returns advice about medians of fewer than a dozen pairs, which one pair may decide; empty if
/// there are enough pairs.
std::string warning_of_few(const PairedRuns& paired);

/// The median of a figure of the native runs, and of what emulation adds to it in each pair.
double median_native(const PairedRuns& paired, const std::string& name);
double median_added(const PairedRuns& paired, const std::string& name);

}  // namespace weft::emulate

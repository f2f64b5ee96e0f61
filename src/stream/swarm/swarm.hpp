// SPDX-License-Identifier: Apache-2.0
// The swarm: many small simulated jobs, each drawn from a seed with everything that may go wrong,
// each held to the promises that weft makes. docs/testing.md lists them, and the bugs found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"

namespace weft::stream {

struct SwarmSeedOutcome {
  std::string failure;  ///< the promise that was broken; empty: none
  std::uint64_t timeslices = 0;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;
  bool good() const { return failure.empty(); }
};

/// The case that a seed stands for, in several lines.
std::string describe_swarm_seed(std::uint64_t seed, const sim::Scenario* network = nullptr);

/// Runs one seed in this process; a failed check of weft ends it. With `network` the seed runs on
/// that scenario's network. `twice`: also checks that the same happens again.
SwarmSeedOutcome run_swarm_seed(std::uint64_t seed, const sim::Scenario* network = nullptr,
                                bool twice = false);

struct SwarmOptions {
  std::uint64_t first = 1;
  std::uint64_t last = 1;  ///< this one as well
  std::optional<sim::Scenario> network;
  std::uint32_t jobs = 1;  ///< processes at a time
  /// A seed that computes for longer than this counts as failed.
  std::uint32_t seconds_per_seed = 120;
  /// Let the log be seen: faults as they happen. Otherwise it is quiet.
  bool show_log = false;
};

struct SwarmFailure {
  std::uint64_t seed = 0;
  std::string what;
};

struct SwarmOutcome {
  std::uint64_t runs = 0;
  std::uint64_t timeslices = 0;
  std::uint64_t events = 0;
  std::vector<SwarmFailure> failures;  ///< by seed
};

/// Every seed of a range. Seeds run in child processes, many one after the other in each, so that
/// one that crashes or hangs is a failure like any other. Every 64th seed runs twice. The caller
/// has no threads. `on_progress` is told now and then. Errors: the system refuses a process, or the
/// network is impossible.
Result<SwarmOutcome> run_swarm(const SwarmOptions& options,
                               const std::function<void(const SwarmOutcome&)>& on_progress = {});

}  // namespace weft::stream

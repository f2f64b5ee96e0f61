// SPDX-License-Identifier: Apache-2.0
// Replay: simulated ranks repeat the calls of a trace's ranks on a scenario's network.
#pragma once

#include <cstdint>

#include "sim/scenario/scenario.hpp"
#include "sim/workload/program.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::trace {

struct ReplayOptions {
  sim::Scenario scenario;  ///< its network, placement, traffic and seed; not its jobs
  std::uint64_t eager_bytes = 16 << 10;
  /// Simulated; a replay that takes longer fails.
  Duration limit = Duration::seconds(3'600);
};

struct ReplayOutcome {
  double predicted_s = 0;      ///< from the start until the last rank's end
  std::uint64_t messages = 0;  ///< between ranks, those of collectives included
  std::uint64_t bytes = 0;     ///< of those messages
  double waited_s = 0;         ///< of all ranks together, for messages
};

/// Runs the feed to its end. Errors: those of the scenario's network; more ranks than hosts;
/// operations that do not fit each other; ranks that wait for ever, with the first of them.
Result<ReplayOutcome> replay(sim::Feed& feed, const ReplayOptions& options);

}  // namespace weft::trace

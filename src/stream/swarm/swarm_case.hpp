// SPDX-License-Identifier: Apache-2.0
// SwarmCase: a whole simulated job drawn from one number: network, placement, options, faults, and
// the outcome to expect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "faults/fault.hpp"
#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// The outcomes that the drawn faults allow.
struct SwarmExpectation {
  /// No node is killed or out of reach for as long as the peer timeout: then nothing but every
  /// timeslice once, complete and not repeated will do.
  bool calm = true;
  /// An input node leaves for a while, or timeslices are given up: components may be missing.
  bool may_miss_components = false;
  /// Then only input nodes know which timeslices it had built.
  bool computes_crash = false;
  /// Not known before: the job is stopped by the time.
  bool ends_by_time = false;
  std::uint64_t timeslices = 0;  ///< that there will be; 0 with `ends_by_time`
};

struct SwarmCase {
  std::uint64_t seed = 0;
  sim::Scenario scenario;
  StreamOptions options;  ///< without sinks
  std::vector<faults::Fault> faults;
  /// The job must have ended so long after its planned end, all faults included.
  Duration patience{};
  SwarmExpectation expected;
};

/// The same case for the same seed on every platform. With `network`, its topology, router and
/// network options are taken over, and everything else is drawn. Errors: those of `network`, or
/// fewer than two hosts.
Result<SwarmCase> draw_swarm_case(std::uint64_t seed, const sim::Scenario* network);

/// Several lines that describe the case.
std::string to_text(const SwarmCase& drawn);

/// The faults of a case that lasts about `length`: appends them, and lowers the expectation.
/// `split` decides about partitions between input nodes.
void draw_swarm_faults(Rng rng, Rng split, Duration length, SwarmCase& drawn);

}  // namespace weft::stream

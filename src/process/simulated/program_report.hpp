// SPDX-License-Identifier: Apache-2.0
// ProgramReport: a simulation's predictions about a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "process/simulated/rank_times.hpp"
#include "weft/time.hpp"

namespace weft {

/// Times of simulated processes; all durations are simulated time.
struct ProgramReport {
  struct Fault {
    Duration at{};  ///< since the programs' beginning
    std::string what;
  };

  std::uint32_t processes = 0;
  std::uint64_t seed = 0;
  Duration simulated{};  ///< from the programs' beginning to the end of the last process
  Duration start_up{};   ///< until all processes are connected; precedes `simulated`
  std::uint32_t crashes = 0;
  std::uint32_t restarts = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t trace_hash = 0;  ///< equal hashes: the same events at the same times
  std::vector<Fault> faults;
  std::vector<RankTimes> ranks;   ///< by rank; sums over all lives of the rank
  std::vector<std::string> jobs;  ///< jobs of the same simulation, each as a JSON object
};

/// Formats the report as one JSON object, with times in seconds: minimum, median and maximum over
/// all processes of each kind of time, for the whole run and for each phase.
std::string to_json(const ProgramReport& report);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// ProgramReport: a simulation's predictions about a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "process/simulated/rank_times.hpp"
#include "weft/time.hpp"

namespace weft {

struct ProgramReport {
  struct Fault {
    Duration at{};  ///< since the programs' beginning
    std::string what;
  };

  std::uint32_t processes = 0;
  std::uint64_t seed = 0;
  Duration simulated{};  ///< from the programs' beginning to the last one's end
  Duration start_up{};   ///< until all processes were connected, before that
  std::uint32_t crashes = 0;
  std::uint32_t restarts = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t trace_hash = 0;  ///< equal: the same has happened at the same times
  std::vector<Fault> faults;
  std::vector<RankTimes> ranks;   ///< by rank; all its lives together
  std::vector<std::string> jobs;  ///< that ran beside it, each a JSON object
};

/// One JSON object: times in seconds, of each kind the least, the median and the most of all
/// processes, of the whole and of each phase.
std::string to_json(const ProgramReport& report);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// GOAL, the text format of LogGOPSim and ATLAHS: a graph of operations for every rank.
//
//   num_ranks 2
//   rank 0 {
//     a: calc 1000                    nanoseconds
//     b: send 4096b to 1 tag 7
//     b requires a                    b begins when a is done
//     c: recv 8b from 1
//     c irequires b                   c begins when b has begun
//   }
//
// Comments are /* */ and //. `cpu 0` and `nic 0` may follow an operation; other numbers are
// refused, as a simulated rank has one processor and one adapter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/events/summary.hpp"
#include "weft/result.hpp"

namespace weft::trace {

struct GoalOperation {
  enum class Kind : std::uint8_t { calc, send, receive };
  Kind kind = Kind::calc;
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t line = 0;    ///< of the file
  std::uint64_t amount = 0;  ///< nanoseconds of a calc, bytes of a message
};

/// `later` begins when `earlier` is done; with `at_start`, when it has begun.
struct GoalDependency {
  std::uint32_t earlier = 0;
  std::uint32_t later = 0;
  bool at_start = false;
};

struct GoalRank {
  std::vector<GoalOperation> operations;
  std::vector<GoalDependency> dependencies;  ///< sorted by `earlier`; without cycles
};

struct GoalTrace {
  std::string file;
  std::vector<GoalRank> ranks;
};

/// Ranks of a file at most.
inline constexpr std::uint32_t most_goal_ranks = 262'144;

/// Reads a whole file. Errors: "FILE:LINE: what is wrong and what to do".
Result<GoalTrace> read_goal(const std::string& path);
/// The same from memory; `file` is for messages.
Result<GoalTrace> parse_goal(std::string_view text, const std::string& file);

/// Counts operations and pairs messages by ranks, tag and size.
Summary summary_of(const GoalTrace& trace);

}  // namespace weft::trace

// SPDX-License-Identifier: Apache-2.0
// What can be said about a job before any of its nodes starts: the files that its sinks would write
// over, and what its nodes would take of the machine.
#pragma once

#include <cstdint>

#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Where the nodes of a job run.
enum class NodesRun : std::uint8_t {
  in_processes,  ///< each in a process of this machine
  in_one_process,
};

/// Refuses a pipe that several input nodes would read, and sinks that would write to a directory,
/// to what a source reads (by device and inode, whatever the options say), twice to one file, or,
/// unless `replaces_files`, over a file.
Result<void> check_files(const StreamOptions& options);

/// What a job's nodes take, all together but for `descriptors`.
struct JobNeeds {
  std::uint64_t bytes = 0;
  std::uint64_t descriptors = 0;  ///< of the process that has most of them
  std::uint64_t mappings = 0;     ///< of the process that has most of them
};
JobNeeds needs_of(const StreamOptions& options, NodesRun run);

/// What a machine, and a process on it, can have.
struct MachineLimits {
  std::uint64_t bytes = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t mappings = 0;
};
MachineLimits limits_of_this_machine();

/// Whether there are nodes of both kinds, and not more than a job can have.
Result<void> check_nodes(const StreamOptions& options);

/// Refuses what exceeds the limits; the error has both figures.
Result<void> check_needs(const StreamOptions& options, NodesRun run, const MachineLimits& limits);

}  // namespace weft::stream

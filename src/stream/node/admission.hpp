// SPDX-License-Identifier: Apache-2.0
// Checks of a job before any of its nodes starts: the files that its sinks would write over, and
// the resources that its nodes would need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// The processes in which the nodes of a job run.
enum class NodesRun : std::uint8_t {
  in_processes,  ///< each in a process of this machine
  in_one_process,
};

/// The files that a job's source reads and its sinks write, as far as they are known before it
/// runs.
struct JobFiles {
  std::vector<std::string> read;
  std::vector<std::string> written;
};
JobFiles files_of(const StreamOptions& options);

/// Refuses a pipe that several input nodes would read, and sinks that would write to a directory,
/// to a file that a source reads (by device and inode), twice to one file, or, unless
/// `replaces_files`, over a file.
Result<void> check_files(const StreamOptions& options);

/// The resources of a job's nodes, all together but for `descriptors`.
struct JobNeeds {
  std::uint64_t bytes = 0;
  std::uint64_t descriptors = 0;  ///< of the process that has most of them
  std::uint64_t mappings = 0;     ///< of the process that has most of them
  std::uint64_t processes = 1;    ///< with the one that starts them
  std::uint64_t threads = 1;      ///< of all of them
};
JobNeeds needs_of(const StreamOptions& options, NodesRun run);

/// The limits of a machine, and of a process on it.
struct MachineLimits {
  std::uint64_t bytes = 0;
  std::uint64_t descriptors = 0;  ///< once the process has raised its limit
  std::uint64_t mappings = 0;
  std::uint64_t threads = 0;  ///< of all processes of this user
};
MachineLimits limits_of_this_machine();

/// Nodes of one kind that a job can have.
constexpr std::uint32_t most_nodes = 8192;

/// Checks whether there are nodes of both kinds, and not more than a job can have.
Result<void> check_nodes(const StreamOptions& options);

/// Refuses needs that exceed the limits; the error has both figures.
Result<void> check_needs(const StreamOptions& options, NodesRun run, const MachineLimits& limits);

/// Refuses needs that exceed this machine's limits, and raises this process's limit of open files,
/// which its nodes inherit, where they need more.
Result<void> admit(const StreamOptions& options, NodesRun run);

/// Says what a job of processes starts when that is more than a few for each core; empty otherwise.
std::string crowd_notice(const StreamOptions& options, unsigned cores);

}  // namespace weft::stream

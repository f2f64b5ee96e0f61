// SPDX-License-Identifier: Apache-2.0
// Runs a program under its launcher, and records it: a module that is loaded before the MPI records
// an MPI program; a program of weft's own records itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/record/recording.hpp"
#include "weft/result.hpp"

namespace weft::trace {

struct RecordOptions {
  std::vector<std::string> command;  ///< mpirun or `weft run`, and its words
  std::string directory;             ///< of the archive; must not exist
  std::string mpi;                   ///< "openmpi", "mpich"; empty: the launcher's
  /// Called with each SIGINT or SIGTERM that comes meanwhile; may be empty.
  std::function<void(int)> on_signal;
};

/// Runs the program to its end and makes the archive of its recordings, which are in
/// DIRECTORY.recordings until then, and stay there after an error, if there are any. Errors: there
/// is something in the archive's place; no module; recordings cannot be stored; the program cannot
/// be started, or ended with another code than 0 (cancelled: a signal came); those of
/// merge_recordings.
Result<Merged> record_program(const RecordOptions& options);

}  // namespace weft::trace

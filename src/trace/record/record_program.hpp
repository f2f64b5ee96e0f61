// SPDX-License-Identifier: Apache-2.0
// Runs a program as its launcher starts it, recorded: an MPI program by a module that is loaded
// before its MPI, one of weft's own by itself.
#pragma once

#include <string>
#include <vector>

#include "trace/record/recording.hpp"
#include "weft/result.hpp"

namespace weft::trace {

struct RecordOptions {
  std::vector<std::string> command;  ///< mpirun or `weft run`, and its words
  std::string directory;             ///< of the archive; must not be there
  std::string mpi;                   ///< "openmpi", "mpich"; empty: by what the launcher is
};

/// Waits until the program has ended and makes the archive. Errors: there is something in the
/// archive's place; no module; the program ended with another code than 0; those of
/// merge_recordings.
Result<Merged> record_program(const RecordOptions& options);

}  // namespace weft::trace

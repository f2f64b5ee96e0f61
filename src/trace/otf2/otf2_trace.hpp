// SPDX-License-Identifier: Apache-2.0
// OTF2 archives, by libotf2: weft reads those of any tool, and writes those of its own recorders.
// In a build without libotf2 both functions return an error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/events/event.hpp"
#include "trace/events/record.hpp"
#include "weft/result.hpp"

namespace weft::trace {

/// Opens an archive by its anchor file (traces.otf2). Ranks are the MPI processes; the reader
/// ignores their further threads. A non-blocking receive gets its source from its completion,
/// which the reader looks for within `look_ahead` events. If the completion comes later, the replay
/// posts the receive where it completes. Errors name file, rank and event. The reader notices a
/// truncated archive only at the end of a rank's events.
Result<std::unique_ptr<EventStream>> open_otf2(const std::string& path,
                                               std::size_t look_ahead = 65'536);

/// Writes an archive, rank by rank: `begin_rank`, `add` for each record and `end_rank`, then
/// `finish`. The caller gives each rank's records in the order of their times, all of one clock.
/// One thread. Errors: the file cannot be written; every later call returns the first error.
class Otf2Writer {
 public:
  virtual ~Otf2Writer() = default;
  virtual Result<void> begin_rank(std::uint32_t rank) = 0;
  /// Adds an event of the rank; the record's communicator is an index into those of `finish`.
  /// Ignores records that are definitions.
  virtual Result<void> add(const Record& record) = 0;
  virtual Result<void> end_rank() = 0;
  /// Writes the definitions and closes the archive. Members are ranks of the world; the first
  /// communicator is the world.
  virtual Result<void> finish(const std::vector<std::vector<std::uint32_t>>& communicators) = 0;
};

/// Makes DIRECTORY/traces.otf2 and its other files. Errors: the directory exists already, or cannot
/// be made.
Result<std::unique_ptr<Otf2Writer>> create_otf2(const std::string& directory, std::uint32_t ranks);

}  // namespace weft::trace

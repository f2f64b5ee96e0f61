// SPDX-License-Identifier: Apache-2.0
// OTF2 archives by libotf2: reading those of any tool, writing those of weft's recorders. A weft
// that was built without libotf2 refuses both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/events/event.hpp"
#include "trace/events/record.hpp"
#include "weft/result.hpp"

namespace weft::trace {

/// Opens an archive's anchor file (traces.otf2). Ranks are the MPI processes; further threads of
/// them are not looked at. Receives whose source was a wildcard get it from their completion, which
/// is looked for within `look_ahead` events; later ones are replayed as if posted where they
/// complete. Errors name file, rank and event; a truncated archive is one, found at its end.
Result<std::unique_ptr<EventStream>> open_otf2(const std::string& path,
                                               std::size_t look_ahead = 65'536);

/// Writes an archive, rank by rank. One thread. Records are given in the order of their times,
/// which are those of one clock.
class Otf2Writer {
 public:
  virtual ~Otf2Writer() = default;
  virtual Result<void> begin_rank(std::uint32_t rank) = 0;
  /// A record of that rank; its communicator counts among all of `finish`. Not for definitions.
  virtual Result<void> add(const Record& record) = 0;
  virtual Result<void> end_rank() = 0;
  /// Members are ranks of the world; the first communicator is the world.
  virtual Result<void> finish(const std::vector<std::vector<std::uint32_t>>& communicators) = 0;
};

/// Makes DIRECTORY/traces.otf2 and its other files. Errors: something is there already; no space.
Result<std::unique_ptr<Otf2Writer>> create_otf2(const std::string& directory, std::uint32_t ranks);

}  // namespace weft::trace

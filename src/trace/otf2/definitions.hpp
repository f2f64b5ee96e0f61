// SPDX-License-Identifier: Apache-2.0
// The definitions of an OTF2 archive: its clock, regions, processes and communicators. Private to
// trace/otf2.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/events/interpreter.hpp"
#include "weft/result.hpp"

namespace weft::trace {

struct Otf2Definitions {
  double ns_per_tick = 1;
  std::uint64_t first_tick = 0;
  std::vector<OTF2_LocationRef> locations;                        // by rank
  std::unordered_map<OTF2_LocationRef, std::uint64_t> events_of;  // by location
  std::unordered_map<OTF2_RegionRef, Call> calls;                 // MPI's, and marks of progress
  std::unordered_map<OTF2_CommRef, std::uint32_t> communicator_of;
  Communicators communicators;
};

/// libotf2 explains errors on standard error as well; after this call only our callers do.
void say_errors_once();

/// Why `file` of an archive cannot be used: the system does not open it, it is missing or empty, or
/// else what `otherwise` says.
Error error_of_file(const std::string& file, const std::string& otherwise);

/// Reads an archive's global definitions. Errors name the file and the missing part.
Result<Otf2Definitions> read_definitions(OTF2_Reader* reader, const std::string& path);

}  // namespace weft::trace

// SPDX-License-Identifier: Apache-2.0
// Reads the recordings of a program's ranks and makes an OTF2 archive of them.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "trace/events/interpreter.hpp"
#include "trace/events/record.hpp"
#include "weft/result.hpp"

namespace weft::trace {

/// One rank's recording, record by record. One thread. Nothing in the file is trusted.
class Recording {
 public:
  /// Errors: a file that cannot be read or is no recording of that rank.
  static Result<Recording> open(const std::string& path, std::uint32_t rank);

  std::uint32_t ranks() const { return ranks_; }
  /// The next record, of kind `end` at last. Error: the file ends before that, as that of a killed
  /// program does; a record of no kind.
  Result<Record> next();
  const std::string& path() const { return path_; }

 private:
  Recording() = default;

  std::string path_;
  std::ifstream in_;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 0;
  std::uint64_t number_ = 0;
  bool at_end_ = false;
};

struct Merged {
  std::uint32_t ranks = 0;
  std::uint64_t records = 0;
};

/// Makes the archive DIRECTORY/traces.otf2 of the recordings in `recordings`, with all times on
/// rank 0's clock. Errors: a rank without recording; a program that did not end in order; calls
/// that could not be recorded; those of create_otf2. After an error there is no such directory.
Result<Merged> merge_recordings(const std::string& recordings, const std::string& directory);

}  // namespace weft::trace

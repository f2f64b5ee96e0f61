// SPDX-License-Identifier: Apache-2.0
// ToldSteps: which checkpoints a process told the others that it has. A later life has to say the
// same at the same point of the program, although its earlier lives have saved more since.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

namespace weft::spmd {

/// A file in the checkpoints' directory. One thread.
class ToldSteps {
 public:
  /// A file that is missing, unreadable, or of another run than `run` has told nothing yet.
  ToldSteps(std::string path, std::string_view run);
  /// Returns the steps recorded at that place among the process's messages; none: no record.
  std::optional<std::vector<std::uint64_t>> at(std::uint64_t place) const;
  /// Errors: it cannot be written.
  Result<void> add(std::uint64_t place, std::vector<std::uint64_t> steps);

 private:
  std::string path_, run_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> told_;
};

}  // namespace weft::spmd

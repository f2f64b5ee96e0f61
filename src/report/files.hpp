// SPDX-License-Identifier: Apache-2.0
// Reading and writing files of records.
#pragma once

#include <string>

#include "weft/result.hpp"

namespace weft::report {

/// The whole of an ordinary file of a size that a record may have. Errors name it.
Result<std::string> read_file(const std::string& path);
/// With those above it; no error when it is there.
Result<void> make_directory(const std::string& dir);

/// The path of `name` in `dir`.
std::string in_directory(const std::string& dir, const char* name);

}  // namespace weft::report

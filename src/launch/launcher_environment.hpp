// SPDX-License-Identifier: Apache-2.0
// The parts of a launcher's own environment that its processes elsewhere get.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft {

/// Returns the launcher's environment variables, except those that belong to one process.
std::vector<std::pair<std::string, std::string>> environment_to_pass();
/// The program that this process runs.
std::string own_path();
std::string current_directory();

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// A list of hosts: a line "HOST [SLOTS]" for each, or "HOST slots=N" as in Open MPI's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

namespace weft {

struct HostSlots {
  std::string host;  ///< as ssh takes it; never empty, does not begin with '-'
  std::uint32_t slots = 1;
};

/// Hosts in the order of their first lines; slots of lines with the same host add up. '#' begins a
/// comment. `path` is for error messages: "PATH:LINE: what is wrong, and the fix".
Result<std::vector<HostSlots>> parse_host_file(std::string_view text, const std::string& path);
/// Blocks on the file, of at most 1 MiB.
Result<std::vector<HostSlots>> read_host_file(const std::string& path);

}  // namespace weft

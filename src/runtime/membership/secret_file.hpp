// SPDX-License-Identifier: Apache-2.0
// The file that the processes of a cluster prove with that they belong together.
#pragma once

#include <string>
#include <string_view>

#include "weft/result.hpp"

namespace weft {

constexpr std::size_t shortest_secret = 16;
constexpr std::size_t longest_secret = 4096;

/// The bytes of the file without line ends at its end: at least 16, at most 4096. Refused when
/// its mode lets the group or others read, change or run it. Errors begin with `asked_by`: the
/// option, or the line of a file, that names the path.
Result<std::string> read_secret_file(const std::string& path,
                                     std::string_view asked_by = "--secret-file");

/// The secret of this user, from weft/secret in $XDG_CONFIG_HOME or else ~/.config, made when it is
/// not there: for jobs whose processes share a home directory and were given no secret of their
/// own. Any number of processes may make it at the same time; all get the same.
Result<std::string> read_own_secret();

}  // namespace weft

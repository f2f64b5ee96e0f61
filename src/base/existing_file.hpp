// SPDX-License-Identifier: Apache-2.0
// Decides about an existing file of the requested name, and about files that must never be written
// over.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// The treatment of an ordinary file that has the name of a new one. Devices and pipes are written
/// to in either case.
enum class Existing : std::uint8_t {
  refuse,   ///< it stays, and the new one is not made
  replace,  ///< the new one takes its place once it is complete
};

/// "cannot write 'x': it exists already …".
Error exists_error(const std::string& path);

/// Refuses an ordinary file that exists, unless `existing` replaces it.
Result<void> refuse_existing(const std::string& path, Existing existing);

/// Refuses `out` when it is one of the files that are read, under any name: files are compared by
/// device and inode. Nothing allows that.
Result<void> refuse_own_input(std::span<const std::string> inputs, const std::string& out);

/// A descriptor that writes to an existing path that is no ordinary file. Opening a pipe that
/// nobody reads waits for its reader, without end; here it fails after `patience`.
Result<int> open_special(const std::string& path, Duration patience = Duration::seconds(5));

/// rename(2) that refuses, with EEXIST, a name that is taken unless `existing` replaces it. Returns
/// an errno, 0 for success.
int rename_file(const std::string& from, const std::string& to, Existing existing);

}  // namespace weft

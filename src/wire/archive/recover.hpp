// SPDX-License-Identifier: Apache-2.0
// Recovers the whole items of an archive whose writer did not live to finish it, or had no room to.
#pragma once

#include <cstdint>
#include <string>

#include "base/existing_file.hpp"
#include "weft/result.hpp"

namespace weft::wire {

/// Cuts an archive that ends inside of an item behind the last whole one, and ends a compressed
/// stream there. Bytes that are damaged are an error: whole items may follow them. It needs no room
/// for a copy. A full disk may have no room for the few bytes that end a stream: the item before
/// the last one makes it then. Returns the number of items left; 0 leaves the file as it is,
/// because nothing in it is of use.
Result<std::uint64_t> keep_whole_items(const std::string& path);

/// Gives `unfinished` the name `path`. Errors: the name is taken and `existing` refuses that, or
/// the system refuses; they say that `unfinished` has the data.
Result<void> give_name(const std::string& unfinished, const std::string& path, Existing existing);

/// Returns whether a process holds the unfinished file open to write to it.
bool is_being_written(const std::string& unfinished);

/// The archive that was made of an unfinished file.
struct RecoveredArchive {
  std::string path;
  std::uint64_t items = 0;
  std::uint64_t removed_bytes = 0;  ///< of the file, behind the last whole item
};

/// Returns the end of an error of reading `path`: how `weft archive recover` could help, if the
/// file is an unfinished archive or some are beside it; else empty.
std::string hint_at_recovery(const std::string& path);

/// Completes an unfinished archive, which may also be named without .part-PID when it is the only
/// one of that name, as `weft archive recover` does. Its name becomes `out`, or if
/// that is empty, the one that its writer would have given it. Errors, in all of which the file
/// stays: a process still writes it, it is damaged, nothing in it is whole, its name is not that of
/// an unfinished file, `out` is on another file system, and those of `give_name`.
Result<RecoveredArchive> recover_archive(const std::string& name, const std::string& out,
                                         Existing existing);

}  // namespace weft::wire

// SPDX-License-Identifier: Apache-2.0
// Completes the files of compute nodes that were killed and not started again.
#pragma once

#include <cstdint>

#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Before a job: sets `options.run`, a name that no unfinished file has yet, and with
/// `replaces_files` also `options.older_files`, the files that existed before.
void begin_files(StreamOptions& options);
/// Completes the files of this run, and warns of each archive that ends early. Call it when all
/// nodes have ended. Returns the error of the first file that it could not complete, after all.
Result<void> complete_killed_files(const StreamOptions& options);
/// Warns of unfinished archives of earlier runs that have the names of this compute node's
/// archives. Each warning has the command that completes the archive.
void tell_of_files_left_behind(const StreamOptions& options, std::uint32_t compute);

}  // namespace weft::stream

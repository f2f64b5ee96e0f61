// SPDX-License-Identifier: Apache-2.0
// What becomes of the files of compute nodes that were killed and not started again.
#pragma once

#include <cstdint>

#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Before a job: says which files are of its run, and which existed before.
void begin_files(StreamOptions& options);
/// Completes these files after a job, and warns of each archive that ends early. No node may live.
/// Errors: the first file that could not be completed.
Result<void> complete_killed_files(const StreamOptions& options);
/// Warns of archives that earlier runs left unfinished under the names of this compute node's, with
/// the command that completes each.
void tell_of_files_left_behind(const StreamOptions& options, std::uint32_t compute);

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// What becomes of the files of compute nodes that were killed and not started again.
#pragma once

#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Before a job: says which files are of its run, and which existed before.
void begin_files(StreamOptions& options);
/// Completes these files after a job, and warns of each archive that ends early. No node may live.
/// Errors: the first file that could not be completed.
Result<void> complete_killed_files(const StreamOptions& options);
/// Warns of these files after a job whose other nodes kept nothing either.
void tell_of_killed_files(const StreamOptions& options);

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// The work of a forked node of a local job: open its fabric, learn its peers, drive its part of the
// job until everybody is done.
#pragma once

#include "stream/local/local_job.hpp"
#include "stream/node/stream_fabric.hpp"
#include "stream/node/stream_node.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Runs in the forked process until the job lets it leave, or its channel closes. Returns the exit
/// code: 1 after an error, of which it tells the job. `processes`: how many nodes share this
/// machine.
int run_local_node(const StreamOptions& options, const JobSecret& job, const NodeFactory& factory,
                   std::uint32_t processes, std::string_view log_level, NodePlace place);

/// The text of a `progress` message, and back; without `elapsed`. Nothing when it is no such text.
std::string encode_progress(const StreamProgress& progress);
std::optional<StreamProgress> decode_progress(const std::string& text);

}  // namespace weft::stream

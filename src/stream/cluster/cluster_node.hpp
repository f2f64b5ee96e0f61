// SPDX-License-Identifier: Apache-2.0
// One process of a cluster's job: `weft stream node`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.hpp"
#include "stream/cluster/join.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

struct ClusterRun {
  std::string log_level = "warning";
  std::string metrics;  ///< "[HOST]:PORT" of an OpenMetrics endpoint of node 0; empty: none
  /// Called about twice a second at node 0.
  std::function<void(const StreamProgress&)> on_progress;
};

/// How a node's part ended.
struct ClusterOutcome {
  /// At node 0: the record of all nodes.
  std::optional<report::RunRecord> record;
  /// At node 0: why nodes could not go on, "node 3: …", and which of them are missing.
  std::vector<std::string> failures;
};

/// Takes part in a job until its end. Counts SIGINT and SIGTERM meanwhile: the first ends the
/// stream in agreement, the second this process. Errors: options that differ from another node's
/// (invalid_argument), nobody there (timed_out), node 0 lost (unavailable), interrupted
/// (cancelled), and those of this node's source, sink or fabric.
///
/// Takes the rendezvous out of `joined`. Its session stays, for the caller to end when all is
/// written: a launcher that was told to end the job gives a process that leaves the session no
/// answer, and kills it.
Result<ClusterOutcome> run_cluster_node(const StreamOptions& options, const ClusterRun& run,
                                        JoinedCluster& joined);

}  // namespace weft::stream

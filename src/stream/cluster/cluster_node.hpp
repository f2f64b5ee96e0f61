// SPDX-License-Identifier: Apache-2.0
// Runs one process of a stream job on a cluster: `weft stream node`.
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

/// The settings of this process that the other nodes need not share.
struct ClusterRun {
  std::string log_level = "warning";
  std::string metrics;  ///< "[HOST]:PORT" of node 0's OpenMetrics endpoint; empty: no endpoint
  /// Node 0 calls this about twice a second, in the thread of `run_cluster_node`.
  std::function<void(const StreamProgress&)> on_progress;
};

/// The result of one node's participation.
struct ClusterOutcome {
  /// The record of all nodes; only node 0 has it.
  std::optional<report::RunRecord> record;
  /// The reasons why nodes failed, "node 3: …", and the missing nodes; only node 0 has them.
  std::vector<std::string> failures;
};

/// Runs this node until the job ends, and blocks meanwhile. Counts SIGINT and SIGTERM: the first
/// signal ends the stream on all nodes in agreement, the second one kills this process. Errors:
/// invalid_argument when options differ from another node's, timed_out when no other node appears,
/// unavailable when node 0 is lost, cancelled after a signal, and the errors of this node's source,
/// sink or fabric.
///
/// The function moves the rendezvous out of `joined` and leaves the launcher's session in it. The
/// caller must end that session after it has written its results: a launcher that is ending the job
/// kills a process that leaves the session.
Result<ClusterOutcome> run_cluster_node(const StreamOptions& options, const ClusterRun& run,
                                        JoinedCluster& joined);

}  // namespace weft::stream

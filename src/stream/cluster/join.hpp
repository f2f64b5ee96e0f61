// SPDX-License-Identifier: Apache-2.0
// Joining a cluster: from the options of a user or a launcher to an open rendezvous endpoint that
// knows all the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/choice/fabric_choice.hpp"
#include "runtime/manager/manager_session.hpp"
#include "weft/fabric.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// docs/cluster.md explains each.
struct ClusterConfig {
  /// "HOST:PORT" of each node's rendezvous, by rank. Empty: all comes from PMIx.
  std::vector<std::string> nodes;
  std::optional<std::uint32_t> rank;  ///< none: the only one of `nodes` that is this machine
  std::string secret_file;            ///< needed with `nodes`
  std::string network;                ///< "10.1.0.0/16": which of this machine's addresses to use
  std::uint16_t data_port = 0;        ///< of the stream's TCP fabric is data_port + rank; 0: any
  Duration peer_timeout = Duration::seconds(10);
};

/// A process's place in its cluster.
struct JoinedCluster {
  NodeId self{};
  std::uint32_t nodes = 0;
  Incarnation incarnation{};
  JobSecret job;
  std::string listen;     ///< numeric "HOST:PORT" for the stream's fabric
  std::string advertise;  ///< numeric host for it; empty: the one listened on
  /// Held until the process is done; none without a launcher.
  std::unique_ptr<ManagerSession> session;
  std::unique_ptr<Fabric> rendezvous;  ///< has all other nodes as peers
  /// Opens it anew, for `incarnation` as it is then; the former one must be gone.
  std::function<Result<std::unique_ptr<Fabric>>(const JoinedCluster&)> open_rendezvous;
  /// The latest life of this node that others say to know, when that is not an earlier one.
  std::shared_ptr<Incarnation> outlived_by = std::make_shared<Incarnation>();
};

/// Checks whether `config` or a launcher says who the other nodes are; if not, why there is no
/// cluster.
Result<void> check_cluster(const ClusterConfig& config);
/// Errors name the option, its value and the fix. Blocks for names to be looked up, and with PMIx
/// until all processes of the job have come here.
Result<JoinedCluster> join_cluster(const ClusterConfig& config);

}  // namespace weft::stream

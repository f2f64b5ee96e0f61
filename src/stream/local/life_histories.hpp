// SPDX-License-Identifier: Apache-2.0
// The progress that compute nodes sent, kept for the lives that end without a report.
#pragma once

#include <cstdint>
#include <vector>

#include "core/stream/roster.hpp"
#include "stream/node/node_report.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

class LifeHistories {
 public:
  /// Nodes tell of their progress every `told_every`.
  LifeHistories(Roster roster, Duration told_every)
      : roster_(roster), told_every_(told_every), lives_(roster.computes) {}

  /// Sums of the node's present life. Those of input nodes are not kept.
  void hear(NodeId node, const StreamProgress& progress, Instant now);
  /// Returns the reports of all lives except the last lives of the nodes that have reported.
  std::vector<NodeReport> remains(const std::vector<NodeReport>& reports, Duration bucket) const;

 private:
  struct Life {
    Instant started{};
    std::vector<ProgressSample> samples;
  };

  Roster roster_;
  Duration told_every_;
  std::vector<std::vector<Life>> lives_;  // by compute node
};

}  // namespace weft::stream

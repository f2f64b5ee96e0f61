// SPDX-License-Identifier: Apache-2.0
// The nodes of the many-to-many write benchmark (core/stream/limit_machine.hpp), for the same loop
// that drives stream nodes.
#pragma once

#include <memory>

#include "core/stream/limit_machine.hpp"
#include "stream/node/stream_node.hpp"

namespace weft::stream {

/// The report's sent_bytes, started and ended tell a sender's bandwidth.
std::unique_ptr<StreamNode> make_limit_sender(const LimitConfig& config);
Result<std::unique_ptr<StreamNode>> make_limit_receiver(const LimitConfig& config, Fabric& fabric);
/// Makes every node of a benchmark; `self` of the configuration is each node's own.
NodeFactory limit_node_factory(const LimitConfig& config);

/// The sum of the senders' reports.
report::LimitRow limit_row(const LimitConfig& config, const std::vector<NodeReport>& reports);

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// NodeLoop: the one driver loop. Completions into the node, the node's operations into the fabric,
// and sleep when there is nothing to do.
#pragma once

#include <functional>

#include "core/stream/outbox.hpp"
#include "runtime/sleeper.hpp"
#include "stream/node/stream_node.hpp"
#include "weft/fabric.hpp"

namespace weft::stream {

class NodeLoop {
 public:
  NodeLoop(Fabric& fabric, StreamNode& node, Duration spin);

  /// Also wakes up for this descriptor.
  void watch(int descriptor) { sleeper_.watch(descriptor); }
  /// One round: poll, work, post; sleeps (at most until `until`) if nothing moved.
  void turn(Instant until);
  /// Everything that was handed to the fabric has left.
  bool flushed() const { return out_.tx.empty() && outstanding_ == 0; }

 private:
  Fabric& fabric_;
  StreamNode& node_;
  Sleeper sleeper_;
  Outbox out_;
  std::size_t outstanding_ = 0;
};

}  // namespace weft::stream

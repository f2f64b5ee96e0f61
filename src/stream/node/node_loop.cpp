// SPDX-License-Identifier: Apache-2.0
#include "stream/node/node_loop.hpp"

#include <algorithm>
#include <array>

#include "runtime/clock.hpp"

namespace weft::stream {

NodeLoop::NodeLoop(Fabric& fabric, StreamNode& node, Duration spin)
    : fabric_(fabric), node_(node), sleeper_(spin) {
  for (const int descriptor : node.descriptors()) sleeper_.watch(descriptor);
}

void NodeLoop::turn(Instant until) {
  std::array<Completion, 64> completions;
  const Instant now = monotonic_now();
  const std::size_t n = fabric_.poll(now, completions);
  for (std::size_t i = 0; i < n; ++i) {
    const CompletionKind kind = completions[i].kind;
    if (kind == CompletionKind::sent || kind == CompletionKind::written ||
        kind == CompletionKind::failed) {
      --outstanding_;
    }
    node_.on_completion(now, completions[i]);
  }
  const bool moved = node_.work(now, out_);
  const std::size_t posted = fabric_.post(out_.tx.view());
  outstanding_ += posted;
  out_.posted(posted);
  if (n > 0 || moved || posted > 0) {
    sleeper_.busy(now);
    return;
  }
  // Operations that the fabric refused are offered again when it has made progress.
  sleeper_.idle(now, fabric_, std::min(until, node_.next_deadline()));
}

}  // namespace weft::stream

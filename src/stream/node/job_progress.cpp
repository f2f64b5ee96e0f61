// SPDX-License-Identifier: Apache-2.0
#include "stream/node/job_progress.hpp"

namespace weft::stream {

void JobProgress::set(NodeId id, Incarnation life, const StreamProgress& progress) {
  Node& node = nodes_[id.value()];
  if (life < node.life) return;
  if (life != node.life) {
    node.timeslices_before += node.now.timeslices;
    node.bytes_before += node.now.bytes;
    node.life = life;
  }
  node.now = progress;
}

StreamProgress JobProgress::total(Instant now) {
  StreamProgress sum;
  int computes = 0;
  for (const Node& node : nodes_) {
    sum.timeslices += node.timeslices_before + node.now.timeslices;
    sum.bytes += node.bytes_before + node.now.bytes;
    if (node.now.timeslices == 0) continue;
    sum.spread_us += node.now.spread_us;
    sum.buffer_fill += node.now.buffer_fill;
    ++computes;
  }
  if (computes > 0) {
    sum.spread_us /= computes;
    sum.buffer_fill /= computes;
  }
  sum.elapsed = now - start_;
  const double seconds = (now - last_).to_seconds();
  if (seconds > 0) {
    sum.goodput_bytes_per_s = static_cast<double>(sum.bytes - last_bytes_) / seconds;
  }
  last_ = now;
  last_bytes_ = sum.bytes;
  return sum;
}

}  // namespace weft::stream

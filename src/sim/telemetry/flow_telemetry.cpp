// SPDX-License-Identifier: Apache-2.0
#include "sim/telemetry/flow_telemetry.hpp"

#include <algorithm>
#include <bit>

namespace weft::sim {

void FlowFigures::add(const FlowSample& flow) {
  const PicoDuration took = flow.end - flow.start;
  shortest_ = latencies_.count == 0 ? took : std::min(shortest_, took);
  longest_ = std::max(longest_, took);
  latencies_.add(took);
  bytes_ += flow.bytes;
  const auto size_class = static_cast<std::size_t>(std::bit_width(flow.bytes | 1) - 1);
  auto& of_size = by_size_[size_class];
  if (!of_size) of_size = std::make_unique<LatencyHistogram>();
  of_size->add(took);
  samples_.add(flow);
}

void FlowTelemetry::delivered(PicoInstant now, const Message& message) {
  const MessageRequest& request = message.request;
  if (request.user >= users_.size()) users_.resize(std::size_t{request.user} + 1);
  auto& of = users_[request.user];
  if (!of) of = std::make_unique<FlowFigures>();
  of->add({.source = request.source,
           .destination = request.destination,
           .bytes = request.bytes,
           .start = message.posted,
           .end = now});
}

}  // namespace weft::sim

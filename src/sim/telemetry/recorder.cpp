// SPDX-License-Identifier: Apache-2.0
#include "sim/telemetry/recorder.hpp"

#include <utility>

namespace weft::sim {

Recorder::Recorder(Network& network, std::string router, TraceFile* trace)
    : network_(&network),
      topology_(network.topology()),
      router_(std::move(router)),
      levels_(static_cast<std::uint8_t>(network.options().levels.size())),
      links_(topology_.links()) {
  rates_.reserve(topology_.links());
  for (std::uint32_t l = 0; l < topology_.links(); ++l) rates_.push_back(network.rate(LinkId(l)));
  for (std::uint32_t l = 0; l < topology_.links(); ++l) {
    for (std::uint8_t v = 0; v < levels_; ++v) counters_.push_back(network.counters(LinkId(l), v));
  }
  if (trace != nullptr) trace_.emplace(topology_, *trace);
  network.set_observer(this);
}

void Recorder::finish(PicoInstant end) {
  network_->set_observer(nullptr);
  links_.finish(end);
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const auto link = LinkId(static_cast<std::uint32_t>(i / levels_));
    // The engine may be at the end of all time, if it has run until nothing was left to do.
    const auto all = network_->counters(link, static_cast<std::uint8_t>(i % levels_), links_.end());
    counters_[i] = all - counters_[i];
  }
  network_ = nullptr;
  if (trace_) trace_->finish();
}

void Recorder::on_queued(PicoInstant now, LinkId link, std::uint8_t, std::uint64_t bytes) {
  links_.queued(now, link, bytes);
  if (trace_) trace_->queued(now, link, bytes);
}

void Recorder::on_transmit(LinkId link, const Packet& packet, const Message& message,
                           std::uint64_t waited, const net::Transit& transit) {
  links_.transmitted(link, packet.bytes, waited, transit.start, transit.departure);
  if (trace_) trace_->transmitted(link, packet, message, waited, transit);
}

void Recorder::on_delivered(PicoInstant now, const Message& message) {
  links_.delivered(now);
  flows_.delivered(now, message);
  if (trace_) trace_->delivered(now, message);
}

}  // namespace weft::sim

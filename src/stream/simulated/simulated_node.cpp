// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_node.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "sim/fabric/sim_endpoint.hpp"

namespace weft::stream {
namespace {

/// The time that a turn of the loop takes: two nodes cannot exchange messages in no time.
constexpr PicoDuration least_turn = PicoDuration::nanoseconds(100);

}  // namespace

SimulatedNode::SimulatedNode(SimulatedPlace& shared, const sim::ProcessPlace& place)
    : HostedProcess(place), shared_(shared), here_(hub().is_here(self())) {
  if (here_) set_timer(now() + to_pico(shared_.sample_every), sample_timer);
}

Result<void> SimulatedNode::start() {
  begin_life();
  said_started_ = finished_ = false;
  if (!here_) {
    hub().begin_elsewhere(self(), incarnation());
    return {};
  }
  fabric_ = hub().open(self(), incarnation(), [this] {
    const auto& endpoint = static_cast<const sim::SimEndpoint&>(*fabric_);
    wake_at(endpoint.ready_at());
  });
  auto node = shared_.factory(self(), incarnation().value() > 1, *fabric_, local_now());
  if (!node) return std::move(node).error();
  node_ = std::move(node).value();
  loop_.emplace(*fabric_, *node_, [this](NodeId peer) -> std::optional<PeerPlace> {
    return PeerPlace{hub().incarnation_of(peer), hub().address_of(peer)};
  });
  wake_at(now());
  return {};
}

void SimulatedNode::close() {
  if (alive() && !here_) hub().end_elsewhere(self());
  loop_.reset();
  node_.reset();
  fabric_.reset();
}

void SimulatedNode::stop() {
  if (node_ == nullptr) return;
  node_->stop();
  wake_at(now());
}

void SimulatedNode::die() {
  if (node_ != nullptr) node_->leave();
  kill();
}

void SimulatedNode::on_timer(std::uint16_t detail, std::uint64_t payload) {
  if (detail != sample_timer) return HostedProcess::on_timer(detail, payload);
  if (node_ != nullptr && !paused()) node_->sample(local_now());
  set_timer(now() + to_pico(shared_.sample_every), sample_timer);
}

void SimulatedNode::turn() {
  const NodeTurn::Done done = loop_->turn(local_now());
  const auto handled = static_cast<std::int64_t>(done.messages + done.posted);
  const PicoInstant until = now() + std::max(least_turn, shared_.overhead * handled);
  work_until(until);
  if (shared_.on_turn && done.moved) shared_.on_turn(self(), until, done);
  if (!said_started_ && node_->started()) {
    said_started_ = true;
    if (node_->began_stream()) ++streams_begun_;
    shared_.on_change();
  }
  if (node_->failure()) shared_.on_change();
  if (!finished_ && node_->finished() && loop_->flushed()) {
    finished_ = true;
    shared_.on_change();
  }
  if (done.moved) return wake_at(until);
  wake_at(clock().when(node_->next_deadline()));
  wake_at(static_cast<const sim::SimEndpoint&>(*fabric_).ready_at());
}

NodeReport SimulatedNode::report() {
  WEFT_CHECK(node_ != nullptr);
  NodeReport r = node_->report();
  r.began_anew = streams_begun_ > 1;
  const auto in_simulation = [this](Instant t) {
    return t == Instant::never() ? t : to_nano(clock().when(t));
  };
  r.started = in_simulation(r.started);
  r.ended = in_simulation(r.ended);
  for (auto& i : r.intervals) i.start = in_simulation(i.start);
  for (auto& b : r.built) b.at = in_simulation(Instant(b.at)).ticks();
  for (auto& f : r.fills) f.at = in_simulation(Instant(f.at)).ticks();
  return r;
}

}  // namespace weft::stream

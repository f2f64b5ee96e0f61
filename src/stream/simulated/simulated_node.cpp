// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_node.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "sim/fabric/sim_endpoint.hpp"

namespace weft::stream {
namespace {

/// What a turn of the loop takes by itself: two nodes cannot exchange messages in no time.
constexpr PicoDuration least_turn = PicoDuration::nanoseconds(100);

}  // namespace

SimulatedNode::SimulatedNode(SimulatedPlace& place, NodeId self, std::uint32_t host,
                             sim::NodeClock clock, Rng noise)
    : place_(place),
      self_(self),
      host_(host),
      here_(place.hub.is_here(self)),
      agent_(place.agents.add(*this)),
      clock_(clock),
      noise_(noise) {
  if (!here_) return;
  draw_noise();
  set_timer(now() + to_pico(place_.sample_every), sample_timer);
}

Result<void> SimulatedNode::start() {
  ++incarnation_;
  alive_ = true;
  said_started_ = finished_ = paused_ = false;
  next_turn_ = PicoInstant::never();
  if (!here_) {
    place_.hub.begin_elsewhere(self_, incarnation_);
    return {};
  }
  fabric_ = place_.hub.open(self_, incarnation_, [this] {
    const auto& endpoint = static_cast<const sim::SimEndpoint&>(*fabric_);
    turn_at(endpoint.ready_at());
  });
  auto node = place_.factory(self_, incarnation_.value() > 1, *fabric_, clock_.at(now()));
  if (!node) return std::move(node).error();
  node_ = std::move(node).value();
  loop_.emplace(*fabric_, *node_);
  turn_at(now());
  return {};
}

void SimulatedNode::kill() {
  if (alive_ && !here_) place_.hub.end_elsewhere(self_);
  alive_ = false;
  loop_.reset();
  node_.reset();
  fabric_.reset();
  paused_ = false;
  place_.hub.set_reachable(self_, true);
}

void SimulatedNode::pause() {
  paused_ = true;
  place_.hub.set_reachable(self_, false);
}

void SimulatedNode::resume() {
  if (!paused_) return;
  paused_ = false;
  place_.hub.set_reachable(self_, true);
  next_turn_ = PicoInstant::never();
  turn_at(now());
}

void SimulatedNode::jump_clock(Duration by) {
  clock_.jump(by);
  turn_at(now());
}

void SimulatedNode::stop() {
  if (node_ == nullptr) return;
  node_->stop();
  turn_at(now());
}

void SimulatedNode::set_timer(PicoInstant at, Timer timer) {
  place_.agents.set_timer(agent_, host_, at, timer);
}

void SimulatedNode::turn_at(PicoInstant at) {
  if (node_ == nullptr || paused_ || at == PicoInstant::never()) return;
  at = std::max({at, busy_until_, now()});
  if (at >= next_turn_) return;
  next_turn_ = at;
  place_.agents.set_wake(agent_, host_, at);
}

void SimulatedNode::on_wake() {
  // One that was moved to an earlier time, or is of a former life, is over.
  if (node_ == nullptr || paused_ || now() != next_turn_) return;
  next_turn_ = PicoInstant::never();
  if (busy_until_ > now()) {
    turn_at(busy_until_);
  } else {
    place_.agents.engine().count_wake();
    turn();
  }
}

void SimulatedNode::on_timer(std::uint16_t detail, std::uint64_t) {
  if (detail == sample_timer) {
    if (node_ != nullptr && !paused_) node_->sample(clock_.at(now()));
    set_timer(now() + to_pico(place_.sample_every), sample_timer);
    return;
  }
  busy_until_ = std::max(busy_until_, now()) +
                PicoDuration(static_cast<std::int64_t>(
                    noise_.exponential(static_cast<double>(to_pico(place_.noise.mean).ticks()))));
  draw_noise();
}

void SimulatedNode::draw_noise() {
  if (place_.noise.every == Duration{}) return;
  const double mean = static_cast<double>(to_pico(place_.noise.every).ticks());
  set_timer(std::max(now(), busy_until_) +
                PicoDuration(1 + static_cast<std::int64_t>(noise_.exponential(mean))),
            noise_timer);
}

void SimulatedNode::turn() {
  const NodeTurn::Done done = loop_->turn(clock_.at(now()));
  const auto handled = static_cast<std::int64_t>(done.messages + done.posted);
  busy_until_ = now() + std::max(least_turn, place_.overhead * handled);
  if (place_.on_turn && done.moved) place_.on_turn(self_, busy_until_, done);
  if (node_->failure() || (!said_started_ && node_->started())) {
    said_started_ = true;
    place_.on_change();
  }
  if (!finished_ && node_->finished() && loop_->flushed()) {
    finished_ = true;
    place_.on_change();
  }
  if (done.moved) {
    turn_at(busy_until_);
    return;
  }
  turn_at(clock_.when(node_->next_deadline()));
  turn_at(static_cast<const sim::SimEndpoint&>(*fabric_).ready_at());
}

NodeReport SimulatedNode::report() {
  WEFT_CHECK(node_ != nullptr);
  NodeReport r = node_->report();
  const auto in_simulation = [this](Instant t) {
    return t == Instant::never() ? t : to_nano(clock_.when(t));
  };
  r.started = in_simulation(r.started);
  r.ended = in_simulation(r.ended);
  for (auto& i : r.intervals) i.start = in_simulation(i.start);
  for (auto& b : r.built) b.at = in_simulation(Instant(b.at)).ticks();
  for (auto& f : r.fills) f.at = in_simulation(Instant(f.at)).ticks();
  return r;
}

}  // namespace weft::stream

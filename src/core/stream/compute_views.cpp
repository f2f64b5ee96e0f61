// SPDX-License-Identifier: Apache-2.0
// How a compute node follows views.
#include <utility>

#include "core/stream/compute_machine.hpp"

namespace weft::stream {

void ComputeMachine::offer(std::uint32_t input) {
  PairReceiver& pair = pairs_[input];
  if (!takes_part_ || promised_ || !peers_[input].up || !view_.inputs.contains(input)) return;
  if (pair.offered()) return;
  if (pair.view() != view_.number) {
    if (!pair.drained()) return;  // the sink still holds some of it
    awaits_sink_ = awaits_sink_ || sink_holds_what_is_to_come();
    if (awaits_sink_) return;
    pair.restart(view_.number);
  } else if (pair.untouched()) {
    pair.offer_again();  // the connection broke before the input node could begin
  } else {
    return;  // it broke in the middle: only the next view knows where the pair stands
  }
  owe(input, owes_hello);
}

/// Whether the sink holds a timeslice of earlier views that this one takes as not done: new
/// contributions to it would meet the old ones.
bool ComputeMachine::sink_holds_what_is_to_come() {
  bool holds = false;
  table_.for_each([&](const Assembly& assembly) {
    const TimesliceIndex t = assembly.timeslice;
    const bool delivered = assembly.state == Assembly::State::delivered;
    holds = holds || (delivered && t >= next_ && is_own(t) && !view_.is_done(t));
  });
  return holds;
}

void ComputeMachine::on_prepare(std::uint32_t from, const Prepare& prepare) {
  if (prepare.base < view_.number) {
    // It leads from an old view. The input nodes of the newer one may all have died since.
    owe(from, owes_view);
    return;
  }
  if (prepare_ && beats(*prepare_, prepare)) {
    outbid_ = NodeId(from);
    return;
  }
  outbid_.reset();
  prepare_ = prepare;
  prepared_by_ = NodeId(from);
  asker_stayed_ = peers_[from].up;
  promised_ = false;
}

/// A node that was left out of a view because it did not answer in time announces itself later.
void ComputeMachine::speak_up() {
  if (outbid_ && prepare_ && !asker_stayed_) {
    // Nobody will decide on the higher question, and this node answers none that is lower.
    promise_ = Promise{.number = number_to_beat(*prepare_, prepared_by_, *outbid_),
                       .next = TimesliceIndex{},
                       .done = {}};
    owe(outbid_->value(), owes_promise);
    outbid_.reset();
  }
  if (!is_outside_ || prepare_) return;
  // A member by name is needed at once; others only delay things until they can take part.
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const bool missing = view_.inputs.contains(i) && !peers_[i].up;
    if (missing && !view_.computes.contains(config_.self)) return;
  }
  promise_ = Promise{.number = view_.number, .next = TimesliceIndex{}, .done = {}};
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].up) owe(i, owes_promise);
  }
  is_outside_ = false;
}

void ComputeMachine::promise_when_connected() {
  if (!prepare_ || promised_ || prepare_->base != view_.number) return;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (prepare_->inputs.contains(i) && !peers_[i].up) return;
  }
  promise_ = Promise{.number = prepare_->number,
                     .next = delivered_below_,
                     .done = {},
                     .remembers = remembers_,
                     .takes_part = takes_part_};
  if (takes_part_) {
    promise_.done.push_back({.compute = config_.self, .below = next_});
  }
  promised_ = true;
  discard_all();
  owe(prepared_by_.value(), owes_promise);
}

void ComputeMachine::on_view(Instant now, const View& next) {
  const bool promised = promised_ && prepare_ && comes_of(next, *prepare_);
  // One that builds on an older view came to nothing, and must not stand in the way of others.
  if (prepare_ && (prepare_->number <= next.number || prepare_->base < next.number)) {
    prepare_.reset();
  }
  const View before = std::exchange(view_, next);
  promised_ = false;
  messages_.clear();  // they speak of the old grid
  takes_part_ = awaits_sink_ = false;
  discard_all();
  // A new life of this node is not the view's member, unless it promised to be.
  takes_part_ = promised && next.computes.contains(config_.self);
  began_stream_ = began_stream_ || (takes_part_ && before.number == 0);
  remembers_ = remembers_ || (takes_part_ && !next.unsure);
  next_give_up_ = Instant::never();
  behind_.clear();
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    peers_[i].given_up = TimesliceIndex{};
    peers_[i].late_since = Instant::never();
    const bool member = next.inputs.contains(i);
    if (before.inputs.contains(i) != member) schedule_->on_input(now, i, member);
  }
  outbid_.reset();
  is_outside_ = !takes_part_;
  if (!takes_part_) return;
  const std::uint32_t rank = next.computes.rank(config_.self);
  next_ = next_own(next.first.plus(rank));
  begun_below_ = consumed_ = next_;
  schedule_->on_grid(now, next.grid(), rank);
  early_.take(next.number, [&](std::uint32_t input, std::span<const std::byte> payload) {
    schedule_->on_message(now, input, payload);
  });
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    offer(i);
    Peer& peer = peers_[i];
    if (peer.has_deferred && peer.deferred.view <= next.number) {
      peer.has_deferred = false;
      if (!on_written(now, i, peer.deferred)) ++counters_.refused_messages;
    }
  }
}

void ComputeMachine::on_end(std::uint32_t input, TimesliceIndex ended) {
  peers_[input].ended = ended;
  table_.for_each([&](Assembly& assembly) {
    if (assembly.timeslice < ended || !assembly.waiting_for.contains(input)) return;
    assembly.waiting_for.erase(input);
  });
  deliver_complete();
}

void ComputeMachine::discard_all() {
  // Incomplete timeslices are sent again in the next view. Those at the sink stay until released.
  for (auto& pair : pairs_) pair.withdraw();
  scratch_.clear();
  table_.for_each([&](Assembly& assembly) {
    if (assembly.state == Assembly::State::collecting) scratch_.push_back(assembly.timeslice);
    assembly.waiting_for.clear();
  });
  for (const TimesliceIndex t : scratch_) {
    Assembly* assembly = table_.find(t);
    ++counters_.discarded;
    for (std::uint32_t i = 0; i < assembly->components.size(); ++i) {
      if (assembly->components[i].present) free_component(i, assembly->components[i]);
    }
    table_.erase(t);
  }
}

}  // namespace weft::stream

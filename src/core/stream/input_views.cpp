// SPDX-License-Identifier: Apache-2.0
// How an input node takes part in agreeing on views.
#include <algorithm>
#include <utility>

#include "core/stream/input_machine.hpp"

namespace weft::stream {

void InputMachine::on_peer_up(NodeId peer, Incarnation incarnation) {
  Peer& state = peers_[peer.value()];
  state.up = true;
  if (state.incarnation != incarnation) {
    state.bye = false;
    state.owes = static_cast<std::uint8_t>(state.owes & ~owes_promise);  // to the life before
  }
  state.incarnation = incarnation;
  leader_.node_up(peer, incarnation);
  if (said_bye_) owe(peer.value(), owes_bye);
  // Who never met the earlier life would wait for this one to lead.
  const bool forgot = view_.number == 0 && config_.restarted;
  if (forgot && config_.roster.is_input(peer)) owe(peer.value(), owes_outside);
  if (!takes_part_ || !config_.roster.is_compute(peer)) return;
  const std::uint32_t compute = config_.roster.compute_index(peer);
  if (view_.computes.contains(compute)) schedule_->on_reconnected(view_.computes.rank(compute));
}

void InputMachine::on_peer_down(NodeId peer) {
  Peer& state = peers_[peer.value()];
  state.up = false;
  state.lost = true;
  if (peer == prepared_by_) asker_stayed_ = false;
  if (config_.roster.is_compute(peer)) {
    const std::uint32_t compute = config_.roster.compute_index(peer);
    pairs_[compute].close();
    lacks_credit_[compute] = TimesliceIndex::max();
    hellos_[compute].reset();
  }
  leader_.node_down(peer);
  suspect(peer.value());
}

void InputMachine::do_without(NodeId node) {
  if (view_.number > 0 || node.value() == config_.self) return;
  peers_[node.value()].lost = true;  // it does not lead
  leader_.do_without(node);
}

bool InputMachine::is_member(NodeId node) const {
  return config_.roster.is_input(node)
             ? view_.inputs.contains(node.value())
             : view_.computes.contains(config_.roster.compute_index(node));
}

bool InputMachine::on_leader_message(Instant now, NodeId peer, std::span<const std::byte> bytes) {
  switch (message_type(bytes)) {
    case MessageType::view: {
      const auto view = decode_view(bytes, config_.roster);
      if (!view) return false;
      if (view->number > view_.number) {
        apply(now, *view);
        is_outside_ = !takes_part_;
        if (is_leader(now)) owe_all(owes_view);
      } else if (view->number == view_.number && config_.roster.is_input(peer)) {
        is_outside_ = !takes_part_;  // it may believe that this node leads
      }
      return true;
    }
    case MessageType::prepare: {
      const auto prepare = decode_prepare(bytes, config_.roster);
      if (!prepare) return false;
      on_prepare(peer, *prepare);
      return true;
    }
    case MessageType::promise: {
      const auto promise = decode_promise(bytes, config_.roster);
      if (!promise) return false;
      leader_.on_promise(peer, *promise);
      // It is in the view by name only: it had promised itself to another leader. Before the first
      // view only new lives say that.
      const bool is_expected = view_.number == 0 || is_member(peer);
      if (promise->number == view_.number && is_expected) {
        peers_[peer.value()].lost = true;  // as if it had been: it does not lead
        leader_.disturb();
      }
      return true;
    }
    case MessageType::suspect: {
      const auto told = decode_suspect(bytes, config_.roster);
      if (!told) return false;
      if (told->view != view_.number || !is_member(told->node)) return true;
      if (is_leader(now)) {
        leader_.disturb();
      } else {
        suspect(told->node.value());  // perhaps the leader itself: it is told
      }
      return true;
    }
    default:
      return false;
  }
}

void InputMachine::on_prepare(NodeId from, const Prepare& prepare) {
  if (prepare.base < view_.number) {
    owe(from.value(), owes_view);  // it leads from an old view: tell it
    return;
  }
  if (prepare_ && beats(*prepare_, prepare)) {
    outbid_ = from;
    return;
  }
  outbid_.reset();
  prepare_ = prepare;
  prepared_by_ = from;
  asker_stayed_ = peers_[from.value()].up;
  promised_ = false;
}

/// A node that was left out of a view because it did not answer in time announces itself later.
void InputMachine::speak_up() {
  if (outbid_ && prepare_ && !asker_stayed_) {
    // Nobody will decide on the higher question, and this node answers none that is lower.
    promise_ = Promise{.number = number_to_beat(*prepare_, prepared_by_, *outbid_),
                       .next = window_.next()};
    if (outbid_->value() == config_.self) {
      leader_.on_promise(*outbid_, promise_);
    } else {
      owe(outbid_->value(), owes_promise);
    }
    outbid_.reset();
  }
  if (view_.number > 0 && !takes_part_) {
    // Perhaps it is a new life, a member by name only. Then it answers that it is outside, too.
    const auto leader = member_that_leads();
    if (leader && leader != believed_to_lead_) owe(leader->value(), owes_view);
    believed_to_lead_ = leader;
  }
  if (!is_outside_ || prepare_) return;
  // A member by name is needed at once; others only delay things until they can take part.
  for (std::uint32_t node = 0; node < peers_.size(); ++node) {
    const bool missing = is_member(NodeId(node)) && !peers_[node].up;
    if (missing && !is_member(NodeId(config_.self))) return;
  }
  for (std::uint32_t i = 0; i < config_.roster.inputs; ++i) {
    if (i != config_.self && peers_[i].up) owe(i, owes_outside);
  }
  is_outside_ = false;
}

void InputMachine::promise_when_connected() {
  if (!prepare_ || promised_ || prepare_->base != view_.number) return;
  // Members are connected when a view begins: it starts everybody at the same time (paper 1,
  // section IV: the barrier), and no message of a schedule gets lost.
  for (std::uint32_t node = 0; node < peers_.size(); ++node) {
    const bool wanted =
        config_.roster.is_input(NodeId(node))
            ? prepare_->inputs.contains(node)
            : prepare_->computes.contains(config_.roster.compute_index(NodeId(node)));
    if (wanted && !peers_[node].up) return;
  }
  promise_ = make_promise();
  promised_ = true;
  // From here on nothing is sent, and contributions that still leave do not count as consumed.
  for (auto& pair : pairs_) pair.close();
  if (prepared_by_.value() == config_.self) {
    leader_.on_promise(NodeId(config_.self), promise_);
  } else {
    owe(prepared_by_.value(), owes_promise);
  }
}

Promise InputMachine::make_promise() const {
  Promise promise{.number = prepare_->number,
                  .next = window_.next(),
                  .done = {},
                  .remembers = remembers_,
                  .takes_part = takes_part_};
  if (!takes_part_) return promise;
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (!prepare_->forgotten.contains(members_[rank])) continue;
    const auto grid = view_.grid();
    std::uint64_t round = grid.round_from(window_.oldest(), rank);
    while (window_.state(grid.timeslice(round, rank)) == SendWindow::State::done) ++round;
    promise.done.push_back({.compute = members_[rank], .below = grid.timeslice(round, rank)});
  }
  return promise;
}

NodeId InputMachine::leader_node(Instant now) const {
  for (std::uint32_t i = 0; i < config_.roster.inputs; ++i) {
    if (i == config_.self) return NodeId(i);
    const Peer& peer = peers_[i];
    if (peer.lost) continue;  // if it is there again, it may know less than the others
    const bool member = view_.number == 0 || view_.inputs.contains(i);
    const bool expected = view_.number == 0 && now < config_.start_by;
    if (member && (peer.up || expected)) return NodeId(i);
  }
  return NodeId(config_.self);
}

/// The lowest other input node of the view that is there, and not by name only as far as is known.
/// Without one only compute nodes may remember the view: input nodes outside it lead as well. Of
/// several questions the one with the highest number counts. Before the first view those that have
/// been there from the start lead, and new lives only if there is none of them.
std::optional<NodeId> InputMachine::member_that_leads() const {
  for (std::uint32_t i = 0; i < config_.roster.inputs; ++i) {
    const bool there = i != config_.self && peers_[i].up && !peers_[i].lost;
    if (there && (view_.number == 0 || view_.inputs.contains(i))) return NodeId(i);
  }
  return std::nullopt;
}

bool InputMachine::is_leader(Instant now) const {
  const bool belongs = view_.number > 0 ? takes_part_ : !config_.restarted;
  return (belongs || !member_that_leads()) && leader_node(now).value() == config_.self;
}

void InputMachine::ask(Instant now) {
  if (const auto prepare = leader_.propose(now, view_)) {
    for (std::uint32_t node = 0; node < peers_.size(); ++node) {
      if (node == config_.self || !peers_[node].up) continue;
      // The view first: the leader before may have told it only to some.
      if (view_.number > 0) owe(node, owes_view);
      owe(node, owes_prepare);
    }
    on_prepare(NodeId(config_.self), *prepare);
    promise_when_connected();
  }
}

void InputMachine::lead(Instant now) {
  if (!is_leader(now)) return;
  ask(now);
  // Not when it has followed another leader's question meanwhile.
  const bool stands =
      prepare_ && leader_.pending() && promised_ && prepare_->number == leader_.pending()->number;
  if (!stands) return;
  // An earlier life may have formed the first view.
  if (view_.number == 0 && config_.restarted && !leader_.may_begin_anew()) return;
  if (const auto view = leader_.decide(view_)) {
    apply(now, *view);
    owe_all(owes_view);
  } else if (view_.number > 0) {
    ask(now);
  }
}

void InputMachine::apply(Instant now, const View& next) {
  remember_built(next);
  built_before_.bound(next.first);
  const bool took_part = std::exchange(takes_part_, false);
  writes_out_of_view_ = 0;
  ++views_;
  const View before = std::exchange(view_, next);
  leader_.on_view(next);
  for (std::uint32_t i = 0; i < peers_.size(); ++i) peers_[i].lost = !peers_[i].up;
  // A new life of this node is not the view's member, unless it promised to be.
  const bool promised = promised_ && prepare_ && comes_of(next, *prepare_);
  // One that builds on an older view came to nothing, and must not stand in the way of others.
  if (prepare_ && (prepare_->number <= next.number || prepare_->base < next.number)) {
    prepare_.reset();
  }
  is_outside_ = false;
  ask_schedule_ = true;
  believed_to_lead_.reset();
  outbid_.reset();
  told_end_ = false;
  messages_.clear();  // they are addressed by the old grid
  members_.clear();
  for (auto& pair : pairs_) pair.close();
  if (!next.inputs.contains(config_.self)) return;
  if (!promised) {
    leader_.disturb();  // if no other member is there to tell, this node itself has to lead
    return;
  }
  takes_part_ = true;
  began_stream_ = began_stream_ || before.number == 0;
  remembers_ = remembers_ || !next.unsure;
  for (std::uint32_t c = 0; c < config_.roster.computes; ++c) {
    if (next.computes.contains(c)) members_.push_back(c);
  }
  next_round_.assign(members_.size(), 0);
  given_up_.assign(members_.size(), next.first);
  if (took_part) {
    roll_back();
  } else {
    // The nodes that knew which compute node built them may be gone, as this node's earlier life
    // is.
    if (next.first > TimesliceIndex{}) {
      built_before_.add_all_below(next.first);
    }
    window_.restart_at(next.first);
    const std::uint64_t first = first_microslice(next.first);
    // A source that reads a pipe cannot go back to what the buffer holds.
    if (buffer_.oldest() <= first && first <= buffer_.next()) {
      buffer_.release_before(first);
    } else {
      buffer_.restart_at(first);
      seek_ = first;
      source_ended_ = false;  // it had ended before it was repositioned
    }
  }
  skip_done();
  // Others may have gone on without this node, further than its source has come.
  skip_source_to(window_.oldest());
  for (std::uint32_t c = 0; c < config_.roster.computes; ++c) open_pair(c);
  schedule_->on_grid(now, view_.grid());
  take_early(now);
}

/// Takes messages of compute nodes about this view that came before the view.
void InputMachine::take_early(Instant now) {
  early_.take(view_.number, [&](std::uint32_t compute, std::span<const std::byte> payload) {
    if (view_.computes.contains(compute)) {
      schedule_->on_message(now, view_.computes.rank(compute), payload);
    }
  });
  for (const std::uint32_t compute : members_) {
    (void)on_given_up(compute, newest_given_up_[compute]);
  }
}

/// All of them: which compute nodes will not live to report it nobody knows yet.
void InputMachine::remember_built(const View& next) {
  if (!takes_part_) return;
  const auto grid = view_.grid();
  // A view that builds on another one counts timeslices built elsewhere, too.
  const bool follows = promised_ && prepare_ && comes_of(next, *prepare_);
  // All below: not looked at one by one, since a view may have lasted for billions of timeslices.
  const TimesliceIndex known = follows ? std::max(window_.oldest(), next.first) : window_.oldest();
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    std::uint64_t rounds = grid.round_from(known, rank);
    const auto is_done = [&](TimesliceIndex t) {
      return (follows && next.is_done(t)) || window_.state(t) == SendWindow::State::done;
    };
    while (is_done(grid.timeslice(rounds, rank))) ++rounds;
    if (rounds == 0) continue;
    built_before_.add({members_[rank], {grid.timeslice(0, rank), grid.computes, rounds}});
  }
}

void InputMachine::roll_back() {
  const TimesliceIndex oldest = window_.oldest();
  const TimesliceIndex next = window_.next();
  for (TimesliceIndex t = oldest; t < next; ++t) {
    if (window_.state(t) == SendWindow::State::done) continue;
    if (view_.is_done(t)) {
      window_.mark_done(t);
      continue;
    }
    SendWindow::Slot& slot = window_.at(t);
    const bool may_be_done =
        !view_.computes.contains(slot.owner) || view_.forgotten.contains(slot.owner);
    if (slot.state == SendWindow::State::started && may_be_done) slot.repeated = true;
    slot.state = SendWindow::State::waiting;
  }
}

void InputMachine::skip_done() {
  for (TimesliceIndex t = window_.oldest(); window_.covers(t) && t < done_end(); ++t) {
    if (view_.is_done(t)) window_.mark_done(t);
  }
  free_consumed();
}

TimesliceIndex InputMachine::done_end() const {
  return view_.first.plus(view_.done.size() * 64);
}

void InputMachine::open_pair(std::uint32_t compute) {
  auto& hello = hellos_[compute];
  if (!hello || !takes_part_ || !view_.computes.contains(compute)) return;
  // A pair is used once in a view: after a break only the next view knows where it stands.
  if (hello->view != view_.number || pairs_[compute].view() == view_.number) return;
  pairs_[compute].open(*std::exchange(hello, std::nullopt), views_);
  // A pair that was not open could not tell it.
  if (told_end_) owe(config_.roster.compute_node(compute).value(), owes_written);
  lacks_credit_[compute] = TimesliceIndex::max();
}

void InputMachine::suspect(std::uint32_t node) {
  const auto at = std::lower_bound(suspects_.begin(), suspects_.end(), node);
  if (at == suspects_.end() || *at != node) suspects_.insert(at, node);
}

void InputMachine::send_suspects(Instant now, Outbox& out) {
  if (suspects_.empty()) return;
  if (view_.number == 0 || is_leader(now)) {
    suspects_.clear();
    return;
  }
  const NodeId leader = leader_node(now);
  if (leader.value() == config_.self || !peers_[leader.value()].up) return;
  std::size_t told = 0;
  for (const std::uint32_t node : suspects_) {
    if (is_member(NodeId(node))) {
      if (!out.has_room(1, 64)) break;
      out.send(leader, config_.control_level, 64, [&](wire::Writer& w) {
        encode(Suspect{NodeId(node), view_.number}, w);
      });
    }
    ++told;
  }
  suspects_.erase(suspects_.begin(), suspects_.begin() + static_cast<std::ptrdiff_t>(told));
}

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
#include "core/stream/view_leader.hpp"

#include <algorithm>

namespace weft::stream {

ViewLeader::ViewLeader(const Roster& roster, std::uint32_t self, TimesliceIndex end,
                       Instant start_by, Duration promise_timeout, bool majority_only)
    : roster_(roster),
      self_(self),
      end_(end),
      start_by_(start_by),
      promise_timeout_(promise_timeout),
      majority_only_(majority_only),
      connected_(roster.nodes()),
      silent_(roster.nodes()),
      gone_(roster.nodes()),
      reborn_(roster.nodes()),
      incarnations_(roster.nodes()),
      patience_(promise_timeout),
      fresh_(roster.nodes()) {
  connected_.insert(self);
}

namespace {

/// Times the promise timeout.
constexpr std::int64_t longest_patience = 64;

}  // namespace

bool ViewLeader::is_member(NodeId node, const IndexSet& inputs, const IndexSet& computes) const {
  return roster_.is_input(node) ? inputs.contains(node.value())
                                : computes.contains(roster_.compute_index(node));
}

void ViewLeader::node_up(NodeId node, Incarnation incarnation) {
  look_ = true;
  fresh_.insert(node.value());
  connected_.insert(node.value());
  silent_.erase(node.value());
  Incarnation& known = incarnations_[node.value()];
  if (known != incarnation && known != Incarnation{}) reborn_.insert(node.value());
  known = incarnation;
}

void ViewLeader::node_down(NodeId node) {
  connected_.erase(node.value());
  disturb();
}

void ViewLeader::do_without(NodeId node) {
  gone_.insert(node.value());
  look_ = true;
}

/// Returns whether a node is missing that is not known to be gone.
bool ViewLeader::may_still_come() const {
  if (gone_.empty() && silent_.empty()) return connected_.count() < roster_.nodes();
  for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
    if (!is_up(i) && !gone_.contains(i)) return true;
  }
  return false;
}

Instant ViewLeader::next_deadline() const {
  if (!pending_ || promise_timeout_ == Duration::max()) return Instant::never();
  return std::max(pending_->asked + patience_, pending_->base == 0 ? start_by_ : pending_->asked);
}

/// Nobody asks any more: promises of all nodes would stay with every input node.
void ViewLeader::end_question() {
  look_ = true;
  pending_.reset();
  promises_ = std::vector<std::optional<Promise>>();
}

void ViewLeader::leave_out_the_silent(Instant now) {
  // Its connection may be broken in one direction, or it may be stopped: the others go on. It comes
  // back by promising after all, or by connecting anew.
  if (now <= next_deadline() || !pending_) return;
  bool silent = false;
  for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
    if (promises_[i] || !is_member(NodeId(i), pending_->inputs, pending_->computes)) continue;
    if (i == self_) continue;  // it promises when its own connections are there
    silent = disturbed_ = true;
    if (!fresh_.contains(i)) silent_.insert(i);
  }
  if (!silent) return;
  // Once: a node that connects again before the next proposal counts as present.
  end_question();
  // Perhaps answers take longer than that, behind all the data that each view sends anew.
  const bool again = now - left_out_at_ < patience_ * longest_patience;
  patience_ =
      again ? std::min(patience_ * 2, promise_timeout_ * longest_patience) : promise_timeout_;
  left_out_at_ = now;
}

/// A question without a number to all nodes that are up.
Prepare ViewLeader::question_to_all(Instant now, const View& current) {
  Prepare next{.asked = now,
               .base = current.number,
               .inputs = IndexSet(roster_.inputs),
               .computes = IndexSet(roster_.computes),
               .forgotten = IndexSet(roster_.computes)};
  nodes_looked_at_ += roster_.nodes();
  for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
    const NodeId node(i);
    const std::uint32_t member = roster_.is_input(node) ? i : roster_.compute_index(node);
    if (is_up(i)) (roster_.is_input(node) ? next.inputs : next.computes).insert(member);
    if (roster_.is_compute(node) && current.computes.contains(member) &&
        (!is_up(i) || reborn_.contains(i))) {
      next.forgotten.insert(member);
    }
  }
  return next;
}

std::optional<Prepare> ViewLeader::propose(Instant now, const View& current) {
  leave_out_the_silent(now);
  const bool first = current.number == 0;
  // A leader is asked in every turn, and there may be thousands of nodes.
  if (!look_ && !first) return std::nullopt;
  look_ = waits_for_majority_ = false;
  if (first && now < start_by_ && may_still_come()) return std::nullopt;
  Prepare next = question_to_all(now, current);
  const bool is_enough = !next.computes.empty() && (!majority_only_ || is_majority(next.inputs));
  if (!is_enough && !silent_.empty()) {
    // Without them there is no view, and whoever they answered in place of this one may be gone.
    silent_.clear();
    next = question_to_all(now, current);
  }
  if (next.inputs.empty() || next.computes.empty()) return std::nullopt;
  const bool changed = next.inputs != current.inputs || next.computes != current.computes;
  const bool stops = stop_wanted_ && current.end == TimesliceIndex::max();
  if (!changed && !disturbed_ && !stops && reborn_.empty()) return std::nullopt;
  waits_for_majority_ = majority_only_ && !is_majority(next.inputs);
  if (waits_for_majority_) return std::nullopt;
  if (pending_ && !disturbed_ && pending_->base == current.number &&
      pending_->inputs == next.inputs && pending_->computes == next.computes) {
    return std::nullopt;  // that is under way
  }
  // Numbers are unique to their proposer, so that two that both think they lead cannot mix.
  const std::uint32_t highest = std::max(current.number, highest_number_);
  next.number = (highest / roster_.inputs + 1) * roster_.inputs + self_;
  highest_number_ = next.number;
  disturbed_ = false;
  promises_.assign(roster_.nodes(), std::nullopt);
  fresh_ = IndexSet(roster_.nodes());
  pending_ = next;
  return next;
}

void ViewLeader::on_promise(NodeId node, const Promise& promise) {
  highest_number_ = std::max(highest_number_, promise.number);
  look_ = look_ || !is_up(node.value());
  connected_.insert(node.value());
  silent_.erase(node.value());
  if (pending_ && promise.number == pending_->number) promises_[node.value()] = promise;
  // It was asked before by a leader that is gone, and needs a higher number.
  if (pending_ && promise.number > pending_->number) disturb();
}

std::vector<TimesliceIndex> ViewLeader::done_by_compute(const View& current) const {
  // The highest report counts: a live compute node's own, for a dead one that of any input node.
  std::vector<TimesliceIndex> done(roster_.computes, current.first);
  for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
    if (!promises_[i]) continue;
    for (const DoneBelow& d : promises_[i]->done) {
      done[d.compute] = std::max(done[d.compute], d.below);
    }
  }
  return done;
}

void ViewLeader::find_done(const View& current, View& next) const {
  if (current.computes.empty()) return;
  const std::vector<TimesliceIndex> below = done_by_compute(current);
  const auto grid = current.grid();
  TimesliceIndex last = current.first.plus(current.done.size() * 64);
  for (const TimesliceIndex t : below) last = std::max(last, t);
  std::vector<std::uint32_t> members;
  for (std::uint32_t c = 0; c < roster_.computes; ++c) {
    if (current.computes.contains(c)) members.push_back(c);
  }
  const auto is_done = [&](TimesliceIndex t) {
    return current.is_done(t) || t < below[members[grid.compute_of(t)]];
  };
  // All below is done by whoever builds it. A view may have lasted for billions of timeslices: what
  // is known is not looked at one by one.
  next.first = TimesliceIndex::max();
  for (const std::uint32_t c : members) next.first = std::min(next.first, below[c]);
  while (next.first < last && is_done(next.first)) ++next.first;
  const std::uint64_t bits =
      std::min<std::uint64_t>(last.value() - next.first.value(), max_done_words(roster_) * 64);
  next.done.assign((bits + 63) / 64, 0);
  for (std::uint64_t i = 0; i < bits; ++i) {
    if (is_done(next.first.plus(i))) next.done[i / 64] |= std::uint64_t{1} << (i % 64);
  }
}

/// A majority of the input nodes, with a compute node, may have formed a view that none of those
/// remembers who promised: nodes that began anew since, or that are not there.
bool ViewLeader::may_have_missed_a_view() const {
  IndexSet inputs(roster_.inputs);
  bool compute = false;
  for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
    if (promises_[i] && promises_[i]->remembers) continue;
    if (roster_.is_input(NodeId(i))) {
      inputs.insert(i);
    } else {
      compute = true;
    }
  }
  return compute && is_majority(inputs);
}

bool ViewLeader::may_begin_anew() const {
  const auto has_promised = [](const auto& promise) { return promise.has_value(); };
  return !may_have_missed_a_view() || std::all_of(promises_.begin(), promises_.end(), has_promised);
}

/// Input nodes flag what a forgotten compute node may have handed over, as long as they live. What
/// one of them knew of earlier views goes with it; when none is left, what they knew of this one.
/// One that does not take part in a view has lost what it knew, even if the view names it.
void ViewLeader::flag_doubtful(const View& current, TimesliceIndex next, View& view) const {
  bool one_left = false, one_lost = false;
  for (std::uint32_t i = 0; i < roster_.inputs; ++i) {
    if (!current.inputs.contains(i)) continue;
    const bool stays = view.inputs.contains(i) && !reborn_.contains(i) && promises_[i]->remembers &&
                       promises_[i]->takes_part;
    (stays ? one_left : one_lost) = true;
  }
  if (one_lost) view.repeated_below = std::max(view.repeated_below, current.doubtful_below);
  if (view.forgotten.empty()) return;
  view.doubtful_below = std::max(view.doubtful_below, next);
  if (!one_left) view.repeated_below = std::max(view.repeated_below, view.doubtful_below);
}

/// Compute nodes that restarted before this leader heard of the view do not say what is done. Input
/// nodes know, and have freed those data, but say so only when asked.
bool ViewLeader::finds_forgetful(const View& current) {
  bool any = false;
  for (std::uint32_t c = 0; c < roster_.computes; ++c) {
    if (!current.computes.contains(c) || !pending_->computes.contains(c)) continue;
    const std::uint32_t node = roster_.compute_node(c).value();
    if (pending_->forgotten.contains(c) || !promises_[node]->done.empty()) continue;
    reborn_.insert(node);
    any = true;
  }
  if (any) disturb();
  return any;
}

std::optional<View> ViewLeader::decide(const View& current) {
  if (!pending_ || pending_->base != current.number) return std::nullopt;
  TimesliceIndex next{};
  TimesliceIndex joiners_next{};
  for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
    if (!is_member(NodeId(i), pending_->inputs, pending_->computes)) continue;
    if (!promises_[i]) return std::nullopt;
    next = std::max(next, promises_[i]->next);
    const bool joins = !is_member(NodeId(i), current.inputs, current.computes);
    if (joins) joiners_next = std::max(joiners_next, promises_[i]->next);
  }
  if (finds_forgetful(current)) return std::nullopt;
  View view{.number = pending_->number,
            .asked = pending_->asked,
            .end = current.number == 0 ? end_ : current.end,
            .repeated_below = current.repeated_below,
            .doubtful_below = current.doubtful_below,
            .inputs = pending_->inputs,
            .computes = pending_->computes,
            .forgotten = pending_->forgotten};
  // While a view had no majority other parts may have gone on as well. Each such part had at least
  // one of a majority's input nodes, and that one knows how far it got.
  view.unsure = may_have_missed_a_view();
  if (current.number > 0 && (current.unsure || !is_majority(current.inputs))) {
    view.repeated_below = std::max(view.repeated_below, next);
  }
  // Nodes that come from a view of their own have delivered up to there, flagged: the new view has
  // to flag those timeslices as well.
  if (!majority_only_ || current.unsure) {
    view.repeated_below = std::max(view.repeated_below, joiners_next);
  }
  flag_doubtful(current, next, view);
  find_done(current, view);
  if (stop_wanted_) view.end = std::min(view.end, std::max(view.first, next));
  return view;
}

void ViewLeader::on_view(const View& view) {
  highest_number_ = std::max(highest_number_, view.number);
  waits_for_majority_ = false;
  end_question();
  // They answered the leader of this view, so they would answer this one as well.
  for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
    if (is_member(NodeId(i), view.inputs, view.computes)) silent_.erase(i);
  }
  reborn_.clear();
  // One that ends the stream may have come into force nowhere else.
  stop_wanted_ = stop_asked_ && view.end == TimesliceIndex::max();
}

}  // namespace weft::stream

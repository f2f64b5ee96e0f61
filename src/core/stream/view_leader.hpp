// SPDX-License-Identifier: Apache-2.0
// ViewLeader: decides on the next view. Every input node has one; the one at the lowest input node
// that lives acts. Two steps: `prepare` makes all members stop and say what is done, the view then
// starts at the first timeslice that is not. State only, no I/O: the input machine carries the
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/stream/messages.hpp"
#include "core/stream/roster.hpp"
#include "core/stream/view.hpp"
#include "weft/time.hpp"

namespace weft::stream {

class ViewLeader {
 public:
  /// `end`: where the stream ends if nobody stops it earlier. Before `start_by` a first view needs
  /// every node of the roster; after it, those that are there (at least one of each kind).
  /// The new view excludes a member that sends no promise within `promise_timeout`.
  /// `majority_only`: there are no views but those with a majority of the roster's input nodes.
  ViewLeader(const Roster& roster, std::uint32_t self, TimesliceIndex end, Instant start_by,
             Duration promise_timeout, bool majority_only = false);

  /// The other nodes as this one sees them. `incarnation` tells a new life from a mended
  /// connection.
  void node_up(NodeId node, Incarnation incarnation);
  void node_down(NodeId node);
  /// The first view need not wait for this node unless it turns up: it died, and nobody starts it
  /// again.
  void do_without(NodeId node);
  /// A member could not reach this one: everybody must start afresh, even if it is there.
  void disturb() { disturbed_ = look_ = true; }
  /// The stream shall end soon (duration over, user's wish).
  void stop() { stop_asked_ = stop_wanted_ = look_ = true; }

  /// A new proposal, if anything changed. It replaces the pending one when that is outdated.
  std::optional<Prepare> propose(Instant now, const View& current);
  const std::optional<Prepare>& pending() const { return pending_; }
  /// A new view is needed, and too few input nodes are there for one.
  bool waits_for_majority() const { return waits_for_majority_; }
  /// Returns when `propose` has something to find out.
  Instant next_deadline() const;
  void on_promise(NodeId node, const Promise& promise);
  /// Returns whether a node whose earlier life may have known a view can decide on the first one:
  /// no view has been in force, or none that any node of the roster remembers. Those who promised
  /// know of none.
  bool may_begin_anew() const;
  /// The view, once every member of it has promised. Without one there may be something else to
  /// propose.
  std::optional<View> decide(const View& current);
  /// Any view that comes into force, under any leader.
  void on_view(const View& view);
  /// Memory of promises that it keeps: none unless a question is pending.
  std::size_t promises_kept() const { return promises_.capacity(); }
  /// Returns how often `propose` has looked at a node so far: at all of them after something
  /// happened.
  std::uint64_t nodes_looked_at() const { return nodes_looked_at_; }

 private:
  bool is_member(NodeId node, const IndexSet& inputs, const IndexSet& computes) const;
  bool is_up(std::uint32_t node) const {
    return connected_.contains(node) && !silent_.contains(node);
  }
  bool may_still_come() const;
  void leave_out_the_silent(Instant now);
  Prepare question_to_all(Instant now, const View& current);
  void end_question();
  void find_done(const View& current, View& next) const;
  bool may_have_missed_a_view() const;
  bool finds_forgetful(const View& current);
  void flag_doubtful(const View& current, TimesliceIndex next, View& view) const;
  std::vector<TimesliceIndex> done_by_compute(const View& current) const;

  Roster roster_;
  std::uint32_t self_;
  TimesliceIndex end_;
  Instant start_by_;
  Duration promise_timeout_;
  bool majority_only_;
  bool waits_for_majority_ = false;
  IndexSet connected_;  // by node, as the next three
  IndexSet silent_;     // gave no promise in time, and is in no view since
  IndexSet gone_;       // will not come, unless they are up
  IndexSet reborn_;     // members that lost their memory since the view began
  std::vector<Incarnation> incarnations_;
  bool disturbed_ = false;
  bool look_ = true;  // something happened since `propose` looked at the nodes
  std::uint64_t nodes_looked_at_ = 0;
  bool stop_asked_ = false;   // ever
  bool stop_wanted_ = false;  // and the view in force has no end
  std::uint32_t highest_number_ = 0;
  std::optional<Prepare> pending_;
  Duration patience_;  // with the silent: the promise timeout, longer when it was too short of late
  Instant left_out_at_{};
  IndexSet fresh_;  // connected since the last prepare message, which may have been lost
  std::vector<std::optional<Promise>> promises_;  // by node while one is pending, else empty
};

}  // namespace weft::stream

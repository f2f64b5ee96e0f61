// SPDX-License-Identifier: Apache-2.0
#include "spmd/plan.hpp"

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "spmd/overlap.hpp"

namespace weft::spmd {
namespace {

/// Takes the slices' indices out of the boxes.
void subtract(std::vector<Box>& boxes, std::span<const Slice> slices, unsigned dimensions) {
  for (const Slice& slice : slices) {
    if (boxes.empty()) return;
    if (dimensions == 1 && slice.box.from[0] >= boxes.back().to[0]) return;  // sorted
    if (std::none_of(boxes.begin(), boxes.end(),
                     [&](const Box& box) { return box.intersects(slice.box); })) {
      continue;
    }
    std::vector<Box> rest;
    for (const Box& box : boxes) append_difference(box, slice.box, rest);
    boxes = std::move(rest);
  }
}

bool has_one_mapping(std::span<const Slice> slices) {
  return std::all_of(slices.begin(), slices.end(),
                     [&](const Slice& slice) { return slice.mapping == slices[0].mapping; });
}

/// The set of a target's elements that have a contribution so far.
class Coverage {
 public:
  explicit Coverage(bool is_line) : is_line_(is_line) {}

  /// Divides a box into parts not covered before and parts covered; then covers all of it.
  void add(const Box& box, std::vector<Box>& fresh, std::vector<Box>& seen) {
    is_line_ ? add_line(box, fresh, seen) : add_box(box, fresh, seen);
  }
  void append_uncovered(const Box& box, std::vector<Box>& out) {
    std::vector<Box> seen;
    add(box, out, seen);
  }

 private:
  void add_box(const Box& box, std::vector<Box>& fresh, std::vector<Box>& seen) {
    std::vector<Box> rest{box};
    for (const Box& covered : boxes_) {
      const Box both = covered.intersection(box);
      if (both.is_empty()) continue;
      seen.push_back(both);
      std::vector<Box> smaller;
      for (const Box& part : rest) append_difference(part, covered, smaller);
      rest = std::move(smaller);
    }
    boxes_.insert(boxes_.end(), rest.begin(), rest.end());
    fresh.insert(fresh.end(), rest.begin(), rest.end());
  }
  void add_line(const Box& box, std::vector<Box>& fresh, std::vector<Box>& seen) {
    std::int64_t at = box.from[0];
    std::int64_t begin = at;
    std::int64_t end = box.to[0];
    auto next = runs_.upper_bound(at);
    if (next != runs_.begin() && std::prev(next)->second >= at) --next;
    while (next != runs_.end() && next->first <= box.to[0]) {
      const std::int64_t from = std::max(next->first, box.from[0]);
      const std::int64_t to = std::min(next->second, box.to[0]);
      if (at < from) fresh.push_back(Box::line(at, from));
      if (from < to) seen.push_back(Box::line(from, to));
      at = std::max(at, to);
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = runs_.erase(next);
    }
    if (at < box.to[0]) fresh.push_back(Box::line(at, box.to[0]));
    runs_[begin] = end;
  }

  bool is_line_;
  std::vector<Box> boxes_;                     // disjoint
  std::map<std::int64_t, std::int64_t> runs_;  // from → to; neither overlapping nor adjacent
};

class Planner {
 public:
  Planner(const Partitioning& from, const Partitioning& to, Flow flow, Rank rank)
      : from_(from), to_(to), plan_{.from = from, .to = to, .flow = flow, .rank = rank} {}

  Transition::Plan make() {
    switch (plan_.flow) {
      case Flow::none:
        break;
      case Flow::preserve:
        preserve();
        break;
      case Flow::initialise:
        for (const Slice& slice : to_.slices(plan_.rank)) {
          plan_.fills.push_back({slice.box, slice.mapping});
        }
        break;
      case Flow::reduce:
        if (!find_uniform()) reduce();
        break;
    }
    return std::move(plan_);
  }

 private:
  template <class Visit>
  void for_each_peer_overlap(Rank sender, Rank receiver, Visit&& visit) const {
    if (!from_.bounds(sender).intersects(to_.bounds(receiver))) return;
    for_each_overlap(from_.slices(sender), to_.slices(receiver), visit);
  }

  /// Visits the elements that `sender` gives `receiver` when values are preserved. Of several
  /// holders, the receiver itself gives, else the lowest rank, and of that its first slice.
  template <class Visit>
  void for_each_preserved(Rank sender, Rank receiver, Visit&& visit) const {
    const auto mine = from_.slices(sender);
    for_each_peer_overlap(sender, receiver, [&](std::size_t i, std::size_t j, const Box& box) {
      if (from_.is_disjoint()) return visit(i, j, box);
      std::vector<Box> rest{box};
      subtract(rest, from_.slices(receiver), from_.space().dimensions());
      for (std::uint32_t r = 0; r < sender.value() && !rest.empty(); ++r) {
        if (!from_.bounds(Rank(r)).intersects(box)) continue;
        subtract(rest, from_.slices(Rank(r)), from_.space().dimensions());
      }
      subtract(rest, mine.subspan(0, i), from_.space().dimensions());
      for (const Box& part : rest) visit(i, j, part);
    });
  }

  static void add(PeerPieces& to, const Box& box, std::uint32_t mapping) {
    to.pieces.push_back({box, mapping});
    to.elements += box.size();
  }

  void preserve() {
    const auto before = from_.slices(plan_.rank);
    const auto after = to_.slices(plan_.rank);
    for (std::uint32_t r = 0; r < to_.ranks(); ++r) {
      const Rank peer(r);
      if (peer == plan_.rank) continue;
      PeerPieces out{peer, {}, 0};
      for_each_preserved(plan_.rank, peer, [&](std::size_t i, std::size_t, const Box& box) {
        add(out, box, before[i].mapping);
      });
      PeerPieces in{peer, {}, 0};
      for_each_preserved(peer, plan_.rank, [&](std::size_t, std::size_t j, const Box& box) {
        add(in, box, after[j].mapping);
      });
      if (!out.pieces.empty()) plan_.sends.push_back(std::move(out));
      if (!in.pieces.empty()) plan_.receives.push_back(std::move(in));
    }
    copy_own();
  }

  void copy_own() {
    const auto before = from_.slices(plan_.rank);
    const auto after = to_.slices(plan_.rank);
    const bool once = from_.is_disjoint() || has_one_mapping(from_.slices(plan_.rank));
    if (once) {
      for_each_overlap(before, after, [&](std::size_t i, std::size_t j, const Box& box) {
        plan_.copies.push_back({box, before[i].mapping, after[j].mapping});
      });
      return;
    }
    for (const Slice& target : after) {
      std::vector<Box> rest{target.box};
      for (const bool same_mapping : {true, false}) {
        for (const Slice& source : before) {
          if ((source.mapping == target.mapping) != same_mapping) continue;
          std::vector<Box> smaller;
          for (const Box& box : rest) {
            const Box both = box.intersection(source.box);
            if (!both.is_empty()) plan_.copies.push_back({both, source.mapping, target.mapping});
            append_difference(box, source.box, smaller);
          }
          rest = std::move(smaller);
        }
      }
    }
  }

  void reduce() {
    for (std::uint32_t r = 0; r < to_.ranks(); ++r) {
      const Rank peer(r);
      if (peer == plan_.rank) continue;
      PeerPieces out{peer, {}, 0};
      const auto before = from_.slices(plan_.rank);
      for_each_peer_overlap(plan_.rank, peer, [&](std::size_t i, std::size_t, const Box& box) {
        add(out, box, before[i].mapping);
      });
      if (!out.pieces.empty()) plan_.sends.push_back(std::move(out));
    }
    std::vector<Coverage> coverage(to_.slices(plan_.rank).size(),
                                   Coverage(to_.space().dimensions() == 1));
    for (std::uint32_t r = 0; r < from_.ranks(); ++r) contribute(Rank(r), coverage);
    const auto after = to_.slices(plan_.rank);
    for (std::size_t j = 0; j < after.size(); ++j) {
      std::vector<Box> empty;
      coverage[j].append_uncovered(after[j].box, empty);
      for (const Box& box : empty) plan_.fills.push_back({box, after[j].mapping});
    }
  }

  void contribute(Rank rank, std::vector<Coverage>& coverage) {
    Contribution contribution{rank, {}, {}, 0};
    const auto theirs = from_.slices(rank);
    const auto after = to_.slices(plan_.rank);
    for_each_peer_overlap(rank, plan_.rank, [&](std::size_t i, std::size_t j, const Box& box) {
      std::vector<Box> shared{box};
      if (rank == plan_.rank) {
        std::vector<Box> alone = without_others(box, i);
        for (const Box& part : alone) {
          plan_.copies.push_back({part, theirs[i].mapping, after[j].mapping});
          std::vector<Box> ignored;
          coverage[j].add(part, ignored, ignored);
          std::vector<Box> rest;
          for (const Box& piece : shared) append_difference(piece, part, rest);
          shared = std::move(rest);
        }
      }
      for (const Box& piece : shared) {
        std::vector<Box> fresh;
        std::vector<Box> seen;
        coverage[j].add(piece, fresh, seen);
        const auto add_part = [&](const Box& part, bool is_first) {
          contribution.parts.push_back(
              {part, piece, contribution.elements, after[j].mapping, is_first});
        };
        for (const Box& part : fresh) add_part(part, true);
        for (const Box& part : seen) add_part(part, false);
        contribution.pieces.push_back({piece, theirs[i].mapping});
        contribution.elements += piece.size();
      }
    });
    if (contribution.elements > 0) plan_.contributions.push_back(std::move(contribution));
  }

  /// The parts of a box to which only slice i of this rank contributes.
  std::vector<Box> without_others(const Box& box, std::size_t i) const {
    const unsigned dimensions = from_.space().dimensions();
    std::vector<Box> alone{box};
    for (std::uint32_t r = 0; r < from_.ranks() && !alone.empty(); ++r) {
      if (!from_.bounds(Rank(r)).intersects(box)) continue;
      const auto slices = from_.slices(Rank(r));
      const bool own = Rank(r) == plan_.rank;
      subtract(alone, own ? slices.subspan(0, i) : slices, dimensions);
      if (own) subtract(alone, slices.subspan(i + 1), dimensions);
    }
    return alone;
  }

  static bool have_same_boxes(std::span<const Slice> a, std::span<const Slice> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Slice& x, const Slice& y) { return x.box == y.box; });
  }

  static std::vector<Rank> holders(const Partitioning& partitioning) {
    std::vector<Rank> ranks;
    for (std::uint32_t r = 0; r < partitioning.ranks(); ++r) {
      if (!partitioning.slices(Rank(r)).empty()) ranks.push_back(Rank(r));
    }
    return ranks;
  }

  bool find_uniform() {
    const std::vector<Rank> members = holders(from_);
    const std::vector<Rank> targets = holders(to_);
    if (members.size() < 2 || targets.empty()) return false;
    const auto boxes = from_.slices(members[0]);
    if (!has_one_mapping(boxes)) return false;
    for (const Rank rank : members) {
      if (!have_same_boxes(boxes, from_.slices(rank))) return false;
    }
    for (const Rank rank : targets) {
      if (!have_same_boxes(boxes, to_.slices(rank))) return false;
    }
    UniformReduction uniform;
    uniform.members = members;
    if (targets != members) {
      const auto root = std::find(members.begin(), members.end(), targets[0]);
      if (targets.size() > 1 || root == members.end()) return false;
      uniform.root = static_cast<std::uint32_t>(root - members.begin());
    }
    const auto me = std::find(members.begin(), members.end(), plan_.rank);
    if (me == members.end()) return true;  // the others do it
    uniform.place = static_cast<std::uint32_t>(me - members.begin());
    for (const Slice& slice : from_.slices(plan_.rank)) {
      uniform.from.push_back({slice.box, slice.mapping});
      uniform.elements += slice.box.size();
    }
    for (const Slice& slice : to_.slices(plan_.rank)) {
      uniform.to.push_back({slice.box, slice.mapping});
    }
    plan_.uniform = std::move(uniform);
    return true;
  }

  const Partitioning& from_;
  const Partitioning& to_;
  Transition::Plan plan_;
};

}  // namespace

Transition::Plan make_plan(const Partitioning& from, const Partitioning& to, Flow flow, Rank rank) {
  WEFT_CHECK(from.ranks() == to.ranks(), "a transition from {} ranks to {}", from.ranks(),
             to.ranks());
  WEFT_CHECK(from.space() == to.space(), "a transition from {} to another space {}",
             to_text(from.space().box(), from.space().dimensions()),
             to_text(to.space().box(), to.space().dimensions()));
  return Planner(from, to, flow, rank).make();
}

const Partitioning& Transition::from() const {
  return plan_->from;
}
const Partitioning& Transition::to() const {
  return plan_->to;
}
Flow Transition::flow() const {
  return plan_->flow;
}

std::size_t Transition::messages_sent() const {
  if (!plan_->uniform) return plan_->sends.size();
  const auto& uniform = *plan_->uniform;
  if (!uniform.root) return uniform.members.size() - 1;
  return uniform.place == *uniform.root ? 0 : 1;
}

std::size_t Transition::messages_received() const {
  if (plan_->uniform) {
    const auto& uniform = *plan_->uniform;
    return !uniform.root || uniform.place == *uniform.root ? uniform.members.size() - 1 : 0;
  }
  std::size_t count = plan_->receives.size();
  for (const Contribution& contribution : plan_->contributions) {
    if (contribution.rank != plan_->rank) ++count;
  }
  return count;
}

std::int64_t Transition::elements_sent() const {
  if (plan_->uniform) {
    return plan_->uniform->elements * static_cast<std::int64_t>(messages_sent());
  }
  std::int64_t total = 0;
  for (const PeerPieces& send : plan_->sends) total += send.elements;
  return total;
}

}  // namespace weft::spmd

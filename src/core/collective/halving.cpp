// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's allreduce and reduce: pairs at distance 1, 2, 4 … exchange halves of the parts
// that they still hold and fold them. Then all gather the parts in the reverse order, or the root
// gets each from its holder. Near partners come first, so that a partial always stands for
// consecutive members and the order of the fold is kept.
#include <bit>
#include <vector>

#include "core/collective/partial.hpp"

namespace weft::collective {
namespace {

/// Elements of the vector.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// The half that a party keeps at that step, or the one that it gives away.
Range half(Range range, bool lower) {
  const std::uint64_t middle = range.first + (range.last - range.first) / 2;
  return lower ? Range{range.first, middle} : Range{middle, range.last};
}

bool keeps_lower(std::uint32_t party, std::uint32_t step) {
  return (party & step) == 0;
}

/// What a party holds after the first exchange; whatever is folded later lies in it.
Range first_half(const Request& r, const Parties& parties) {
  const Range all{0, r.bytes / r.element_bytes};
  return parties.count() > 1 ? half(all, keeps_lower(parties.party_of(r.rank), 1)) : all;
}

std::uint64_t bytes_of(const Request& r, Range range) {
  return (range.last - range.first) * r.element_bytes;
}

/// That party is left with this part when all halves have been exchanged.
Range part_of(std::uint32_t party, const Parties& parties, std::uint64_t elements) {
  Range range{0, elements};
  for (std::uint32_t step = 1; step < parties.count(); step *= 2) {
    range = half(range, keeps_lower(party, step));
  }
  return range;
}

/// The part of the vector that one party holds, halved in every step.
class Halving {
 public:
  /// The result comes into `work`, which may be the place of the input. It is for the elements from
  /// `work_begin` on.
  Halving(const Request& r, const Parties& parties, Piece work, std::uint64_t work_begin,
          PlanBuilder& plan)
      : r_(r),
        parties_(parties),
        plan_(plan),
        mine_(parties.party_of(r.rank)),
        range_{0, r.bytes / r.element_bytes},
        held_(own_input(r)),
        work_(work),
        work_begin_(work_begin),
        room_(plan.scratch(parties.is_paired(r.rank) ? r.bytes
                                                     : bytes_of(r, first_half(r, parties)))) {}

  void join_guest() {
    const Piece room = room_.part(0, r_.bytes);
    const StepIndex got = plan_.receive(r_.rank - 1, room);
    const StepIndex copied = plan_.copy(held_, work_);
    ready_ = plan_.fold_left(room, work_, got, copied);
    held_ = work_;
  }
  void scatter() {
    // Among two a half could be taken for the whole vector of a program that gives another count.
    if (r_.members == 2) {
      plan_.receive(1 - r_.rank, room_.part(0, 0));
      plan_.send(1 - r_.rank, held_.part(0, 0));
    }
    for (std::uint32_t step = 1; step < parties_.count(); step *= 2) {
      const bool lower = keeps_lower(mine_, step);
      const Range given = half(range_, !lower);
      const Range kept = half(range_, lower);
      const std::uint32_t partner = parties_.member_of(mine_ ^ step);
      const Piece result = in_work(kept);
      const Piece room = room_.part(0, result.bytes);
      const StepIndex got = plan_.receive(partner, room, ready_);
      const StepIndex sent = plan_.send(partner, in_held(given), ready_);
      // Only what is kept is copied, while the halves are on their way.
      plan_.copy(in_held(kept), result);
      ready_ = lower ? plan_.fold_right(room, result, got) : plan_.fold_left(room, result, got);
      levels_.push_back({.step = step, .before = range_, .given = given, .sent = sent});
      range_ = kept;
      held_ = work_;
      held_begin_ = work_begin_;
    }
    if (levels_.empty()) ready_ = plan_.copy(held_, work_, ready_);
  }
  void gather() {
    for (std::size_t i = levels_.size(); i-- > 0;) {
      const Level& level = levels_[i];
      const std::uint32_t partner = parties_.member_of(mine_ ^ level.step);
      const StepIndex got = plan_.receive(partner, in_work(level.given), level.sent, ready_);
      plan_.send(partner, in_work(range_), ready_);
      ready_ = got;
      range_ = level.before;
    }
  }
  void give_to_root() {
    if (range_.first < range_.last) plan_.send(r_.root, in_work(range_), ready_);
  }
  /// Of the other parties.
  void take_parts() {
    for (std::uint32_t party = 0; party < parties_.count(); ++party) {
      if (party == mine_) continue;
      // Their parts lie in what was given at the first step at which they differ.
      const auto level = static_cast<std::size_t>(std::countr_zero(party ^ mine_));
      take(party, levels_[level].sent);
    }
  }
  StepIndex ready() const { return ready_; }

 private:
  struct Level {
    std::uint32_t step = 0;
    Range before;
    Range given;
    StepIndex sent = no_step;
  };
  Piece in_held(Range range) const {
    return held_.part((range.first - held_begin_) * r_.element_bytes, bytes_of(r_, range));
  }
  Piece in_work(Range range) const {
    return work_.part((range.first - work_begin_) * r_.element_bytes, bytes_of(r_, range));
  }
  void take(std::uint32_t party, StepIndex after) {
    const Range part = part_of(party, parties_, r_.bytes / r_.element_bytes);
    if (part.first == part.last) return;
    plan_.receive(parties_.member_of(party), in_work(part), after);
  }

  const Request& r_;
  const Parties& parties_;
  PlanBuilder& plan_;
  std::uint32_t mine_;
  Range range_;
  Piece held_;  // the vector: the input, until something is folded
  std::uint64_t held_begin_ = 0;
  Piece work_;
  std::uint64_t work_begin_;
  Piece room_;
  StepIndex ready_ = no_step;
  std::vector<Level> levels_;
};

/// A guest takes no part in the exchange: its neighbour folds its vector. As the root it gets the
/// parts.
void reduce_as_guest(const Request& r, const Parties& parties, PlanBuilder& plan) {
  const StepIndex sent = plan.send(r.rank + 1, own_input(r));
  if (r.rank != r.root) return;
  const std::uint64_t elements = r.bytes / r.element_bytes;
  for (std::uint32_t party = 0; party < parties.count(); ++party) {
    const Range part = part_of(party, parties, elements);
    if (part.first == part.last) continue;
    const Piece piece =
        whole(Buffer::output, r).part(part.first * r.element_bytes, bytes_of(r, part));
    plan.receive(parties.member_of(party), piece, sent);
  }
}

}  // namespace

void allreduce_rabenseifner(const Request& r, PlanBuilder& plan) {
  const Parties parties(r.members);
  const Piece out = whole(Buffer::output, r);
  if (parties.is_guest(r.rank)) {
    const StepIndex sent = plan.send(r.rank + 1, own_input(r));
    plan.receive(r.rank + 1, out, sent);
    return;
  }
  Halving halving(r, parties, out, 0, plan);
  if (parties.is_paired(r.rank)) halving.join_guest();
  halving.scatter();
  halving.gather();
  if (parties.is_paired(r.rank)) plan.send(r.rank - 1, out, halving.ready());
}

void reduce_rabenseifner(const Request& r, PlanBuilder& plan) {
  const Parties parties(r.members);
  if (parties.is_guest(r.rank)) {
    reduce_as_guest(r, parties, plan);
    return;
  }
  const bool is_root = r.rank == r.root;
  const bool is_paired = parties.is_paired(r.rank);
  // Only the root's output may be written. Another party holds no more than a half, but for one
  // that folds the vector of a guest.
  const bool holds_all = is_root || is_paired;
  const Range held = holds_all ? Range{0, r.bytes / r.element_bytes} : first_half(r, parties);
  const Piece work = is_root ? whole(Buffer::output, r) : plan.scratch(bytes_of(r, held));
  Halving halving(r, parties, work, held.first, plan);
  if (is_paired) halving.join_guest();
  halving.scatter();
  if (is_root) {
    halving.take_parts();
  } else {
    halving.give_to_root();
  }
}

}  // namespace weft::collective

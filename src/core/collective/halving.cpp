// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's allreduce: pairs at distance 1, 2, 4 … exchange halves of the parts that they
// still hold and fold them, then gather the parts in the reverse order. Near partners come first,
// so that a partial always stands for consecutive members and the order of the fold is kept.
#include "core/collective/partial.hpp"

namespace weft::collective {
namespace {

/// The part of the vector that one party holds, halved in every step.
class Halving {
 public:
  Halving(const Request& r, const Parties& parties, PlanBuilder& plan)
      : r_(r),
        parties_(parties),
        plan_(plan),
        mine_(parties.party_of(r.rank)),
        last_(r.bytes / r.element_bytes),
        room_(plan.scratch(r.bytes)) {
    ready_ = plan.copy(own_input(r), elements(0, last_));
  }

  void join_guest() {
    const Piece room = room_.part(0, r_.bytes);
    const StepIndex got = plan_.receive(r_.rank - 1, room);
    ready_ = plan_.fold_left(room, elements(0, last_), got, ready_);
  }
  void scatter() {
    for (std::uint32_t step = 1; step < parties_.count(); step *= 2) {
      const std::uint64_t middle = first_ + (last_ - first_) / 2;
      const bool keeps_lower = (mine_ & step) == 0;
      const Level level{step, first_, middle, last_, no_step};
      const Piece kept = keeps_lower ? elements(first_, middle) : elements(middle, last_);
      const Piece given = keeps_lower ? elements(middle, last_) : elements(first_, middle);
      const std::uint32_t partner = parties_.member_of(mine_ ^ step);
      const Piece room = room_.part(0, kept.bytes);
      const StepIndex got = plan_.receive(partner, room, ready_);
      levels_.push_back(level);
      levels_.back().sent = plan_.send(partner, given, ready_);
      ready_ = keeps_lower ? plan_.fold_right(room, kept, got) : plan_.fold_left(room, kept, got);
      (keeps_lower ? last_ : first_) = middle;
    }
  }
  void gather() {
    for (std::size_t i = levels_.size(); i-- > 0;) {
      const Level& level = levels_[i];
      const bool kept_lower = (mine_ & level.step) == 0;
      const Piece missing =
          kept_lower ? elements(level.middle, level.last) : elements(level.first, level.middle);
      const std::uint32_t partner = parties_.member_of(mine_ ^ level.step);
      const StepIndex got = plan_.receive(partner, missing, level.sent, ready_);
      plan_.send(partner, elements(first_, last_), ready_);
      ready_ = got;
      first_ = level.first;
      last_ = level.last;
    }
  }
  StepIndex ready() const { return ready_; }

 private:
  struct Level {
    std::uint32_t step = 0;
    std::uint64_t first = 0;
    std::uint64_t middle = 0;
    std::uint64_t last = 0;
    StepIndex sent = no_step;
  };
  Piece elements(std::uint64_t first, std::uint64_t last) const {
    return {Buffer::output, first * r_.element_bytes, (last - first) * r_.element_bytes};
  }

  const Request& r_;
  const Parties& parties_;
  PlanBuilder& plan_;
  std::uint32_t mine_;
  std::uint64_t first_ = 0;
  std::uint64_t last_;
  Piece room_;
  StepIndex ready_ = no_step;
  std::vector<Level> levels_;
};

}  // namespace

void allreduce_rabenseifner(const Request& r, PlanBuilder& plan) {
  const Parties parties(r.members);
  const Piece out = whole(Buffer::output, r);
  if (parties.is_guest(r.rank)) {
    const StepIndex sent = plan.send(r.rank + 1, own_input(r));
    plan.receive(r.rank + 1, out, sent);
    return;
  }
  Halving halving(r, parties, plan);
  if (parties.is_paired(r.rank)) halving.join_guest();
  halving.scatter();
  halving.gather();
  if (parties.is_paired(r.rank)) plan.send(r.rank - 1, out, halving.ready());
}

}  // namespace weft::collective

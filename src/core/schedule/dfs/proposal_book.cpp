// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/proposal_book.hpp"

#include "core/schedule/dfs/arithmetic.hpp"

namespace weft::schedule::dfs {

void ProposalBook::add(const Proposal& proposal) {
  Entry& entry = entries_[proposal.interval.value() % kept];
  if (entry.used && entry.id >= proposal.interval) return;
  entry = {.used = true,
           .id = proposal.interval,
           .start = proposal.start,
           .duration = proposal.duration,
           .spacing = proposal.spacing};
  last_duration_ = proposal.duration;
  last_spacing_ = proposal.spacing;
}

void ProposalBook::on_grid() {
  entries_ = {};
}

Guidance ProposalBook::guidance(IntervalId id) const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries_) {
    if (!entry.used || entry.id > id) continue;
    if (best == nullptr || entry.id > best->id) best = &entry;
  }
  if (best == nullptr) {
    return {.guided = last_duration_ > Duration{},
            .start_known = false,
            .start = {},
            .duration = last_duration_,
            .spacing = last_spacing_};
  }
  const Wide shift = Wide{best->spacing.ticks()} * (id.value() - best->id.value());
  return {.guided = true,
          .start_known = true,
          .start = Instant(saturated(best->start.ticks() + shift)),
          .duration = best->duration,
          .spacing = best->spacing};
}

}  // namespace weft::schedule::dfs

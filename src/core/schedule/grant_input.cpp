// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant.hpp"
#include "core/schedule/grant_messages.hpp"

namespace weft::schedule {

GrantInput::GrantInput(std::uint32_t input, std::uint32_t computes_max, std::uint64_t first_rounds)
    : self_(input),
      first_rounds_(first_rounds),
      computes_(computes_max),
      agreement_(computes_max) {}

void GrantInput::on_grid(Instant, const RoundGrid& grid) {
  grid_ = grid;
  declines_ = false;
  // The first rounds need no grant. Each input node begins them at another compute node.
  computes_.assign(grid.computes, Compute{.granted = first_rounds_});
  for (std::uint32_t k = 0; k < grid.computes; ++k) {
    computes_[(std::uint64_t{self_} + k) % grid.computes].order = k;
  }
  order_ = grid.computes;
  agreement_.restart(grid.computes);
}

/// Whether there is nothing to send there, now and ever; the compute node will be told.
bool GrantInput::skip_over(Compute& compute, Readiness readiness) {
  if (readiness == Readiness::started) {
    compute.passed = ++compute.next;
  } else if (readiness == Readiness::after_end) {
    compute.ended = compute.next;
    compute.next = none;
  } else {
    return false;
  }
  compute.declines = declines_ = true;
  return true;
}

bool GrantInput::is_before(const Compute& a, const Compute& b) {
  return a.next != b.next ? a.next < b.next : a.order < b.order;
}

Choice GrantInput::choose(Instant, const SendState& state) {
  // Mostly the first in line can be sent: the others are not asked about then.
  const Compute* line = nullptr;
  for (const Compute& compute : computes_) {
    if (compute.next < compute.granted && (line == nullptr || is_before(compute, *line))) {
      line = &compute;
    }
  }
  if (line == nullptr) return {};
  const auto c = static_cast<std::uint32_t>(line - computes_.data());
  const TimesliceIndex t = grid_.timeslice(line->next, c);
  if (state.readiness(t) == Readiness::sendable) {
    return {.kind = Choice::Kind::send, .timeslice = t};
  }
  return first_sendable(state);
}

Choice GrantInput::first_sendable(const SendState& state) {
  Choice wait, send;
  const Compute* best = nullptr;
  const Compute* first = nullptr;
  for (std::uint32_t c = 0; c < computes_.size(); ++c) {
    Compute& compute = computes_[c];
    while (compute.next < compute.granted && (best == nullptr || is_before(compute, *best))) {
      const TimesliceIndex t = grid_.timeslice(compute.next, c);
      const Readiness readiness = state.readiness(t);
      if (skip_over(compute, readiness)) continue;
      if (readiness == Readiness::sendable) {
        best = &compute;
        send = {.kind = Choice::Kind::send, .timeslice = t};
      } else if (first == nullptr || is_before(compute, *first)) {
        first = &compute;
        wait.timeslice = t;
      }
      break;
    }
  }
  return best != nullptr ? send : wait;
}

void GrantInput::on_started(Instant, TimesliceIndex t) {
  Compute& compute = computes_[grid_.compute_of(t)];
  compute.next = std::max(compute.next, grid_.round_of(t) + 1);
}

void GrantInput::on_message(Instant, std::uint32_t from, std::span<const std::byte> bytes) {
  GrantMessage said;
  if (from >= computes_.size() || !decode(bytes, said)) return;
  if (said.kind != GrantKind::grant && said.kind != GrantKind::grant_and_tell) return;
  agreement_.on_wish(from, said.number);
  if (said.kind == GrantKind::grant_and_tell) agreement_.on_listener(from);
  Compute& compute = computes_[from];
  if (said.round <= compute.granted) return;
  // It had nothing to send there: it joins those that wait, at the end.
  if (compute.next >= compute.granted) compute.order = order_++;
  compute.granted = said.round;
}

void GrantInput::write_messages(Instant, MessageBox& out) {
  for (std::uint32_t c = 0; declines_ && c < computes_.size(); ++c) {
    Compute& compute = computes_[c];
    if (!compute.declines) continue;
    if (out.room() < 2) return;
    if (compute.passed > 0) encode(c, {.kind = GrantKind::passed, .round = compute.passed}, out);
    if (compute.ended != none) encode(c, {.kind = GrantKind::ended, .round = compute.ended}, out);
    compute.declines = false;
  }
  declines_ = false;
  while (!out.full()) {
    const auto listener = agreement_.take_untold();
    if (!listener) break;
    encode(*listener, {.kind = GrantKind::agreed, .number = agreement_.agreed()}, out);
  }
}

std::unique_ptr<InputSchedule> make_grant_input(std::uint32_t input, std::uint32_t computes_max,
                                                std::uint64_t first_rounds) {
  return std::make_unique<GrantInput>(input, computes_max, first_rounds);
}

}  // namespace weft::schedule

// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant.hpp"

#include <algorithm>

#include "core/schedule/grant_messages.hpp"

namespace weft::schedule {

GrantInput::GrantInput(std::uint32_t input, std::uint32_t computes_max, std::uint64_t first_rounds)
    : self_(input),
      first_rounds_(std::max<std::uint64_t>(1, first_rounds)),
      computes_(computes_max),
      agreement_(computes_max) {}

void GrantInput::on_grid(Instant, const RoundGrid& grid) {
  grid_ = grid;
  declines_ = false;
  // The first rounds need no grant. Each input node begins them at another compute node.
  computes_.assign(grid.computes, Compute{.granted = first_rounds_});
  line_.resize(grid.computes);
  for (std::uint32_t k = 0; k < grid.computes; ++k) {
    line_[k] = static_cast<std::uint32_t>((std::uint64_t{self_} + k) % grid.computes);
    computes_[line_[k]].order = k;
  }
  order_ = grid.computes;
  agreement_.restart(grid.computes);
}

/// Whether its next round, or each from there on, is never sent; the compute node will be told.
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

/// The first in line that can be sent. Those before it wait for room or content.
Choice GrantInput::choose(Instant, const SendState& state) {
  Choice wait;
  for (std::size_t place = 0; place < line_.size();) {
    const std::uint32_t c = line_[place];
    const TimesliceIndex t = grid_.timeslice(computes_[c].next, c);
    const Readiness readiness = state.readiness(t);
    if (readiness == Readiness::sendable) {
      return {.kind = Choice::Kind::send, .timeslice = t};
    }
    if (skip_over(computes_[c], readiness)) {
      step_back(place);
      continue;
    }
    if (place == 0) wait.timeslice = t;
    ++place;
  }
  return wait;
}

auto GrantInput::place_behind(std::size_t place, const Compute& compute) {
  return std::upper_bound(
      line_.begin() + static_cast<std::ptrdiff_t>(place), line_.end(), compute,
      [&](const Compute& a, std::uint32_t b) { return is_before(a, computes_[b]); });
}

/// The compute node there got its next round, or never will: its place is further back, or none.
void GrantInput::step_back(std::size_t place) {
  const Compute& compute = computes_[line_[place]];
  const auto at = line_.begin() + static_cast<std::ptrdiff_t>(place);
  if (compute.next >= compute.granted) {
    line_.erase(at);
    return;
  }
  // Mostly the others have got that round, too.
  const bool is_last = !is_before(compute, computes_[line_.back()]);
  std::rotate(at, at + 1, is_last ? line_.end() : place_behind(place + 1, compute));
}

void GrantInput::on_started(Instant, TimesliceIndex t) {
  const std::uint32_t c = grid_.compute_of(t);
  computes_[c].next = std::max(computes_[c].next, grid_.round_of(t) + 1);
  const auto place = std::ranges::find(line_, c);
  if (place != line_.end()) step_back(static_cast<std::size_t>(place - line_.begin()));
}

void GrantInput::on_message(Instant, std::uint32_t from, std::span<const std::byte> bytes) {
  GrantMessage said;
  if (from >= computes_.size() || !decode(bytes, said)) return;
  if (said.kind != GrantKind::grant && said.kind != GrantKind::grant_and_tell) return;
  agreement_.on_wish(from, said.number);
  if (said.kind == GrantKind::grant_and_tell) agreement_.on_listener(from);
  Compute& compute = computes_[from];
  if (said.round <= compute.granted) return;
  const bool is_in_line = compute.next < compute.granted;
  compute.granted = said.round;
  if (is_in_line || compute.next >= compute.granted) return;
  // It had nothing to send there: it joins those that wait for the same round, at their end.
  compute.order = order_++;
  line_.insert(place_behind(0, compute), from);
}

/// It may not know which rounds never come.
void GrantInput::on_reconnected(std::uint32_t c) {
  if (c >= computes_.size()) return;
  Compute& compute = computes_[c];
  compute.declines = compute.passed > 0 || compute.ended != none;
  declines_ = declines_ || compute.declines;
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

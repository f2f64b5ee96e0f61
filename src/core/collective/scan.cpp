// SPDX-License-Identifier: Apache-2.0
#include "core/collective/partial.hpp"

namespace weft::collective {

void scan_ring(const Request& r, PlanBuilder& plan) {
  const Piece out = whole(Buffer::output, r);
  const bool is_exclusive = r.operation == Operation::exclusive_scan;
  if (r.rank == 0) {
    if (r.members > 1) plan.send(1, own_input(r));
    if (!is_exclusive) plan.copy(own_input(r), out);
    return;
  }
  const bool is_last = r.rank + 1 == r.members;
  // The fold of the members before, with this one's own vector folded in behind it.
  const Piece sum = plan.scratch(r.bytes);
  const Piece before = plan.scratch(r.bytes);
  plan.copy(own_input(r), sum);
  const StepIndex got = plan.receive(r.rank - 1, before);
  const StepIndex done = plan.fold_left(before, sum, got);
  if (!is_last) plan.send(r.rank + 1, sum, done);
  plan.copy(is_exclusive ? before : sum, out, done);
}

void scan_recursive_doubling(const Request& r, PlanBuilder& plan) {
  const Piece out = whole(Buffer::output, r);
  const bool is_exclusive = r.operation == Operation::exclusive_scan;
  const Piece sum = plan.scratch(r.bytes);  // of this member and those before it
  const Piece room = plan.scratch(r.bytes);
  const Piece before = plan.scratch(is_exclusive ? r.bytes : 0);  // of those before it alone
  StepIndex ready = plan.copy(own_input(r), sum);
  StepIndex room_free = no_step;
  bool has_before = false;
  for (std::uint64_t distance = 1; distance < r.members; distance *= 2) {
    const auto step = static_cast<std::uint32_t>(distance);
    StepIndex got = no_step;
    if (r.rank >= step) got = plan.receive(r.rank - step, room, room_free);
    StepIndex sent = no_step;
    if (r.rank + distance < r.members) sent = plan.send(r.rank + step, sum, ready);
    if (got == no_step) continue;
    if (is_exclusive) {
      if (has_before) {
        plan.fold_left(room, before, got);
      } else {
        plan.copy(room, before, got);
      }
      has_before = true;
    }
    ready = plan.fold_left(room, sum, got, sent);
    room_free = ready;
  }
  if (is_exclusive) {
    if (r.rank > 0) plan.copy(before, out);
  } else {
    plan.copy(sum, out, ready);
  }
}

void reduce_scatter_pairwise(const Request& r, PlanBuilder& plan) {
  const Piece out = whole(Buffer::output, r);
  const Piece slots = plan.scratch(r.bytes * r.members);
  const auto slot = [&](std::uint32_t i) { return slots.part(i * r.bytes, r.bytes); };
  std::vector<StepIndex> got(r.members, no_step);
  got[r.rank] = plan.copy(r.blocks.at(Buffer::input, r.rank), slot(r.rank));
  StepIndex received = no_step;
  StepIndex sent = no_step;
  for (std::uint32_t i = 1; i < r.members; ++i) {
    const std::uint32_t from = back_ring(r.rank, i, r.members);
    const std::uint32_t to = add_ring(r.rank, i, r.members);
    const StepIndex wait_received = received;
    const StepIndex wait_sent = sent;
    if (r.bytes > 0) {
      got[from] = received = plan.receive(from, slot(from), wait_received, wait_sent);
    }
    if (r.blocks.bytes(to) > 0) {
      sent = plan.send(to, r.blocks.at(Buffer::input, to), wait_received, wait_sent);
    }
  }
  if (r.bytes == 0) return;
  for (std::uint32_t i = 0; i < r.members; ++i) {
    if (i == 0) {
      // Some programs' output is a block of the input.
      plan.copy(slot(i), out, got[i], sent);
    } else {
      plan.fold_right(slot(i), out, got[i]);
    }
  }
}

}  // namespace weft::collective

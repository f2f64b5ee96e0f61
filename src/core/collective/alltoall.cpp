// SPDX-License-Identifier: Apache-2.0

#include "core/collective/algorithms.hpp"

namespace weft::collective {

void alltoall_linear(const Request& r, PlanBuilder& plan) {
  for (std::uint32_t i = 1; i < r.members; ++i) {
    const std::uint32_t from = back_ring(r.rank, i, r.members);
    if (r.blocks.bytes(from) > 0) plan.receive(from, r.blocks.at(Buffer::output, from));
  }
  for (std::uint32_t i = 1; i < r.members; ++i) {
    const std::uint32_t to = add_ring(r.rank, i, r.members);
    if (r.input_blocks.bytes(to) > 0) plan.send(to, r.input_blocks.at(Buffer::input, to));
  }
  plan.copy(r.input_blocks.at(Buffer::input, r.rank), r.blocks.at(Buffer::output, r.rank));
}

void alltoall_pairwise(const Request& r, PlanBuilder& plan) {
  plan.copy(r.input_blocks.at(Buffer::input, r.rank), r.blocks.at(Buffer::output, r.rank));
  StepIndex received = no_step;
  StepIndex sent = no_step;
  for (std::uint32_t i = 1; i < r.members; ++i) {
    const std::uint32_t from = back_ring(r.rank, i, r.members);
    const std::uint32_t to = add_ring(r.rank, i, r.members);
    const StepIndex wait_received = received;
    const StepIndex wait_sent = sent;
    if (r.blocks.bytes(from) > 0) {
      received = plan.receive(from, r.blocks.at(Buffer::output, from), wait_received, wait_sent);
    }
    if (r.input_blocks.bytes(to) > 0) {
      sent = plan.send(to, r.input_blocks.at(Buffer::input, to), wait_received, wait_sent);
    }
  }
}

void alltoall_bruck(const Request& r, PlanBuilder& plan) {
  // Slot i travels i places round the ring, one step for each bit of i.
  const Piece slots = plan.scratch(r.members * r.bytes);
  const Piece packed = plan.scratch((r.members + 1) / 2 * r.bytes);
  const Piece room = plan.scratch((r.members + 1) / 2 * r.bytes);
  const auto slot = [&](std::uint32_t i) { return slots.part(i * r.bytes, r.bytes); };
  for (std::uint32_t i = 0; i < r.members; ++i) {
    plan.copy(r.input_blocks.at(Buffer::input, add_ring(r.rank, i, r.members)), slot(i));
  }
  StepIndex sent = no_step;
  for (std::uint64_t distance = 1; distance < r.members; distance *= 2) {
    const auto step = static_cast<std::uint32_t>(distance);
    std::uint64_t count = 0;
    for (std::uint32_t i = step; i < r.members; ++i) {
      if ((i & step) != 0) plan.copy(slot(i), packed.part(count++ * r.bytes, r.bytes), sent);
    }
    const StepIndex got =
        plan.receive(back_ring(r.rank, step, r.members), room.part(0, count * r.bytes));
    sent = plan.send(add_ring(r.rank, step, r.members), packed.part(0, count * r.bytes));
    count = 0;
    for (std::uint32_t i = step; i < r.members; ++i) {
      if ((i & step) != 0) plan.copy(room.part(count++ * r.bytes, r.bytes), slot(i), got);
    }
  }
  for (std::uint32_t i = 0; i < r.members; ++i) {
    plan.copy(slot(i), r.blocks.at(Buffer::output, back_ring(r.rank, i, r.members)));
  }
}

}  // namespace weft::collective

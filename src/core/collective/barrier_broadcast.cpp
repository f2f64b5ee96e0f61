// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "core/collective/algorithms.hpp"

namespace weft::collective {

void barrier_dissemination(const Request& r, PlanBuilder& plan) {
  StepIndex heard = no_step;
  for (std::uint64_t distance = 1; distance < r.members; distance *= 2) {
    const auto step = static_cast<std::uint32_t>(distance);
    const StepIndex receive = plan.receive(back_ring(r.rank, step, r.members), {});
    plan.send(add_ring(r.rank, step, r.members), {}, heard);
    heard = receive;
  }
}

void broadcast_linear(const Request& r, PlanBuilder& plan) {
  const Piece all = whole(Buffer::output, r);
  if (r.rank != r.root) {
    plan.receive(r.root, all);
    return;
  }
  for (std::uint32_t i = 1; i < r.members; ++i) plan.send(add_ring(r.root, i, r.members), all);
}

void broadcast_binomial(const Request& r, PlanBuilder& plan) {
  const Piece all = whole(Buffer::output, r);
  const std::uint32_t place = back_ring(r.rank, r.root, r.members);
  // The root reaches as far as there are members, others as far as the lowest bit of their place.
  std::uint64_t reach = place == 0 ? std::bit_ceil(std::uint64_t{r.members})
                                   : std::uint64_t{1} << std::countr_zero(place);
  StepIndex has = no_step;
  if (place != 0) {
    const auto above = static_cast<std::uint32_t>(place - reach);
    has = plan.receive(add_ring(r.root, above, r.members), all);
  }
  for (reach /= 2; reach > 0; reach /= 2) {
    if (place + reach >= r.members) continue;
    plan.send(add_ring(r.rank, static_cast<std::uint32_t>(reach), r.members), all, has);
  }
}

void broadcast_ring(const Request& r, PlanBuilder& plan) {
  const std::uint64_t elements = r.bytes / r.element_bytes;
  const auto from = [&](std::uint64_t place) {
    return elements * std::min<std::uint64_t>(place, r.members) / r.members * r.element_bytes;
  };
  const auto parts = [&](std::uint64_t first, std::uint64_t last) {
    return Piece{Buffer::output, from(first), from(last) - from(first)};
  };
  const std::uint32_t place = back_ring(r.rank, r.root, r.members);
  std::uint64_t reach = place == 0 ? std::bit_ceil(std::uint64_t{r.members})
                                   : std::uint64_t{1} << std::countr_zero(place);
  StepIndex has = no_step;
  if (place != 0) {
    const auto above = static_cast<std::uint32_t>(place - reach);
    has = plan.receive(add_ring(r.root, above, r.members), parts(place, place + reach));
  }
  const std::uint64_t held = std::min<std::uint64_t>(place + reach, r.members);
  for (reach /= 2; reach > 0; reach /= 2) {
    const std::uint64_t below = place + reach;
    if (below >= r.members) continue;
    plan.send(add_ring(r.rank, static_cast<std::uint32_t>(reach), r.members),
              parts(below, below + reach), has);
  }
  // Part `place` is here, and those up to `held`: the neighbours need not send them.
  const std::uint32_t next = add_ring(r.rank, 1, r.members);
  const std::uint32_t before = back_ring(r.rank, 1, r.members);
  const std::uint32_t next_place = add_ring(place, 1, r.members);
  const std::uint64_t next_held =
      next_place == 0 ? r.members : next_place + (std::uint64_t{1} << std::countr_zero(next_place));
  StepIndex has_part = has;
  for (std::uint32_t i = 0; i + 1 < r.members; ++i) {
    const std::uint32_t sent = back_ring(place, i, r.members);
    const std::uint32_t received = back_ring(place, i + 1, r.members);
    StepIndex got = has;
    if (!(received >= place && received < held)) {
      got = plan.receive(before, parts(received, received + 1));
    }
    if (!(sent >= next_place && sent < next_held)) {
      plan.send(next, parts(sent, sent + 1), has_part);
    }
    has_part = got;
  }
}

}  // namespace weft::collective

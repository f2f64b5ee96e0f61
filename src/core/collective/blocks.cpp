// SPDX-License-Identifier: Apache-2.0
// Operations that move blocks and fold nothing: gather, scatter, allgather.
#include <algorithm>
#include <bit>

#include "core/collective/algorithms.hpp"

namespace weft::collective {
namespace {

/// The places [place, end) whose blocks pass through this member, in a binomial tree over members
/// in the order of a ring that begins at the root.
struct Subtree {
  std::uint32_t place = 0;
  std::uint32_t end = 0;
  std::uint64_t reach = 0;  ///< to the place above, and twice that to the furthest child

  explicit Subtree(const Request& r) : place(back_ring(r.rank, r.root, r.members)) {
    reach = place == 0 ? std::bit_ceil(std::uint64_t{r.members})
                       : std::uint64_t{1} << std::countr_zero(place);
    end = static_cast<std::uint32_t>(std::min<std::uint64_t>(place + reach, r.members));
  }
};

/// The blocks of places [0, members) lie in `packed` in the order of the ring; in `buffer` at the
/// root in the order of members. At most two pieces.
template <class Copy>
void for_unwrapped(const Request& r, Buffer buffer, Piece packed, Copy&& copy) {
  const std::uint64_t before_wrap = (r.members - r.root) * r.bytes;
  const std::uint64_t behind_wrap = r.root * r.bytes;
  copy(Piece{buffer, behind_wrap, before_wrap}, packed.part(0, before_wrap));
  copy(Piece{buffer, 0, behind_wrap}, packed.part(before_wrap, behind_wrap));
}

Piece own_block(const Request& r) {
  return r.in_place ? r.blocks.at(Buffer::output, r.rank) : whole(Buffer::input, r);
}

}  // namespace

void gather_linear(const Request& r, PlanBuilder& plan) {
  if (r.rank != r.root) {
    if (r.bytes > 0) plan.send(r.root, whole(Buffer::input, r));
    return;
  }
  for (std::uint32_t i = 1; i < r.members; ++i) {
    const std::uint32_t from = add_ring(r.root, i, r.members);
    if (r.blocks.bytes(from) > 0) plan.receive(from, r.blocks.at(Buffer::output, from));
  }
  plan.copy(own_block(r), r.blocks.at(Buffer::output, r.rank));
}

void gather_binomial(const Request& r, PlanBuilder& plan) {
  const Subtree tree(r);
  const Piece packed = plan.scratch((tree.end - tree.place) * r.bytes);
  // Only the root's own input may lie in an output.
  plan.copy(r.rank == r.root ? own_block(r) : whole(Buffer::input, r), packed.part(0, r.bytes));
  std::vector<StepIndex> got;
  for (std::uint64_t reach = 1; reach < tree.reach && tree.place + reach < r.members; reach *= 2) {
    const auto from = static_cast<std::uint32_t>(reach);
    const std::uint64_t end = std::min<std::uint64_t>(tree.place + 2 * reach, r.members);
    got.push_back(plan.receive(add_ring(r.rank, from, r.members),
                               packed.part(reach * r.bytes, (end - tree.place - reach) * r.bytes),
                               got.empty() ? no_step : got.back()));
  }
  const StepIndex all = got.empty() ? no_step : got.back();
  if (tree.place != 0) {
    plan.send(add_ring(r.root, static_cast<std::uint32_t>(tree.place - tree.reach), r.members),
              packed, all);
    return;
  }
  for_unwrapped(r, Buffer::output, packed,
                [&](Piece member, Piece place) { plan.copy(place, member, all); });
}

void scatter_linear(const Request& r, PlanBuilder& plan) {
  if (r.rank != r.root) {
    if (r.bytes > 0) plan.receive(r.root, whole(Buffer::output, r));
    return;
  }
  for (std::uint32_t i = 1; i < r.members; ++i) {
    const std::uint32_t to = add_ring(r.root, i, r.members);
    if (r.blocks.bytes(to) > 0) plan.send(to, r.blocks.at(Buffer::input, to));
  }
  plan.copy(r.blocks.at(Buffer::input, r.rank), whole(Buffer::output, r));
}

void scatter_binomial(const Request& r, PlanBuilder& plan) {
  const Subtree tree(r);
  const Piece packed = plan.scratch((tree.end - tree.place) * r.bytes);
  StepIndex has = no_step;
  if (tree.place == 0) {
    for_unwrapped(r, Buffer::input, packed,
                  [&](Piece member, Piece place) { has = plan.copy(member, place); });
  } else {
    has = plan.receive(
        add_ring(r.root, static_cast<std::uint32_t>(tree.place - tree.reach), r.members), packed);
  }
  for (std::uint64_t reach = tree.reach / 2; reach > 0; reach /= 2) {
    if (tree.place + reach >= r.members) continue;
    const std::uint64_t end = std::min<std::uint64_t>(tree.place + 2 * reach, r.members);
    plan.send(add_ring(r.rank, static_cast<std::uint32_t>(reach), r.members),
              packed.part(reach * r.bytes, (end - tree.place - reach) * r.bytes), has);
  }
  plan.copy(packed.part(0, r.bytes), whole(Buffer::output, r), has);
}

void allgather_linear(const Request& r, PlanBuilder& plan) {
  for (std::uint32_t i = 1; i < r.members; ++i) {
    const std::uint32_t from = back_ring(r.rank, i, r.members);
    if (r.blocks.bytes(from) > 0) plan.receive(from, r.blocks.at(Buffer::output, from));
  }
  for (std::uint32_t i = 1; i < r.members; ++i) {
    if (r.blocks.bytes(r.rank) > 0) plan.send(add_ring(r.rank, i, r.members), own_block(r));
  }
  plan.copy(own_block(r), r.blocks.at(Buffer::output, r.rank));
}

void allgather_ring(const Request& r, PlanBuilder& plan) {
  const std::uint32_t before = back_ring(r.rank, 1, r.members);
  const std::uint32_t after = add_ring(r.rank, 1, r.members);
  StepIndex has = plan.copy(own_block(r), r.blocks.at(Buffer::output, r.rank));
  for (std::uint32_t i = 0; i + 1 < r.members; ++i) {
    const Piece sent = r.blocks.at(Buffer::output, back_ring(r.rank, i, r.members));
    const Piece received = r.blocks.at(Buffer::output, back_ring(r.rank, i + 1, r.members));
    const StepIndex got = received.bytes > 0 ? plan.receive(before, received) : no_step;
    if (sent.bytes > 0) plan.send(after, sent, has);
    has = got;
  }
}

void allgather_bruck(const Request& r, PlanBuilder& plan) {
  // In the order of the ring from this member on.
  const Piece packed = plan.scratch(r.members * r.bytes);
  StepIndex has = plan.copy(own_block(r), packed.part(0, r.bytes));
  for (std::uint64_t held = 1; held < r.members; held *= 2) {
    const std::uint64_t more = std::min<std::uint64_t>(held, r.members - held);
    const auto distance = static_cast<std::uint32_t>(held);
    const StepIndex got = plan.receive(add_ring(r.rank, distance, r.members),
                                       packed.part(held * r.bytes, more * r.bytes));
    plan.send(back_ring(r.rank, distance, r.members), packed.part(0, more * r.bytes), has);
    has = got;
  }
  const std::uint64_t before_wrap = (r.members - r.rank) * r.bytes;
  const std::uint64_t behind_wrap = r.rank * r.bytes;
  plan.copy(packed.part(0, before_wrap), {Buffer::output, behind_wrap, before_wrap}, has);
  plan.copy(packed.part(before_wrap, behind_wrap), {Buffer::output, 0, behind_wrap}, has);
}

void allgather_recursive_doubling(const Request& r, PlanBuilder& plan) {
  StepIndex has = plan.copy(own_block(r), r.blocks.at(Buffer::output, r.rank));
  for (std::uint32_t step = 1; step < r.members; step *= 2) {
    const std::uint32_t other = r.rank ^ step;
    const std::uint64_t mine = r.rank / step * step;
    const std::uint64_t theirs = other / step * step;
    const std::uint64_t bytes = step * r.bytes;
    const StepIndex got = plan.receive(other, {Buffer::output, theirs * r.bytes, bytes});
    plan.send(other, {Buffer::output, mine * r.bytes, bytes}, has);
    has = got;
  }
}

}  // namespace weft::collective

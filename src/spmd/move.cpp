// SPDX-License-Identifier: Apache-2.0
// Containers that change their group.
#include <algorithm>

#include "base/check.hpp"
#include "spmd/container_state.hpp"
#include "spmd/partitioning_message.hpp"
#include "spmd/sequence.hpp"
#include "spmd/uniform_reduction.hpp"

namespace weft::spmd {
namespace {

bool has_all(const Group& larger, const Group& smaller) {
  const auto in = larger.members();
  return std::all_of(smaller.members().begin(), smaller.members().end(),
                     [&](Rank rank) { return std::find(in.begin(), in.end(), rank) != in.end(); });
}

/// Returns a group that contains the processes of both groups.
Group wide_group(const Group& from, const Group& to) {
  if (has_all(from, to)) return from;
  return has_all(to, from) ? to : from.root();
}

/// The ranks in `wide` of the members of `group`.
std::vector<Rank> ranks_in(const Group& wide, const Group& group) {
  std::vector<Rank> ranks;
  for (const Rank member : group.members()) {
    const auto at = std::find(wide.members().begin(), wide.members().end(), member);
    ranks.push_back(Rank(static_cast<std::uint32_t>(at - wide.members().begin())));
  }
  return ranks;
}

/// Ranks outside of the container's group get its partitioning from the group's first member.
Result<Partitioning> tell_outsiders(const Group& wide, std::span<const Rank> insiders,
                                    const Group& group, const Partitioning& known) {
  Operations operations(wide.communicator());
  const auto is_inside = [&](Rank rank) {
    return std::find(insiders.begin(), insiders.end(), rank) != insiders.end();
  };
  std::vector<std::byte> length;
  std::vector<std::byte> bytes;
  if (is_inside(wide.rank())) {
    if (wide.rank() != insiders[0]) return known;
    bytes = encode(known);
    append_integer(length, bytes.size());
    for (std::uint32_t r = 0; r < wide.size(); ++r) {
      if (is_inside(Rank(r))) continue;
      operations.send(Rank(r), transition_tag, length);
      operations.send(Rank(r), transition_tag, bytes);
    }
    if (auto done = operations.finish(); !done.ok()) return done.error();
    return known;
  }
  length.resize(8);
  operations.receive(insiders[0], transition_tag, length);
  if (auto done = operations.finish(); !done.ok()) return done.error();
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 8; ++i) size |= std::to_integer<std::uint64_t>(length[i]) << 8 * i;
  constexpr std::uint64_t most = 1 << 30;
  if (size > most) {
    return Error{ErrorCode::corrupt, "a partitioning of more than 1 GiB was announced"};
  }
  bytes.resize(size);
  operations.receive(insiders[0], transition_tag, bytes);
  if (auto done = operations.finish(); !done.ok()) return done.error();
  return decode_partitioning(bytes, known.space(), group.size());
}

}  // namespace

Result<void> ContainerBase::move_raw(const Group& to, const Partitioning& partitioning, Flow flow) {
  WEFT_CHECK(partitioning.ranks() == to.size(), "a partitioning of {} ranks for a group of {}",
             partitioning.ranks(), to.size());
  const Group& group = state_->group;
  const Group wide = wide_group(group, to);
  const std::vector<Rank> before_ranks = ranks_in(wide, group);
  const std::vector<Rank> after_ranks = ranks_in(wide, to);
  auto known = tell_outsiders(wide, before_ranks, group, state_->from());
  if (!known.ok()) return known.error();
  const Transition transition(std::make_shared<const Transition::Plan>(
      make_plan(known->renumbered(before_ranks, wide.size()),
                partitioning.renumbered(after_ranks, wide.size()), flow, wide.rank())));
  LocalMemory after;
  if (to.is_member()) after = LocalMemory(partitioning.mappings(to.rank()), state_->element_size);
  const std::vector<std::byte> zero(state_->element_size);
  Sequence sequence({wide.communicator(), transition, state_->memory, after, state_->element_size,
                     nullptr, zero});
  sequence.start();
  auto done = sequence.finish();
  *state_ = State{.group = to, .space = state_->space, .element_size = state_->element_size};
  if (to.is_member()) state_->become(partitioning, std::move(after));
  return done;
}

}  // namespace weft::spmd

// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/container.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "spmd/container_state.hpp"
#include "spmd/sequence.hpp"

namespace weft::spmd {

ContainerBase::ContainerBase(const Group& group, const Space& space, std::size_t element_size)
    : state_(new State{.group = group, .space = space, .element_size = element_size}) {}
ContainerBase::ContainerBase(ContainerBase&&) noexcept = default;
ContainerBase& ContainerBase::operator=(ContainerBase&&) noexcept = default;
ContainerBase::~ContainerBase() = default;

const Group& ContainerBase::group() const {
  return state_->group;
}
const Space& ContainerBase::space() const {
  return state_->space;
}
std::size_t ContainerBase::element_size() const {
  return state_->element_size;
}
const std::optional<Partitioning>& ContainerBase::partitioning() const {
  return state_->current;
}

std::span<const Slice> ContainerBase::slices() const {
  if (!state_->current || !state_->group.is_member()) return {};
  return state_->current->slices(state_->group.rank());
}

std::uint32_t ContainerBase::mappings() const {
  return static_cast<std::uint32_t>(state_->mappings.size());
}

std::optional<LocalIndex> ContainerBase::local(Index global) const {
  for (const Slice& slice : slices()) {
    if (!slice.box.contains(global)) continue;
    const Box box = state_->mappings[slice.mapping];
    const std::int64_t offset =
        (global.x() - box.from.x()) +
        box.extent(0) * ((global.y() - box.from.y()) + box.extent(1) * (global.z() - box.from.z()));
    return LocalIndex{slice.mapping, offset};
  }
  return std::nullopt;
}

Index ContainerBase::global(LocalIndex local) const {
  WEFT_CHECK(local.mapping < mappings(), "there is no mapping {} here", local.mapping);
  const Box& box = state_->mappings[local.mapping];
  WEFT_CHECK(local.offset >= 0 && local.offset < box.size(), "offset {} in a mapping of {}",
             local.offset, box.size());
  const std::int64_t rows = local.offset / box.extent(0);
  return Index(box.from.x() + local.offset % box.extent(0), box.from.y() + rows % box.extent(1),
               box.from.z() + rows / box.extent(1));
}

void ContainerBase::reserve(std::span<const Partitioning> partitionings) {
  const Rank rank = state_->group.rank();
  state_->reserved.assign(partitionings.begin(), partitionings.end());
  std::vector<Box> bounds;
  for (const Partitioning& partitioning : partitionings) {
    WEFT_CHECK(partitioning.space() == state_->space, "a partitioning of another space");
    const std::vector<Box> mappings = partitioning.mappings(rank);
    if (mappings.size() > bounds.size()) bounds.resize(mappings.size());
    for (std::size_t m = 0; m < mappings.size(); ++m) {
      bounds[m] = bounds[m].bounding(mappings[m]);
    }
  }
  state_->reserved_memory = LocalMemory(bounds, state_->element_size);
  if (!state_->current) return;
  if (!state_->is_reserved(*state_->current)) {
    state_->current.reset();
    state_->memory = {};
    state_->mappings.clear();
    return;
  }
  for (const Slice& slice : slices()) {
    copy(state_->memory.block(slice.mapping, slice.box),
         state_->reserved_memory.block(slice.mapping, slice.box), slice.box, state_->element_size);
  }
  state_->memory = state_->reserved_memory;
}

void ContainerBase::pack(std::size_t slice, std::span<std::byte> into) const {
  const Slice& which = slices()[slice];
  const Block block = state_->memory.block(which.mapping, which.box);
  WEFT_CHECK(into.size() == block.bytes(), "{} bytes for a slice of {}", into.size(),
             block.bytes());
  spmd::pack(block, into.data());
}

void ContainerBase::unpack(std::size_t slice, std::span<const std::byte> from) {
  const Slice& which = slices()[slice];
  const Block block = state_->memory.block(which.mapping, which.box);
  WEFT_CHECK(from.size() == block.bytes(), "{} bytes for a slice of {}", from.size(),
             block.bytes());
  spmd::unpack(block, from.data());
}

Result<void> ContainerBase::switch_raw(const Partitioning& to, Flow flow,
                                       const RawReduction* reduction,
                                       std::span<const std::byte> fill) {
  const bool keeps = flow == Flow::preserve || flow == Flow::none;
  if (keeps && state_->current && state_->current->is(to)) return {};
  return run_raw(state_->group.transition(state_->from(), to, flow), reduction, fill);
}

Result<void> ContainerBase::run_raw(const Transition& transition, const RawReduction* reduction,
                                    std::span<const std::byte> fill) {
  WEFT_CHECK(!state_->current || transition.from().is(*state_->current),
             "a transition from another partitioning than the container is in");
  Communicator& communicator = state_->group.communicator();
  LocalMemory after = state_->memory_for(transition.to(), communicator.rank());
  Sequence sequence(
      {communicator, transition, state_->memory, after, state_->element_size, reduction, fill});
  sequence.start();
  auto done = sequence.finish();
  if (!state_->current || !state_->current->is(transition.to())) {
    state_->become(transition.to(), std::move(after));
  }
  return done;
}

ActionSequence ContainerBase::prepare_raw(const Transition& transition,
                                          const RawReduction* reduction,
                                          std::span<const std::byte> fill) const {
  WEFT_CHECK(state_->is_reserved(transition.from()) && state_->is_reserved(transition.to()),
             "prepare: reserve memory for both partitionings first");
  const LocalMemory& memory = state_->reserved_memory;
  return ActionSequence(std::unique_ptr<ActionSequence::State>(
      new ActionSequence::State{state_.get(), transition.from(), transition.to(), memory,
                                Sequence({state_->group.communicator(), transition, memory, memory,
                                          state_->element_size, reduction, fill})}));
}

ContainerBase::Place ContainerBase::slice_place(std::size_t slice) const {
  const auto all = slices();
  WEFT_CHECK(slice < all.size(), "slice {} of {} that this rank holds", slice, all.size());
  Place place = mapping_place(all[slice].mapping);
  const Box& box = all[slice].box;
  place.first +=
      (box.from.x() - place.box.from.x()) * static_cast<std::ptrdiff_t>(state_->element_size);
  place.first += ((box.from.y() - place.box.from.y()) * place.stride_y +
                  (box.from.z() - place.box.from.z()) * place.stride_z) *
                 static_cast<std::ptrdiff_t>(state_->element_size);
  place.box = box;
  return place;
}

ContainerBase::Place ContainerBase::mapping_place(std::uint32_t mapping) const {
  if (mapping >= mappings()) return {};
  const Box& box = state_->mappings[mapping];
  if (box.is_empty()) return {};
  const MappingMemory& memory = state_->memory.mapping(mapping);
  const Block block = block_in(memory.bytes.get(), memory.bounds, box, state_->element_size);
  const std::ptrdiff_t stride_y = memory.bounds.extent(0);
  return {block.first, box, stride_y, stride_y * memory.bounds.extent(1)};
}

}  // namespace weft::spmd

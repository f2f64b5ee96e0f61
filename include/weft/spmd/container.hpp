// SPDX-License-Identifier: Apache-2.0
// Containers: values of a type over a space, distributed among the ranks of a group by a
// partitioning that can be switched to another one at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "weft/result.hpp"
#include "weft/spmd/group.hpp"
#include "weft/spmd/reduction.hpp"
#include "weft/spmd/view.hpp"

namespace weft::spmd {

/// A place in a rank's memory: which of its mappings, and the element's number in it.
struct LocalIndex {
  std::uint32_t mapping = 0;
  std::int64_t offset = 0;
  bool operator==(const LocalIndex&) const = default;
};

/// Everything about a transition of one container that can be settled beforehand: addresses,
/// buffers, messages. For loops that repeat a transition. Valid while the container lives and its
/// memory is reserved.
class ActionSequence {
 public:
  struct State;
  explicit ActionSequence(std::unique_ptr<State> state);
  ActionSequence(ActionSequence&&) noexcept;
  ActionSequence& operator=(ActionSequence&&) noexcept;
  ~ActionSequence();

  /// Runs the whole transition. Collective. Errors as of `Container::switch_to`.
  Result<void> run();
  /// The same in two steps, with computation in between: until `finish`, the caller may read
  /// elements of a preserved container that were valid before, and write none.
  void start();
  Result<void> finish();

 private:
  std::unique_ptr<State> state_;
};

/// The common base of containers of all types. Use Container<T>.
class ContainerBase {
 public:
  struct State;
  ContainerBase(ContainerBase&&) noexcept;
  ContainerBase& operator=(ContainerBase&&) noexcept;
  ~ContainerBase();

  const Group& group() const;
  const Space& space() const;
  std::size_t element_size() const;
  /// None before the first switch.
  const std::optional<Partitioning>& partitioning() const;
  /// The slices that this rank holds now; none outside of the group.
  std::span<const Slice> slices() const;
  /// Number of mappings now.
  std::uint32_t mappings() const;
  /// The local place of an index, in the first slice that has it; nothing when this rank has none.
  std::optional<LocalIndex> local(Index global) const;
  /// The global index of a local place.
  Index global(LocalIndex local) const;

  /// Reserves one memory for all of these: mapping m of each lies in the same place, so that
  /// switching between them copies nothing within a rank, and addresses stay. Values are kept if
  /// the container is in one of them now; otherwise it becomes empty.
  void reserve(std::span<const Partitioning> partitionings);
  void reserve(std::initializer_list<Partitioning> partitionings) {
    reserve(std::span(partitionings.begin(), partitionings.size()));
  }

  /// Raw access, for checkpoints: the bytes of slice k, packed with x fastest.
  void pack(std::size_t slice, std::span<std::byte> into) const;
  void unpack(std::size_t slice, std::span<const std::byte> from);

 protected:
  ContainerBase(const Group& group, const Space& space, std::size_t element_size);
  Result<void> switch_raw(const Partitioning& to, Flow flow, const RawReduction* reduction,
                          std::span<const std::byte> fill);
  Result<void> run_raw(const Transition& transition, const RawReduction* reduction,
                       std::span<const std::byte> fill);
  Result<void> move_raw(const Group& to, const Partitioning& partitioning, Flow flow);
  ActionSequence prepare_raw(const Transition& transition, const RawReduction* reduction,
                             std::span<const std::byte> fill) const;
  struct Place {
    std::byte* first = nullptr;
    Box box{};
    std::ptrdiff_t stride_y = 0;
    std::ptrdiff_t stride_z = 0;
  };
  Place slice_place(std::size_t slice) const;
  Place mapping_place(std::uint32_t mapping) const;

 private:
  std::unique_ptr<State> state_;
};

/// Values of type T, which are moved as bytes. One thread. All switches are collective: every rank
/// of the group makes the same ones in the same order. Each may fail with an error of
/// Communicator::wait; the container's values are then unspecified.
template <class T>
class Container : public ContainerBase {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  Container(const Group& group, const Space& space) : ContainerBase(group, space, sizeof(T)) {}

  /// Switches the container to `to`. The first time there are no values to preserve or reduce.
  Result<void> switch_to(const Partitioning& to, Flow flow = Flow::preserve) {
    return switch_raw(to, flow, nullptr, bytes_of(zero_));
  }
  /// All elements get a value.
  Result<void> initialise(const Partitioning& to, const T& value) {
    return switch_raw(to, Flow::initialise, nullptr, bytes_of(value));
  }
  /// Folds the values that the ranks wrote.
  Result<void> reduce(const Partitioning& to, const Reduction<T>& reduction) {
    return switch_raw(to, Flow::reduce, &reduction.raw(), bytes_of(reduction.neutral()));
  }
  /// The same by a transition, without a lookup in the cache. The container is in its `from`.
  Result<void> run(const Transition& transition) {
    return run_raw(transition, nullptr, bytes_of(zero_));
  }
  Result<void> run(const Transition& transition, const Reduction<T>& reduction) {
    return run_raw(transition, &reduction.raw(), bytes_of(reduction.neutral()));
  }
  /// The same prepared once: fastest. Both partitionings must be reserved. Before each run the
  /// container must be in its `from`; afterwards it is in its `to`.
  ActionSequence prepare(const Transition& transition) const {
    return prepare_raw(transition, nullptr, bytes_of(zero_));
  }
  ActionSequence prepare(const Transition& transition, const Reduction<T>& reduction) const {
    return prepare_raw(transition, &reduction.raw(), bytes_of(reduction.neutral()));
  }
  /// Moves to a group of some of this one's processes, or of more: collective in the larger group,
  /// including processes that leave or join, which hold nothing afterwards or before.
  /// `partitioning` is of the other group. A joining process has a container of the smaller group.
  Result<void> move_to(const Group& to, const Partitioning& partitioning,
                       Flow flow = Flow::preserve) {
    return move_raw(to, partitioning, flow);
  }

  /// The elements of slice k, which exists.
  View<T> view(std::size_t slice = 0) const { return typed(slice_place(slice)); }
  /// The box that a mapping's memory covers (of reserved memory: of this partitioning alone); empty
  /// for a mapping that this rank does not have.
  View<T> memory(std::uint32_t mapping = 0) const { return typed(mapping_place(mapping)); }
  /// The elements of slice k where they are consecutive, as those of a line are.
  std::span<T> values(std::size_t slice = 0) const { return view(slice).values(); }
  T& at(LocalIndex local) const { return memory_by_offset(local); }

 private:
  static std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span<const T, 1>(&value, 1));
  }
  static View<T> typed(const Place& place) {
    return View<T>(reinterpret_cast<T*>(place.first), place.box,
                   {1, place.stride_y, place.stride_z});
  }
  T& memory_by_offset(LocalIndex local) const { return memory(local.mapping)[global(local)]; }

  static constexpr T zero_{};
};

}  // namespace weft::spmd

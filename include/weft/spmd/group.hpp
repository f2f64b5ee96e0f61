// SPDX-License-Identifier: Apache-2.0
// Groups of processes that share containers, and the transitions between partitionings that they
// have computed so far.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/message.hpp"
#include "weft/spmd/partitioning.hpp"

namespace weft::spmd {

/// What becomes of the values when a container is switched to another partitioning.
enum class Flow : std::uint8_t {
  none,        ///< all will be written: values are unspecified, nothing is sent
  preserve,    ///< each index keeps its value; where several hold it, theirs must be equal
  initialise,  ///< all get a value that is given (of a reduction: its neutral one)
  reduce,      ///< what the ranks wrote for an index is folded, in the order of ranks
};

/// What has to be done to get from one partitioning to another: computed once, for one rank, from
/// the partitionings alone. Immutable; copies share.
class Transition {
 public:
  struct Plan;
  explicit Transition(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  const Partitioning& from() const;
  const Partitioning& to() const;
  Flow flow() const;
  /// Messages that this rank sends and receives in it: one for each peer and direction, whatever
  /// the number of pieces. Of a reduction: when exchanged directly.
  std::size_t messages_sent() const;
  std::size_t messages_received() const;
  /// Elements that it sends to others.
  std::int64_t elements_sent() const;
  const Plan& plan() const { return *plan_; }

 private:
  std::shared_ptr<const Plan> plan_;
};

/// The processes that share containers; a handle, copies share. One thread. What is called
/// collective is called by all members in the same order.
class Group {
 public:
  /// All processes of the communicator, which outlives the group.
  explicit Group(Communicator& communicator);

  /// Whether this process is one of it. All but `size` and `subgroup`'s results need it to be.
  bool is_member() const;
  Rank rank() const;
  std::uint32_t size() const;
  Communicator& communicator() const;

  /// Some of the processes, ranked in the order given. Collective; for who is not one of them the
  /// group is one without this process, which moves containers to it all the same.
  Group subgroup(std::span<const Rank> members) const;
  /// All but these.
  Group without(std::span<const Rank> leaving) const;
  /// The group that this one is a part of, by whatever number of steps; itself if of none.
  Group root() const;
  /// Each member's rank in `root`.
  std::span<const Rank> members() const;
  bool operator==(const Group& other) const { return state_ == other.state_; }

  /// The transition from the cache of the last 64, computed when it is not there.
  Transition transition(const Partitioning& from, const Partitioning& to, Flow flow) const;

 private:
  struct State;
  explicit Group(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace weft::spmd

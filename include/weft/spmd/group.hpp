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

/// How values change when a container is switched to another partitioning.
enum class Flow : std::uint8_t {
  none,        ///< all will be written: values are unspecified, nothing is sent
  preserve,    ///< each index keeps its value; if several ranks hold it, theirs must be equal
  initialise,  ///< all get a given value (of a reduction: its neutral one)
  reduce,      ///< values that ranks wrote for an index are folded, in the order of ranks
};

/// The steps from one partitioning to another: computed once, for one rank, from the partitionings
/// alone. Immutable; copies share.
class Transition {
 public:
  struct Plan;
  explicit Transition(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  const Partitioning& from() const;
  const Partitioning& to() const;
  Flow flow() const;
  /// Messages that this rank sends and receives in it: one for each peer and direction, for any
  /// number of pieces. Of a reduction: when exchanged directly.
  std::size_t messages_sent() const;
  std::size_t messages_received() const;
  /// Elements that it sends to others.
  std::int64_t elements_sent() const;
  const Plan& plan() const { return *plan_; }

 private:
  std::shared_ptr<const Plan> plan_;
};

/// The processes that share containers; a handle, copies share. One thread. All members make
/// collective calls in the same order.
class Group {
 public:
  /// All processes of the communicator, which outlives the group.
  explicit Group(Communicator& communicator);

  /// Returns whether this process is a member. All other calls but `size`, `root` and `members`
  /// need it.
  bool is_member() const;
  Rank rank() const;
  std::uint32_t size() const;
  Communicator& communicator() const;

  /// Some of the processes, ranked in the order given. Collective; a process that is not one of
  /// them gets a group without itself, and still takes part in moves of containers to it.
  Group subgroup(std::span<const Rank> members) const;
  /// The group of all but these.
  Group without(std::span<const Rank> leaving) const;
  /// The first group, from which this one was made in any number of steps; itself if from none.
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

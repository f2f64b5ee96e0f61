// SPDX-License-Identifier: Apache-2.0
// Groups of processes that share containers. A group keeps the transitions between partitionings
// that it computed last.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/message.hpp"
#include "weft/spmd/partitioning.hpp"

namespace weft::spmd {

/// How values change when a container is switched to another partitioning.
enum class Flow : std::uint8_t {
  none,        ///< the program will write all values: they are unspecified, and weft sends nothing
  preserve,    ///< each index keeps its value: a rank's own, else that of the lowest holder
  initialise,  ///< each index gets a given value (in a reduction: its neutral value)
  reduce,      ///< weft folds the ranks' values for each index, in the order of ranks
};

/// One rank's steps from one partitioning to another. `Group::transition` computes them from the
/// two partitionings alone. Immutable: any thread; copies share the steps.
class Transition {
 public:
  struct Plan;
  explicit Transition(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  const Partitioning& from() const;
  const Partitioning& to() const;
  Flow flow() const;
  /// Return the numbers of messages that this rank sends and receives: one for each peer, whatever
  /// the number of pieces. For a reduction these are the numbers of a direct exchange.
  std::size_t messages_sent() const;
  std::size_t messages_received() const;
  /// Returns the number of elements that this rank sends to others.
  std::int64_t elements_sent() const;
  const Plan& plan() const { return *plan_; }

 private:
  std::shared_ptr<const Plan> plan_;
};

/// The processes that share containers. A group is a handle: copies share its state. One thread
/// makes the calls. All members make collective calls in the same order.
class Group {
 public:
  /// A group of all processes of the communicator. The caller keeps the communicator alive as long
  /// as the group, its copies and groups made from it.
  explicit Group(Communicator& communicator);

  /// Returns whether this process is a member. In a process that is none, all other calls but
  /// `size`, `root` and `members` abort.
  bool is_member() const;
  Rank rank() const;
  std::uint32_t size() const;
  Communicator& communicator() const;

  /// Returns a group of some of the processes, ranked in the order given. Collective. A process
  /// that is not one of them gets a group without itself, and still takes part in moves of
  /// containers to the group.
  Group subgroup(std::span<const Rank> members) const;
  /// Returns the group of all processes but these; aborts if none is left. Collective, as
  /// `subgroup`.
  Group without(std::span<const Rank> leaving) const;
  /// Returns the group of the communicator, from which this one was made in any number of steps.
  Group root() const;
  /// Returns each member's rank in `root`, valid as long as the group.
  std::span<const Rank> members() const;
  bool operator==(const Group& other) const { return state_ == other.state_; }

  /// Returns a transition of this rank, which it computes unless it is among the last 64. Sends
  /// nothing. Aborts if `to` is for another number of ranks than the group has.
  Transition transition(const Partitioning& from, const Partitioning& to, Flow flow) const;

 private:
  struct State;
  explicit Group(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace weft::spmd

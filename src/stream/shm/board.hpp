// SPDX-License-Identifier: Apache-2.0
// Board: which consumer gets which timeslice: the groups, their policies, and the timeslices given
// back when a consumer dies. Pure bookkeeping without I/O; the server carries out its decisions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/consumer.hpp"
#include "weft/result.hpp"

namespace weft::shm {

using MemberId = std::uint64_t;
using SlotNumber = std::uint32_t;

/// A timeslice goes to a member. Released by (member, delivery).
struct Assignment {
  MemberId member = 0;
  std::uint64_t delivery = 0;
  SlotNumber slot = 0;    ///< policies all and one
  bool repeated = false;  ///< a member that died had it before
};

/// The actions to take after an event; the caller owns and clears it. Copies come first: their
/// timeslice may be among the freed.
struct BoardOutbox {
  std::vector<Assignment> copies;    ///< policy skip: give a copy of the timeslice just published
  std::vector<Assignment> assigned;  ///< policies all and one
  std::vector<SlotNumber> freed;     ///< nobody needs these any more

  void clear() {
    copies.clear();
    assigned.clear();
    freed.clear();
  }
};

struct BoardCounts {
  std::uint64_t unclaimed = 0;  ///< timeslices that there was no consumer for
  std::uint64_t missed = 0;     ///< timeslices that busy members of skip groups missed
  std::uint64_t repeated = 0;   ///< given again after a member died
};

/// Invariants: a slot is in use from `publish` until it appears in `freed`; it is freed when every
/// member of every all-group that was there at its publication, and one member of every one-group,
/// has released it or is gone. Memory is bounded by slots × members.
class Board {
 public:
  explicit Board(SlotNumber slots) : claims_(slots, 0) {}

  /// A group that timeslices wait for: `complete` is false until `members` have joined it. It
  /// stays when its last member goes.
  void declare(std::string_view name, GroupPolicy policy, std::uint32_t members);
  bool complete() const;
  /// A group that lacks members, and how many; none when complete.
  std::optional<std::pair<std::string_view, std::uint32_t>> awaited() const;

  /// Adds a member; a one-group's waiting timeslices may be assigned to it at once. The error says
  /// why the group cannot be joined with this policy. `member` is a number never used before.
  Result<void> join(MemberId member, std::string_view group, GroupPolicy policy,
                    std::uint32_t depth, BoardOutbox& out);
  /// Removes a member. A one-group whose last member went `orderly` ends, unless declared, and
  /// frees its waiting timeslices; one whose last member died keeps them for a next one.
  void leave(MemberId member, bool orderly, BoardOutbox& out);
  /// False when the member has no such delivery.
  bool release(MemberId member, std::uint64_t delivery, BoardOutbox& out);

  /// Returns whether there is a group that would hold a timeslice: otherwise publish needs no slot.
  bool holds() const;
  /// A slot not in use, or nothing: then wait for one to be freed.
  std::optional<SlotNumber> free_slot() const;
  /// A timeslice lies in `slot`, a free one.
  void publish(SlotNumber slot, BoardOutbox& out);
  /// Counts a timeslice as missed because its copy could not be made.
  void no_room_for_copy(MemberId member, std::uint64_t delivery);

  std::uint64_t missed_by(MemberId member) const { return members_.at(member).missed; }
  SlotNumber slots_in_use() const { return in_use_; }
  /// Name of a one-group that has timeslices waiting and no member, or empty.
  std::string_view orphaned_group() const;
  const BoardCounts& counts() const { return counts_; }

 private:
  struct Waiting {
    SlotNumber slot = 0;
    bool repeated = false;
  };
  struct Group {
    std::string name;
    GroupPolicy policy = GroupPolicy::all;
    bool declared = false;
    std::uint32_t wanted = 0;  // members to wait for before the first timeslice
    std::uint32_t joined = 0;  // so far
    std::vector<MemberId> members;
    std::deque<Waiting> waiting;  // policy one
    std::size_t turn = 0;         // policy one: the search for a free member starts here
  };
  struct Member {
    Group* group = nullptr;
    std::uint32_t depth = 1;
    std::uint64_t last_delivery = 0;
    std::uint64_t missed = 0;
    std::vector<Assignment> outstanding;  // at most `depth`
    std::deque<SlotNumber> waiting;       // policy all
  };

  Assignment assign(MemberId id, Member& member, SlotNumber slot, bool repeated);
  void unclaim(SlotNumber slot, BoardOutbox& out);
  void serve(Group& group, BoardOutbox& out);
  void serve_all(Group& group, BoardOutbox& out);
  void serve_one(Group& group, BoardOutbox& out);
  void offer_copies(const Group& group, BoardOutbox& out);
  std::optional<MemberId> least_busy(Group& group) const;

  std::map<std::string, Group, std::less<>> groups_;
  std::map<MemberId, Member> members_;
  std::vector<std::uint32_t> claims_;  // per slot: releases still to come
  SlotNumber in_use_ = 0;
  BoardCounts counts_;
};

}  // namespace weft::shm

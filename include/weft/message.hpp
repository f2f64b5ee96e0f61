// SPDX-License-Identifier: Apache-2.0
// Communicator: a group of processes that send each other messages, by rank and tag. SPMD
// containers are built on it; one implementation runs over every fabric, and survives the death and
// return of its peers (paper 4, chapter 4).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft {

/// A process's place in a group: 0 … size−1.
using Rank = StrongId<struct RankTag, std::uint32_t>;
/// Tells flows between the same two processes apart; any value.
using Tag = StrongId<struct MessageTagTag, std::uint32_t>;
/// Names the group that a message belongs to. Unique within a job (paper 4, 4.5.4).
using Generation = StrongId<struct GenerationTag, std::uint64_t>;

/// Names an operation under way, for `wait`. Each must be waited for exactly once.
class Operation {
 public:
  constexpr Operation() = default;
  constexpr explicit Operation(std::uint64_t number) : number_(number) {}
  constexpr std::uint64_t number() const { return number_; }
  constexpr auto operator<=>(const Operation&) const = default;

 private:
  std::uint64_t number_ = 0;
};

/// The messages of a process that are kept for later lives of processes, in a job that restarts
/// failed ones. A process that is stored now and then need not begin at the beginning, and the
/// others need not keep messages that it received before. `spmd::Checkpoint` does all of it.
class MessageHistory {
 public:
  virtual ~MessageHistory() = default;

  /// This process has failed before.
  virtual bool is_later_life() const = 0;
  /// This life has sent or received something: it is too late to go on from a stored state.
  virtual bool has_begun() const = 0;
  /// Names this run of the job.
  virtual std::string_view run() const = 0;
  /// Returns how many sends and receives all lives of this process together have started by this
  /// point of the program. A later life has the same number at the same point.
  virtual std::uint64_t place() const = 0;
  /// This process's place in all flows of all groups, and the messages that it keeps for others.
  /// Errors: operations under way.
  virtual Result<std::vector<std::byte>> store() = 0;
  /// The caller says that the last state from `store` outlives this process, and that each later
  /// life goes on from it or a newer one: the others need not keep messages received by then. A
  /// process that begins at its beginning when it is started anew never calls it.
  virtual void commit() = 0;
  /// Returns whether an earlier life of this process stored this state in this run of the job.
  virtual bool knows(std::span<const std::byte> stored) const = 0;
  /// In a later life, before anything is sent or received: goes on from that state. Errors:
  /// not_found when another run stored it; damaged; something was sent already; the outbox is full.
  virtual Result<void> go_on(std::span<const std::byte> stored) = 0;
  /// Bytes of messages that are kept for others.
  virtual ByteCount kept() const = 0;
};

/// A group of processes with this one among them. Messages of one flow (group, sender, receiver and
/// tag) are received in the order sent; different flows are independent of each other, so that
/// receives may be started in any order, with any order of arrival (paper 4, 4.2.1). All started
/// operations progress together.
///
/// Any number of operations may be under way; memory beyond the caller's buffers stays within the
/// limits of the job's options. One thread at a time calls into a process's communicators.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;
  virtual std::uint32_t size() const = 0;
  virtual Generation generation() const = 0;

  /// Starts to send a message, of any length. The caller keeps the bytes valid and unchanged until
  /// `wait`, which says that they may be reused, not that they arrived. A rank may send to itself.
  virtual Operation start_send(Rank to, Tag tag, std::span<const std::byte> bytes) = 0;
  /// Starts to receive the next message of a flow. The caller leaves `into` alone until `wait`. A
  /// message longer than `into` is an error of `wait`, and is lost.
  virtual Operation start_receive(Rank from, Tag tag, std::span<std::byte> into) = 0;
  /// Blocks until the operation is done; returns the bytes received (of a send: those sent).
  /// Errors: a peer that is gone for good (the error names its rank and the operation), a message
  /// longer than its buffer, a job that is being aborted.
  virtual Result<std::size_t> wait(Operation operation) = 0;
  /// Returns whether `wait` would return at once, with the bytes or with an error. Makes progress
  /// and notices errors, as `wait` does: a loop of this call ends when a wait would.
  virtual bool is_done(Operation operation) = 0;

  /// A group of some of this one's processes, ranked in the order given; null in a process that is
  /// not one of them. All processes of this group make the same calls in the same order. Sends
  /// nothing. This communicator outlives it.
  virtual std::unique_ptr<Communicator> subgroup(std::span<const Rank> members) = 0;

  /// The history of the process, not of this group only. Null when the job restarts nothing, or
  /// does not number the lives of processes (a job without launcher). Owned by the process.
  virtual MessageHistory* history() { return nullptr; }
};

}  // namespace weft

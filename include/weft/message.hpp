// SPDX-License-Identifier: Apache-2.0
// Communicator: a group of processes that send each other messages, by rank and tag. SPMD
// containers use it. One implementation runs over every fabric, and survives the death and return
// of its peers (Kurtz 2018, chapter 4).
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
/// Tells flows between the same two processes apart. Every value is allowed.
using Tag = StrongId<struct MessageTagTag, std::uint32_t>;
/// Names the group that a message belongs to. Unique within a job (Kurtz 2018, 4.5.4).
using Generation = StrongId<struct GenerationTag, std::uint64_t>;

/// Names an operation under way. The program calls `wait` exactly once for each.
class Operation {
 public:
  constexpr Operation() = default;
  constexpr explicit Operation(std::uint64_t number) : number_(number) {}
  constexpr std::uint64_t number() const { return number_; }
  constexpr auto operator<=>(const Operation&) const = default;

 private:
  std::uint64_t number_ = 0;
};

/// The record of a process's messages in a job that restarts failed processes. A process keeps the
/// messages that it sent for later lives of their receivers. If it stores this record with its own
/// state now and then, its later lives continue from there, and the others may drop the messages
/// that it had received by then. `spmd::Checkpoint` makes these calls. One thread at a time.
class MessageHistory {
 public:
  virtual ~MessageHistory() = default;

  /// Returns whether this process has failed before.
  virtual bool is_later_life() const = 0;
  /// Returns whether this life has sent or received something. Then it is too late for `resume`.
  virtual bool has_begun() const = 0;
  /// Returns the name of this run of the job, valid as long as this object.
  virtual std::string_view run() const = 0;
  /// Returns how many sends and receives all lives of this process together have started by this
  /// point of the program. A later life has the same number at the same point.
  virtual std::uint64_t place() const = 0;
  /// Returns this process's place in all flows of all groups and the messages that it keeps for
  /// others, as bytes for `resume`. Errors: operations are under way; the process has sent itself a
  /// message that it has not received.
  virtual Result<std::vector<std::byte>> store() = 0;
  /// Tells weft that the last state from `store` outlives this process, and that each later life
  /// calls `resume` with it or a newer one. The others then drop the messages that this process had
  /// received by then. A process whose later lives begin at the beginning never calls it.
  virtual void commit() = 0;
  /// Returns whether an earlier life of this process stored this state in this run of the job.
  virtual bool knows(std::span<const std::byte> stored) const = 0;
  /// Continues from a stored state. A later life calls it before it sends or receives. Errors:
  /// not_found when another run or another process stored the state; the state is damaged; this
  /// life has sent or received something; there is no memory for the kept messages.
  virtual Result<void> resume(std::span<const std::byte> stored) = 0;
  /// Returns how many bytes of messages this process keeps for others.
  virtual ByteCount kept() const = 0;
};

/// A group of processes with this one among them. Messages of one flow (group, sender, receiver and
/// tag) are received in the order sent. Different flows are independent of each other, so the
/// program may start receives in any order, whatever the order of arrival (Kurtz 2018, 4.2.1). All
/// started operations progress together, while the process is in `wait` or `is_done`.
///
/// Any number of operations may be under way. Memory beyond the caller's buffers stays within the
/// limits of the job's options. One thread at a time calls into a process's communicators. A rank
/// outside the group aborts the process.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;              ///< this process's rank in the group
  virtual std::uint32_t size() const = 0;     ///< number of processes in the group
  virtual Generation generation() const = 0;  ///< the group's number, unique within the job

  /// Starts to send a message, of any length. The caller keeps the bytes valid and unchanged until
  /// `wait` returns; they may arrive later than that. A rank may send to itself.
  virtual Operation start_send(Rank to, Tag tag, std::span<const std::byte> bytes) = 0;
  /// Starts to receive the next message of a flow. The caller keeps `into` valid and does not touch
  /// it until `wait` returns. A message longer than `into` is lost, and `wait` returns an error.
  virtual Operation start_receive(Rank from, Tag tag, std::span<std::byte> into) = 0;
  /// Blocks until the operation is done, and returns the number of bytes received or sent. Errors:
  /// the peer is gone for good (the error names its rank and the operation); the message is longer
  /// than its buffer; the job is being aborted.
  virtual Result<std::size_t> wait(Operation operation) = 0;
  /// Returns whether `wait` would return at once, with a result or an error. The call makes
  /// progress and notices errors, as `wait` does, so a loop of it ends when a wait would.
  virtual bool is_done(Operation operation) = 0;

  /// Returns a group of some of this one's processes, ranked in the order given; null in a process
  /// that is not one of them. All processes of this group make the same calls in the same order.
  /// The call sends nothing. The caller destroys the new communicator before this one.
  virtual std::unique_ptr<Communicator> subgroup(std::span<const Rank> members) = 0;

  /// Returns the history of the process, not of this group only. The process owns it. Null when the
  /// job restarts nothing, or has no launcher that numbers the lives of processes.
  virtual MessageHistory* history() { return nullptr; }
};

}  // namespace weft

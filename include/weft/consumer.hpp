// SPDX-License-Identifier: Apache-2.0
// Consumer: a process of its own that reads the timeslices of compute nodes on the same host in
// place, out of the memory they arrived in. The compute nodes run with sink shm:NAME
// (docs/consumers.md); examples/consumer.cpp is 50 lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "weft/result.hpp"
#include "weft/time.hpp"
#include "weft/timeslice.hpp"

namespace weft {

/// How the members of a group of consumers share the timeslices of a compute node. Groups do not
/// influence each other, except that a slow group slows the compute node down (skip does not).
enum class GroupPolicy : std::uint8_t {
  all,   ///< every member gets every timeslice; the slowest sets the pace (back-pressure)
  one,   ///< each timeslice goes to one member that is free; back-pressure when none is. When a
         ///< member dies, its timeslices go to another one, with TimesliceFlag::repeated
  skip,  ///< a member that is busy misses timeslices, counted; never back-pressure. Members read a
         ///< copy, as the original may have to make room while they still read
};

struct ConsumerOptions {
  GroupPolicy policy = GroupPolicy::all;  ///< all members of a group must say the same
  /// Timeslices that this process is given before it has released the first, per compute node: 1 …
  /// 64. 2 hides the round trip to the compute node; with 1 no timeslice waits behind a slow one.
  std::uint32_t depth = 2;
  /// Only this compute node; otherwise all of NAME on this host, including those that start later.
  std::optional<std::uint32_t> compute;
  /// How long `attach` waits for a first compute node to appear.
  Duration wait = Duration::seconds(0);
};

/// The counts of a consumer so far, all compute nodes together.
struct ConsumerCounts {
  std::uint64_t timeslices = 0;  ///< given to this process
  std::uint64_t repeated = 0;    ///< of these, given before to a member that died
  std::uint64_t missed = 0;      ///< policy skip: timeslices that came while this one was busy
  std::uint32_t attached = 0;    ///< compute nodes attached to now
  std::uint32_t lost = 0;        ///< compute nodes that went away before the end of their stream
};

namespace shm {
class ConsumerState;
struct Record;
}  // namespace shm

/// A timeslice, in place and read-only, until it is released (destroying it does that). Move-only.
/// Keeps the memory mapped even when the Consumer or the compute node is gone. Threads: may be
/// handed to, read and released by any one thread.
class SharedTimeslice {
 public:
  SharedTimeslice(SharedTimeslice&& other) noexcept;
  SharedTimeslice& operator=(SharedTimeslice&& other) noexcept;
  ~SharedTimeslice();

  /// Invalid after `release`.
  const TimesliceView& view() const;
  const TimesliceView* operator->() const { return &view(); }
  /// Index of the compute node that built it.
  std::uint32_t compute() const;
  /// Gives the timeslice back; further calls do nothing.
  void release();

 private:
  friend class shm::ConsumerState;
  SharedTimeslice(std::shared_ptr<shm::ConsumerState> state, shm::Record* record);
  std::shared_ptr<shm::ConsumerState> state_;
  shm::Record* record_ = nullptr;
};

/// A member of a group of consumers. Threads: one at a time. Move-only. Destroying it leaves the
/// group: timeslices not yet released go to other members (one) or are released (all).
class Consumer {
 public:
  /// Joins group `group` (1 … 64 characters) at the compute nodes that run with sink shm:NAME.
  /// A name with a '/' is a path, otherwise one of the host's (network namespace's) abstract names.
  /// Errors: invalid_argument (a name, depth; another policy than the group's), timed_out (no
  /// compute node within `options.wait`), unauthorised (it belongs to another user).
  static Result<Consumer> attach(std::string_view name, std::string_view group,
                                 const ConsumerOptions& options = {});
  Consumer(Consumer&& other) noexcept;
  Consumer& operator=(Consumer&& other) noexcept;
  ~Consumer();

  /// The next timeslice of any compute node, in each one's order. Nothing when `timeout` passed
  /// (zero: do not wait; Duration::max(): for ever), a signal came, or the stream `ended`. Errors:
  /// unavailable when compute nodes died and none is left; corrupt when one sends malformed
  /// messages.
  Result<std::optional<SharedTimeslice>> next(Duration timeout);
  /// No timeslice will follow: every compute node has ended its stream or died.
  bool ended() const;
  /// Becomes readable when `next` may have something; for poll and epoll. Owned by the consumer.
  int descriptor() const;
  ConsumerCounts counts() const;

 private:
  explicit Consumer(std::shared_ptr<shm::ConsumerState> state);
  std::shared_ptr<shm::ConsumerState> state_;
};

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Window: memory that the processes of a group access one-sidedly (docs/mpi.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpi/object/datatype.hpp"
#include "mpi/object/fold.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// How an accumulate changes the target's elements.
enum class Change : std::uint8_t { fold, replace, nothing };

/// Elements in a target's window: `count` of the datatype, from that many bytes behind its base.
struct Target {
  std::uint32_t rank = 0;
  std::int64_t offset = 0;
  std::uint64_t count = 0;
  const Datatype* type = nullptr;
};

/// One process's view of a window. It is opened, and closed, by all processes of the group; the
/// group outlives the transfer, and so does the window. One thread. Ranks, offsets and counts are
/// checked by the caller; an access has as many bytes at the origin as at the target.
class Window {
 public:
  virtual ~Window() = default;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  /// Others may access this process's part from now on.
  virtual void open() = 0;
  /// Nobody accesses it any more.
  virtual void close() = 0;

  /// The origin's buffer may change at once: it is copied.
  virtual void put(const Target& target, const Buffer& from) = 0;
  /// `into` has the elements after `flush`, and when `request` is done, which stays where it is
  /// until then. Null: there is none.
  virtual void get(const Target& target, const Buffer& into, Request* request = nullptr) = 0;
  virtual void accumulate(const Target& target, const Buffer& from, Change change, Fold fold) = 0;
  /// The elements before the change go to `into`.
  virtual void get_accumulate(const Target& target, const Buffer& from, const Buffer& into,
                              Change change, Fold fold, Request* request = nullptr) = 0;
  /// One element: it becomes `wanted` if it is `expected`.
  virtual void compare_and_swap(const Target& target, const void* wanted, const void* expected,
                                const Buffer& into, Request* request = nullptr) = 0;

  /// Blocks until this process's accesses to the target have taken place there.
  virtual void flush(std::uint32_t target) = 0;
  virtual void flush_all() = 0;
  /// Blocks until the origin's buffers may be used: those of gets have their elements.
  virtual void flush_local(std::uint32_t target) = 0;
  /// The same as `flush_all`, of all processes: blocks until all have called it.
  virtual void fence() = 0;

  /// Blocks until the target gives the lock, in the order in which processes ask for it.
  virtual void lock(std::uint32_t target, bool exclusive) = 0;
  virtual void lock_all() = 0;
  /// Flushes, and blocks until the target has taken the lock back.
  virtual void unlock(std::uint32_t target) = 0;
  virtual void unlock_all() = 0;

  /// Elements of a get may still come.
  virtual bool expects() const = 0;

  /// An exposure epoch for those ranks; and the access epoch of an origin.
  virtual void post(const std::vector<std::uint32_t>& origins) = 0;
  virtual void start(const std::vector<std::uint32_t>& targets) = 0;
  virtual void complete() = 0;
  /// Returns whether all origins have completed their accesses.
  virtual bool is_completed() const = 0;
  virtual void wait() = 0;

 protected:
  Window() = default;
};

/// Changes `count` elements at `at` as an accumulate with those packed values does. The elements
/// before that are copied to `old`, packed, which is empty if nobody asks for them. Not atomic: one
/// call at a time for the same elements.
void change_elements(void* at, std::uint64_t count, const Datatype& type,
                     std::span<const std::byte> with, Change change, Fold operation,
                     std::span<std::byte> old);

}  // namespace weft::mpi

// SPDX-License-Identifier: Apache-2.0
// Window: memory that the processes of a group access one-sidedly, by messages (docs/mpi.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
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

/// One process's part. The origin of an access sends it as a message; its target serves it whenever
/// it is inside the transfer, in the order in which the messages of one origin were sent. One
/// thread. It is opened, and closed, by all processes of the group; the group outlives the
/// transfer.
class Window {
 public:
  /// Accesses go to `base`. The window outlives the transfer.
  Window(Transfer& transfer, const Group& group, std::byte* base);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();
  /// Serves from now on.
  void open();
  /// Nobody accesses it any more.
  void close() { is_closed_ = true; }

  /// The origin's buffer may change at once: it is copied.
  void put(const Target& target, const Buffer& from);
  /// `into` has the elements when the request is done, or after `flush`.
  std::shared_ptr<const Request> get(const Target& target, const Buffer& into);
  void accumulate(const Target& target, const Buffer& from, Change change, Fold fold);
  /// The elements before the change go to `into`.
  std::shared_ptr<const Request> get_accumulate(const Target& target, const Buffer& from,
                                                const Buffer& into, Change change, Fold fold);
  /// One element: it becomes `wanted` if it is `expected`.
  std::shared_ptr<const Request> compare_and_swap(const Target& target, const void* wanted,
                                                  const void* expected, const Buffer& into);

  /// Blocks until this process's accesses to the target have taken place there.
  void flush(std::uint32_t target);
  void flush_all();
  /// Blocks until the origin's buffers may be used: those of gets have their elements.
  void flush_local(std::uint32_t target);

  /// Blocks until the target gives the lock.
  void lock(std::uint32_t target, bool exclusive);
  void lock_all();
  /// Flushes, and blocks until the target has taken the lock back.
  void unlock(std::uint32_t target);
  void unlock_all();

  /// Elements of a get may still come.
  bool expects() const;

  /// An exposure epoch for those ranks; and the access epoch of an origin.
  void post(const std::vector<std::uint32_t>& origins);
  void start(const std::vector<std::uint32_t>& targets);
  void complete();
  /// Turns once. True: all origins have completed their accesses.
  bool test();
  void wait();

 private:
  struct Ask;
  struct Incoming;
  struct Outgoing;
  class Service;

  void send(std::uint32_t to, std::int32_t tag, std::vector<std::byte> bytes);
  void ask(const Ask& ask, const Target& target, std::span<const std::byte> more);
  void ask(const Ask& ask, const Target& target, const Buffer& more);
  std::shared_ptr<Request> expect(std::uint32_t from, const Buffer& into);
  void await(std::uint32_t target);
  void signal(std::uint32_t target, const Ask& ask);
  bool serve();
  void serve_one(std::uint32_t origin, std::span<const std::byte> message);
  void serve_elements(std::uint32_t origin, const Ask& ask, std::span<const std::byte> rest);
  void give_locks();

  Transfer& transfer_;
  const Group& group_;
  std::byte* base_;
  bool is_closed_ = false;

  // Of the origin, by target.
  std::vector<std::vector<std::shared_ptr<Request>>> expected_;
  std::vector<bool> is_dirty_;  // accessed since the last flush
  std::vector<std::uint32_t> started_;

  // Of the target.
  std::unique_ptr<Incoming> incoming_;
  std::list<Outgoing> outgoing_;
  struct Waiter {
    std::uint32_t origin = 0;
    bool exclusive = false;
  };
  std::deque<Waiter> waiters_;
  std::uint32_t holders_ = 0;
  bool is_exclusive_ = false;
  std::list<Request> completions_;  // of the exposure epoch's origins
};

}  // namespace weft::mpi

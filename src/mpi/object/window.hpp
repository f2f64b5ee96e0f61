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

#include "base/growing_ring.hpp"
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

  // An access of the process's own part takes place at once. However many others are under way, an
  // access takes constant time, but for its elements. One for whose answer there are `most_coming`
  // bytes too many under way blocks until earlier ones have come.
  static constexpr std::uint64_t most_coming = std::uint64_t{32} << 20;

  /// The origin's buffer may change at once: it is copied.
  void put(const Target& target, const Buffer& from);
  /// `into` has the elements after `flush`, and when `request` is done, which stays where it is
  /// until then. Null: there is none.
  void get(const Target& target, const Buffer& into, Request* request = nullptr);
  void accumulate(const Target& target, const Buffer& from, Change change, Fold fold);
  /// The elements before the change go to `into`.
  void get_accumulate(const Target& target, const Buffer& from, const Buffer& into, Change change,
                      Fold fold, Request* request = nullptr);
  /// One element: it becomes `wanted` if it is `expected`.
  void compare_and_swap(const Target& target, const void* wanted, const void* expected,
                        const Buffer& into, Request* request = nullptr);

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
  /// Returns how many accesses were looked at, to find those that have taken place.
  std::uint64_t looks() const { return looks_; }

  /// An exposure epoch for those ranks; and the access epoch of an origin.
  void post(const std::vector<std::uint32_t>& origins);
  void start(const std::vector<std::uint32_t>& targets);
  void complete();
  /// Returns whether all origins have completed their accesses.
  bool is_completed() const;
  void wait();

 private:
  struct Ask;
  struct Incoming;
  struct Outgoing;
  class Service;
  /// Takes the answer of a target, which answers in the order of the requests.
  struct Expected {
    std::unique_ptr<Request> answer;
    Request* request = nullptr;  // the caller's; null: it has none
    std::uint64_t bytes = 0;
  };

  void send(std::uint32_t to, std::int32_t tag, std::vector<std::byte> bytes);
  void ask(const Ask& ask, const Target& target, std::span<const std::byte> more);
  void change(const Ask& ask, const Target& target, const Buffer& with);
  void fetch(const Ask& ask, const Target& target, std::span<const std::byte> more,
             const Buffer& into, Request* request);
  void expect(std::uint32_t from, const Buffer& into, Request* request);
  void make_room(const Buffer& into);
  bool has_answered(std::uint32_t target);
  void finish_requests();
  void await(std::uint32_t target);
  void signal(std::uint32_t target, const Ask& ask);
  void signal_last(std::uint32_t target, const Ask& ask);
  bool serve();
  void serve_one(std::uint32_t origin, std::span<const std::byte> message);
  std::vector<std::byte> carry_out(std::span<const std::byte> question);
  void give_locks();

  Transfer& transfer_;
  const Group& group_;
  std::byte* base_;
  bool is_closed_ = false;

  // The origin's state, by target.
  std::vector<GrowingRing<Expected>> expected_;  // the first has not come, or was not looked at
  std::vector<std::uint32_t> asked_;             // targets with something expected, and others
  std::vector<bool> is_asked_;                   // in `asked_`
  std::vector<std::uint64_t> questions_;         // that have an answer: how many there were
  std::vector<std::uint64_t> answers_;           // that have come, and were looked at
  std::size_t requests_ = 0;                     // of the caller, expected
  std::uint64_t coming_ = 0;                     // bytes of answers that are expected
  std::uint64_t looks_ = 0;
  std::vector<bool> is_dirty_;  // accessed since the last flush was sent
  std::vector<std::uint32_t> started_;

  // The target's state.
  std::unique_ptr<Incoming> incoming_;
  std::vector<GrowingRing<std::unique_ptr<Outgoing>>> outgoing_;  // by receiver, likewise
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

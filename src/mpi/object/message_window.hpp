// SPDX-License-Identifier: Apache-2.0
// MessageWindow: a window whose accesses are messages, for processes that share no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/growing_ring.hpp"
#include "mpi/object/window.hpp"

namespace weft::mpi {

/// One process's part, accessed by messages. The origin of an access sends it; its target serves it
/// whenever it is inside the transfer, in the order in which the messages of one origin were sent.
class MessageWindow final : public Window {
 public:
  /// Accesses go to `base`. The window outlives the transfer.
  MessageWindow(Transfer& transfer, const Group& group, std::byte* base);
  ~MessageWindow() override;
  void open() override;
  void close() override { is_closed_ = true; }

  // An access of the process's own part takes place at once. However many others are under way, an
  // access takes constant time, but for its elements. One for whose answer there are `most_coming`
  // bytes too many under way blocks until earlier ones have come.
  static constexpr std::uint64_t most_coming = std::uint64_t{32} << 20;

  void put(const Target& target, const Buffer& from) override;
  void get(const Target& target, const Buffer& into, Request* request = nullptr) override;
  void accumulate(const Target& target, const Buffer& from, Change change, Fold fold) override;
  void get_accumulate(const Target& target, const Buffer& from, const Buffer& into, Change change,
                      Fold fold, Request* request = nullptr) override;
  void compare_and_swap(const Target& target, const void* wanted, const void* expected,
                        const Buffer& into, Request* request = nullptr) override;

  void flush(std::uint32_t target) override;
  void flush_all() override;
  void flush_local(std::uint32_t target) override;
  void fence() override;

  void lock(std::uint32_t target, bool exclusive) override;
  void lock_all() override;
  void unlock(std::uint32_t target) override;
  void unlock_all() override;

  bool expects() const override;
  /// Returns how many accesses were looked at, to find those that have taken place.
  std::uint64_t looks() const { return looks_; }

  void post(const std::vector<std::uint32_t>& origins) override;
  void start(const std::vector<std::uint32_t>& targets) override;
  void complete() override;
  bool is_completed() const override;
  void wait() override;

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
    std::uint32_t eras = 0;
  };
  /// An elder has the lock since the era began in which readers go before the writer that waits.
  enum class Held : std::uint8_t { no, since_then, as_elder };
  bool begin_era(Waiter& writer);

  std::deque<Waiter> waiters_;
  std::vector<Held> held_;  // by origin
  std::uint32_t holders_ = 0;
  std::uint32_t elders_ = 0;
  bool is_exclusive_ = false;
  static constexpr std::uint32_t least_eras = 1 << 12, first_eras = 1 << 14;
  std::uint32_t most_eras_ = first_eras;  // after which a writer that waits goes before readers
  std::list<Request> completions_;        // of the exposure epoch's origins
};

}  // namespace weft::mpi

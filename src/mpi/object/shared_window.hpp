// SPDX-License-Identifier: Apache-2.0
// SharedWindow: a window in memory that all processes of its group map, as those of one host can.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mpi/object/window.hpp"

namespace weft::mpi {

/// An access takes place at once: the origin copies, or changes, the target's elements itself. What
/// the processes have to tell each other stands in memory that they share, too.
///
/// Waits look at that memory, and soon give up the core in between, for processes that share it.
/// They turn the transfer, since others may wait for messages of this process. What other processes
/// write there cannot make this one leave its own part, but wait, for ever or not at all.
class SharedWindow final : public Window {
 public:
  /// All pairs of members have two words there.
  static constexpr std::uint32_t most_members = 64;
  static constexpr std::size_t control_bytes(std::uint32_t members) {
    return sizeof(Common) + members * sizeof(Member) +
           members * (words_of_row(members) + std::size_t{2} * members) *
               sizeof(std::atomic<std::uint32_t>);
  }

  /// `control` is that many zeros at first, at a multiple of 64, and outlives the window; so do
  /// the parts, by rank. `shares_cores`: there are more processes than cores for them.
  SharedWindow(Transfer& transfer, const Group& group, std::byte* control,
               std::vector<std::byte*> parts, bool shares_cores);

  void open() override {}
  void close() override {}

  void put(const Target& target, const Buffer& from) override;
  void get(const Target& target, const Buffer& into, Request* request = nullptr) override;
  void accumulate(const Target& target, const Buffer& from, Change change, Fold fold) override;
  void get_accumulate(const Target& target, const Buffer& from, const Buffer& into, Change change,
                      Fold fold, Request* request = nullptr) override;
  void compare_and_swap(const Target& target, const void* wanted, const void* expected,
                        const Buffer& into, Request* request = nullptr) override;

  void flush(std::uint32_t) override { flush_all(); }
  void flush_all() override;
  void flush_local(std::uint32_t) override { flush_all(); }
  void fence() override;

  void lock(std::uint32_t target, bool exclusive) override;
  void lock_all() override;
  void unlock(std::uint32_t target) override;
  void unlock_all() override;

  bool expects() const override { return false; }

  void post(const std::vector<std::uint32_t>& origins) override;
  void start(const std::vector<std::uint32_t>& targets) override;
  void complete() override;
  bool is_completed() const override;
  void wait() override;

 private:
  using Count = std::atomic<std::uint32_t>;
  static_assert(Count::is_always_lock_free);
  /// Where all meet at a fence.
  struct alignas(64) Common {
    Count arrived;
    Count fences;  // that are over
  };
  /// Of one part: a lock for readers and writers that serves them in the order of their tickets,
  /// where a writer may take a later one, and another lock that makes accumulates atomic.
  struct alignas(64) Member {
    Count tickets;
    Count next_reader;
    Count next_writer;
    Count is_changing;
  };
  class Changing;

  std::byte* at(const Target& target) const { return parts_[target.rank] + target.offset; }
  /// How often `from` has said so to `to`; only `from` changes it.
  Count& posted(std::uint32_t from, std::uint32_t to) const {
    return pairs_[(std::size_t{from} * members() + to) * 2];
  }
  Count& completed(std::uint32_t from, std::uint32_t to) const {
    return pairs_[(std::size_t{from} * members() + to) * 2 + 1];
  }
  /// A row of words that one process changes has cache lines of its own.
  static constexpr std::size_t words_of_row(std::uint32_t members) {
    return (members + 15) / 16 * 16;
  }
  /// The shared lock that `reader` has of that part: its ticket and 1; 0: none. Only `reader`
  /// changes it.
  Count& held(std::uint32_t reader, std::uint32_t part) const {
    return held_[reader * words_of_row(members()) + part];
  }
  std::uint32_t members() const { return group_.size(); }
  class Politeness;
  void lock_alone(std::uint32_t target);
  template <class Is>
  bool wait_until(const Is& is);
  void wait_longer(std::uint32_t looks);
  void turn_sometimes();

  Transfer& transfer_;
  const Group& group_;
  Common& common_;
  std::span<Member> members_;
  Count* held_;
  Count* pairs_;
  std::vector<std::byte*> parts_;
  std::vector<bool> is_exclusive_;         // the lock that this process has there
  std::vector<std::uint32_t> posts_seen_;  // by rank, as are those of completed epochs:
  std::vector<std::uint32_t> completions_seen_;
  std::vector<std::uint32_t> origins_;  // of the exposure epoch
  std::vector<std::uint32_t> targets_;  // of the access epoch
  std::uint32_t looks_before_yield_;
  std::uint32_t calls_without_turn_ = 0;
};

}  // namespace weft::mpi

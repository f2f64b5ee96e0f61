// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/shared_window.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "runtime/clock.hpp"
#include "runtime/cores.hpp"

namespace weft::mpi {
namespace {

/// A program may do nothing but access a window until something stands there: others' messages for
/// it go on in a turn, and a process that shares its core gets it now and then.
constexpr std::uint32_t calls_per_turn = 128;
constexpr std::uint32_t turns_per_yield = 16;

// A wait: short looks at first, then one between yields, then between sleeps. Where ranks share
// cores the first looks take about as long as a switch between processes. Elsewhere a yield would
// only give time to other programs.
constexpr std::uint32_t looks_of_many = 20;
constexpr std::uint32_t looks_of_few = 2000;
constexpr std::uint32_t yields_per_turn = 16;
constexpr std::uint32_t looks_before_sleep = 10'000;
constexpr timespec sleep{0, 50'000};
/// A writer lets others go first after this time. When those that kept it out then have left, it
/// waits twice as long, so that it gets the lock at last.
constexpr Duration first_patience = Duration::milliseconds(2);
constexpr Duration most_patience = Duration::seconds(60);
/// Between two times while those have not left, and the lock is out of reach anyway.
constexpr Duration short_patience = Duration::microseconds(100);

/// Copies elements of one layout into another.
void copy_elements(void* to, const Datatype& type, const Buffer& from) {
  if (from.type->is_contiguous()) {
    type.unpack({static_cast<const std::byte*>(from.address), from.bytes()}, to);
  } else if (type.is_contiguous()) {
    from.type->pack(from.address, from.count, static_cast<std::byte*>(to));
  } else {
    std::vector<std::byte> packed(from.bytes());
    from.type->pack(from.address, from.count, packed.data());
    type.unpack(packed, to);
  }
}

/// An origin's elements one behind the other: where they lie, or copied.
class PackedElements {
 public:
  explicit PackedElements(const Buffer& from) {
    if (from.type == nullptr) return;
    if (from.type->is_contiguous()) {
      view_ = {static_cast<const std::byte*>(from.address), from.bytes()};
      return;
    }
    copy_.resize(from.bytes());
    from.type->pack(from.address, from.count, copy_.data());
    view_ = copy_;
  }
  std::span<const std::byte> view() const { return view_; }

 private:
  std::vector<std::byte> copy_;
  std::span<const std::byte> view_;
};

void finish(Request* request) {
  if (request != nullptr) request->done = true;
}

}  // namespace

/// Holds the lock under which elements of one part are read and changed at once.
class SharedWindow::Changing {
 public:
  Changing(SharedWindow& window, std::uint32_t part) : flag_(window.members_[part].is_changing) {
    has_ = window.wait_until([&] { return flag_.exchange(1, std::memory_order_acquire) == 0; });
  }
  ~Changing() {
    if (has_) flag_.store(0, std::memory_order_release);
  }
  /// False: the job is over.
  explicit operator bool() const { return has_; }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  Count& flag_;
  bool has_ = false;
};

SharedWindow::SharedWindow(Transfer& transfer, const Group& group, std::byte* control,
                           std::vector<std::byte*> parts, bool shares_cores)
    : transfer_(transfer),
      group_(group),
      common_(*reinterpret_cast<Common*>(control)),
      members_(reinterpret_cast<Member*>(control + sizeof(Common)), group.size()),
      held_(reinterpret_cast<Count*>(control + sizeof(Common) + members_.size_bytes())),
      pairs_(held_ + group.size() * words_of_row(group.size())),
      parts_(std::move(parts)),
      is_exclusive_(group.size()),
      posts_seen_(group.size()),
      completions_seen_(group.size()),
      looks_before_yield_(shares_cores ? looks_of_many : looks_of_few) {
  WEFT_CHECK(group.size() <= most_members && parts_.size() == group.size());
}

/// False: the job is over.
template <class Is>
bool SharedWindow::wait_until(const Is& is) {
  for (std::uint32_t looks = 0; !is(); ++looks) {
    if (transfer_.failure()) return false;
    looks < looks_before_yield_ ? relax_core() : wait_longer(looks);
  }
  return true;
}

void SharedWindow::wait_longer(std::uint32_t looks) {
  // A session may have brought threads since the window was made.
  if (transfer_.lets_others_in()) return transfer_.turn_and_pause();
  if (looks < looks_before_sleep) {
    ::sched_yield();
    if (looks % yields_per_turn != 0) return;
  } else {
    ::nanosleep(&sleep, nullptr);
  }
  transfer_.turn();
}

void SharedWindow::turn_sometimes() {
  if (++calls_without_turn_ % calls_per_turn != 0) return;
  transfer_.turn();
  if (calls_without_turn_ % (calls_per_turn * turns_per_yield) == 0) ::sched_yield();
}

void SharedWindow::put(const Target& target, const Buffer& from) {
  copy_elements(at(target), *target.type, from);
  turn_sometimes();
}

void SharedWindow::get(const Target& target, const Buffer& into, Request* request) {
  copy_elements(into.address, *into.type, {at(target), target.count, target.type});
  finish(request);
  turn_sometimes();
}

void SharedWindow::accumulate(const Target& target, const Buffer& from, Change change, Fold fold) {
  const PackedElements values(from);
  if (const Changing changing(*this, target.rank); changing) {
    change_elements(at(target), target.count, *target.type, values.view(), change, fold, {});
  }
  turn_sometimes();
}

void SharedWindow::get_accumulate(const Target& target, const Buffer& from, const Buffer& into,
                                  Change change, Fold fold, Request* request) {
  const PackedElements values(change != Change::nothing ? from : Buffer{});
  if (const Changing changing(*this, target.rank); changing) {
    copy_elements(into.address, *into.type, {at(target), target.count, target.type});
    change_elements(at(target), target.count, *target.type, values.view(), change, fold, {});
  }
  finish(request);
  turn_sometimes();
}

void SharedWindow::compare_and_swap(const Target& target, const void* wanted, const void* expected,
                                    const Buffer& into, Request* request) {
  const std::size_t size = target.type->size();
  if (const Changing changing(*this, target.rank); changing) {
    std::byte* const word = at(target);
    // The result may go to where the expected value lies.
    const bool is_expected = std::memcmp(word, expected, size) == 0;
    std::memcpy(into.address, word, size);
    if (is_expected) std::memcpy(word, wanted, size);
  }
  finish(request);
  turn_sometimes();
}

// The accesses have taken place; others see them in this order.
void SharedWindow::flush_all() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  turn_sometimes();
}

void SharedWindow::fence() {
  const std::uint32_t before = common_.fences.load(std::memory_order_relaxed);
  if (common_.arrived.fetch_add(1) + 1 == members()) {
    common_.arrived.store(0, std::memory_order_relaxed);
    common_.fences.store(before + 1);
  } else {
    wait_until([&] { return common_.fences.load(std::memory_order_acquire) != before; });
  }
  turn_sometimes();
}

void SharedWindow::lock(std::uint32_t target, bool exclusive) {
  Member& part = members_[target];
  is_exclusive_[target] = exclusive;
  if (exclusive) return lock_alone(target);
  const std::uint32_t ticket = part.tickets.fetch_add(1, std::memory_order_relaxed);
  wait_until([&] { return part.next_reader.load(std::memory_order_acquire) == ticket; });
  held(group_.rank, target).store(ticket + 1, std::memory_order_relaxed);
  // The next one may be a reader, too.
  part.next_reader.store(ticket + 1, std::memory_order_release);
}

/// When a writer lets others go first.
class SharedWindow::Politeness {
 public:
  Politeness(const SharedWindow& window, std::uint32_t part) : window_(window), part_(part) {}

  bool lets_others_go(Instant now) {
    if (since_ == Instant{}) since_ = now;
    const bool has_elders = elders_stay();
    if (had_elders_ && !has_elders) since_ = now;
    had_elders_ = has_elders;
    if (now < since_ + (has_elders ? short_patience : patience_)) return false;
    since_ = now;
    if (has_elders) return true;
    for (std::uint32_t i = 0; i < window_.members(); ++i) elders_[i] = held_by(i);
    had_elders_ = elders_stay();
    patience_ = std::min(patience_ + patience_, most_patience);
    return true;
  }

 private:
  std::uint32_t held_by(std::uint32_t reader) const {
    return window_.held(reader, part_).load(std::memory_order_relaxed);
  }
  bool elders_stay() const {
    for (std::uint32_t i = 0; i < window_.members(); ++i) {
      if (elders_[i] != 0 && elders_[i] == held_by(i)) return true;
    }
    return false;
  }

  const SharedWindow& window_;
  std::uint32_t part_;
  std::array<std::uint32_t, most_members> elders_{};  // who kept the writer out, by their tickets
  bool had_elders_ = false;
  Instant since_{};
  Duration patience_ = first_patience;
};

// Readers that have the lock may wait for one behind this writer, in a barrier say. A writer that
// only readers keep out therefore gives its ticket up in the end, as a reader that leaves at once,
// and takes another one behind those that wait.
void SharedWindow::lock_alone(std::uint32_t target) {
  Member& part = members_[target];
  Politeness politeness(*this, target);
  while (true) {
    const std::uint32_t ticket = part.tickets.fetch_add(1, std::memory_order_relaxed);
    const auto has_turn = [&] {
      return part.next_writer.load(std::memory_order_acquire) == ticket;
    };
    const auto keeps_others_out = [&] {
      return part.next_reader.load(std::memory_order_acquire) == ticket &&
             part.tickets.load(std::memory_order_relaxed) != ticket + 1;
    };
    std::uint32_t looks = 0;
    const auto goes_behind = [&] {
      if (looks < looks_before_yield_ && ++looks < looks_before_yield_) return false;
      return keeps_others_out() && politeness.lets_others_go(monotonic_now());
    };
    const bool goes_on = wait_until([&] { return has_turn() || goes_behind(); });
    if (!goes_on || has_turn()) return;
    part.next_reader.store(ticket + 1, std::memory_order_release);
    part.next_writer.fetch_add(1);
  }
}

void SharedWindow::lock_all() {
  for (std::uint32_t i = 0; i < members(); ++i) lock(i, false);
}

void SharedWindow::unlock(std::uint32_t target) {
  Member& part = members_[target];
  if (!is_exclusive_[target]) held(group_.rank, target).store(0, std::memory_order_relaxed);
  part.next_writer.fetch_add(1);
  if (is_exclusive_[target]) part.next_reader.fetch_add(1);
  turn_sometimes();
}

void SharedWindow::unlock_all() {
  for (std::uint32_t i = 0; i < members(); ++i) unlock(i);
}

void SharedWindow::post(const std::vector<std::uint32_t>& origins) {
  for (const std::uint32_t origin : origins_) ++completions_seen_[origin];
  origins_ = origins;
  for (const std::uint32_t origin : origins) posted(group_.rank, origin).fetch_add(1);
}

void SharedWindow::start(const std::vector<std::uint32_t>& targets) {
  targets_ = targets;
  for (const std::uint32_t target : targets) {
    const Count& count = posted(target, group_.rank);
    const std::uint32_t seen = posts_seen_[target]++;
    wait_until([&] { return count.load(std::memory_order_acquire) != seen; });
  }
}

void SharedWindow::complete() {
  for (const std::uint32_t target : targets_) completed(group_.rank, target).fetch_add(1);
  targets_.clear();
  turn_sometimes();
}

bool SharedWindow::is_completed() const {
  for (const std::uint32_t origin : origins_) {
    const Count& count = completed(origin, group_.rank);
    if (count.load(std::memory_order_acquire) == completions_seen_[origin]) return false;
  }
  return true;
}

void SharedWindow::wait() {
  wait_until([&] { return is_completed(); });
  turn_sometimes();
}

}  // namespace weft::mpi

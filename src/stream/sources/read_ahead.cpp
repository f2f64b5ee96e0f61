// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/read_ahead.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "base/check.hpp"

namespace weft {
namespace {

/// Microslices without content take memory, too.
constexpr std::size_t most_microslices = 4096;
constexpr std::size_t most_free = 16;
constexpr auto patience = std::chrono::milliseconds(500);

struct Read {
  NextMicroslice next;
  MicrosliceDescriptor descriptor;
  std::vector<std::byte> content;
};

/// The outcome of a read: a microslice, an end (nothing), or an error.
using Step = Result<std::optional<Read>>;

Step read_one(MicrosliceFeed& feed, std::vector<std::byte> memory) {
  const auto next = feed.peek();
  if (!next) return next.error();
  if (!*next) return std::optional<Read>();
  Read read{.next = **next, .descriptor = {}, .content = std::move(memory)};
  read.content.resize(read.next.size);
  auto descriptor = feed.take(read.content);
  if (!descriptor) return std::move(descriptor).error();
  read.descriptor = *descriptor;
  return std::optional(std::move(read));
}

}  // namespace

struct ReadAheadFeed::Shared {
  Shared(std::unique_ptr<MicrosliceFeed> f, std::size_t m)
      : feed(std::move(f)), most(m), event(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    WEFT_CHECK(event >= 0, "no descriptor left for an event");
  }
  ~Shared() { ::close(event); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  bool has_room() const { return !is_over && bytes < most && items.size() < most_microslices; }

  const std::unique_ptr<MicrosliceFeed> feed;  // the thread's
  const std::size_t most;
  const int event;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Read> items;
  std::size_t bytes = 0;                     // of the items' contents
  std::vector<std::vector<std::byte>> free;  // memory of items that were taken
  bool is_over = false;                      // nothing follows the items
  std::optional<Error> failure;              // why
  /// The position at which the thread goes on: the beginning, or a number.
  struct Move {
    std::optional<std::uint64_t> number;
  };
  std::optional<Move> move;
  bool is_ending = false;
  bool has_left = false;  // the thread
};

ReadAheadFeed::ReadAheadFeed(std::unique_ptr<MicrosliceFeed> feed, ByteCount most)
    : jumps_(feed->jump(0)),
      can_go_back_(feed->can_go_back()),
      shared_(std::make_shared<Shared>(std::move(feed), static_cast<std::size_t>(most.value()))),
      thread_([shared = shared_] { read(shared); }) {}

ReadAheadFeed::~ReadAheadFeed() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.notify_all();
  const bool left = shared_->changed.wait_for(lock, patience, [this] { return shared_->has_left; });
  lock.unlock();
  left ? thread_.join() : thread_.detach();
}

void ReadAheadFeed::read(const std::shared_ptr<Shared>& shared) {
  Shared& s = *shared;
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.changed.wait(lock, [&] { return s.is_ending || s.move || s.has_room(); });
    if (s.is_ending) break;
    const auto move = std::exchange(s.move, std::nullopt);
    std::vector<std::byte> memory;
    if (!s.free.empty()) {
      memory = std::move(s.free.back());
      s.free.pop_back();
    }
    lock.unlock();
    Result<void> moved;
    if (move && !(move->number && s.feed->jump(*move->number))) moved = s.feed->rewind();
    Step step = moved ? read_one(*s.feed, std::move(memory)) : std::move(moved).error();
    lock.lock();
    if (s.move) continue;  // nobody wants it any more
    if (step && *step) {
      s.bytes += (*step)->content.size();
      s.items.push_back(*std::move(*step));
    } else {
      s.is_over = true;
      if (!step) s.failure = std::move(step).error();
    }
    const std::uint64_t one = 1;
    if (s.items.size() <= 1) (void)!::write(s.event, &one, sizeof one);
  }
  s.has_left = true;
  s.changed.notify_all();
}

int ReadAheadFeed::descriptor() const {
  return shared_->event;
}

bool ReadAheadFeed::is_ready() {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->items.empty() || shared_->is_over) return true;
  std::uint64_t count = 0;
  (void)!::read(shared_->event, &count, sizeof count);
  return false;
}

Result<std::optional<NextMicroslice>> ReadAheadFeed::peek() {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->items.empty()) return std::optional(shared_->items.front().next);
  WEFT_CHECK(shared_->is_over, "peeked before anything was read");
  if (shared_->failure) return *shared_->failure;
  return std::optional<NextMicroslice>();
}

Result<MicrosliceDescriptor> ReadAheadFeed::take(std::span<std::byte> content) {
  // The thread only appends: the first one stays where it is.
  std::unique_lock lock(shared_->mutex);
  WEFT_CHECK(!shared_->items.empty() && shared_->items.front().content.size() == content.size());
  Read& read = shared_->items.front();
  lock.unlock();
  if (!content.empty()) std::memcpy(content.data(), read.content.data(), content.size());
  const MicrosliceDescriptor descriptor = read.descriptor;
  (void)drop();
  return descriptor;
}

Result<void> ReadAheadFeed::drop() {
  const std::lock_guard lock(shared_->mutex);
  WEFT_CHECK(!shared_->items.empty());
  Read& read = shared_->items.front();
  shared_->bytes -= read.content.size();
  if (shared_->free.size() < most_free) shared_->free.push_back(std::move(read.content));
  shared_->items.pop_front();
  shared_->changed.notify_all();
  return {};
}

void ReadAheadFeed::move_to(std::optional<std::uint64_t> number) {
  const std::lock_guard lock(shared_->mutex);
  shared_->move = Shared::Move{number};
  shared_->items.clear();
  shared_->bytes = 0;
  shared_->is_over = false;
  shared_->failure.reset();
  shared_->changed.notify_all();
}

Result<void> ReadAheadFeed::rewind() {
  move_to(std::nullopt);
  return {};
}

bool ReadAheadFeed::jump(std::uint64_t n) {
  if (jumps_) move_to(n);
  return jumps_;
}

}  // namespace weft

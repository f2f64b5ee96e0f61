// SPDX-License-Identifier: Apache-2.0
#include "stream/node/sink_thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.hpp"

namespace weft::stream {

SinkThread::SinkThread(std::unique_ptr<Sink> sink, std::uint32_t depth, std::uint32_t inputs)
    : sink_(std::move(sink)), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), slots_(depth) {
  WEFT_CHECK(event_ >= 0 && depth > 0);
  for (auto& slot : slots_) slot.components.resize(inputs);
  released_.reserve(depth);
  thread_ = std::thread([this] { run(); });
}

SinkThread::~SinkThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    abandoned_ = true;
  }
  sink_->interrupt();
  work_.notify_one();
  thread_.join();
  ::close(event_);
}

void SinkThread::submit(const TimesliceView& view) {
  WEFT_CHECK(has_room());
  Slot& slot = slots_[tail_++ % slots_.size()];
  ++with_sink_;
  slot.components.assign(view.components.begin(), view.components.end());
  slot.view = view;
  slot.view.components = slot.components;
  {
    const std::lock_guard lock(mutex_);
    ++submitted_;
  }
  work_.notify_one();
}

void SinkThread::collect(std::vector<TimesliceIndex>& released) {
  // Before the look: news from here on make the event readable once more.
  if (!has_news_.load(std::memory_order_relaxed) || !has_news_.exchange(false)) return;
  std::uint64_t count = 0;
  (void)!::read(event_, &count, sizeof count);
  const std::lock_guard lock(mutex_);
  released.insert(released.end(), released_.begin(), released_.end());
  with_sink_ -= released_.size();
  released_.clear();
}

void SinkThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_one();
}

bool SinkThread::finished() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::optional<Error> SinkThread::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void SinkThread::wake() {
  has_news_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!::write(event_, &one, sizeof one);
}

void SinkThread::release(void* self, TimesliceIndex timeslice) noexcept {
  auto* sink = static_cast<SinkThread*>(self);
  bool is_first = false;
  {
    const std::lock_guard lock(sink->mutex_);
    is_first = sink->released_.empty();
    sink->released_.push_back(timeslice);
  }
  // The driver is awake, or will be, until it has collected what came before.
  if (is_first) sink->wake();
}

void SinkThread::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return ending_ || taken_ < submitted_; });
    // A sink that got only a part of the stream does not finish its output: that would look whole.
    if (abandoned_) return;
    if (taken_ == submitted_) break;
    const Slot& slot = slots_[taken_ % slots_.size()];
    const bool broken = failure_.has_value();
    lock.unlock();
    Result<void> result;
    {
      // Released outside of the lock. After a failure timeslices are only given back, so that the
      // run can come to its end.
      HeldTimeslice held(&SinkThread::release, this, slot.view.index);
      if (!broken) result = sink_->consume_held(slot.view, std::move(held));
    }
    lock.lock();
    ++taken_;
    if (!result && !failure_) failure_ = result.error();
  }
  auto result = sink_->finish();
  const std::lock_guard lock(mutex_);
  if (!result && !failure_) failure_ = result.error();
  ended_ = true;
  wake();
}

std::unique_ptr<SinkRunner> run_sink_in_thread(std::unique_ptr<Sink> sink, std::uint32_t depth,
                                               std::uint32_t inputs) {
  return std::make_unique<SinkThread>(std::move(sink), depth, inputs);
}

}  // namespace weft::stream

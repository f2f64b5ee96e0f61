// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/tee_sink.hpp"

#include <algorithm>
#include <atomic>

namespace weft {
namespace {

/// One timeslice's memory, held by several sinks; deletes itself with the last of them.
class SharedHold {
 public:
  SharedHold(HeldTimeslice held, std::size_t holders) : held_(std::move(held)), holders_(holders) {}

  HeldTimeslice handle(TimesliceIndex timeslice) {
    return HeldTimeslice(
        [](void* self, TimesliceIndex) noexcept { static_cast<SharedHold*>(self)->release(); },
        this, timeslice);
  }

 private:
  void release() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  HeldTimeslice held_;
  std::atomic<std::size_t> holders_;
};

}  // namespace

Result<void> TeeSink::consume(const TimesliceView& timeslice) {
  for (const auto& sink : sinks_) {
    if (auto consumed = sink->consume(timeslice); !consumed) return consumed;
  }
  return {};
}

Result<void> TeeSink::consume_held(const TimesliceView& timeslice, HeldTimeslice held) {
  // One holder more than sinks: this function, so that the memory outlives the loop.
  auto* const hold = new SharedHold(std::move(held), sinks_.size() + 1);
  const HeldTimeslice ours = hold->handle(timeslice.index);
  Result<void> result;
  for (const auto& sink : sinks_) {
    HeldTimeslice theirs = hold->handle(timeslice.index);
    if (result) result = sink->consume_held(timeslice, std::move(theirs));
  }
  return result;
}

void TeeSink::interrupt() {
  for (const auto& sink : sinks_) sink->interrupt();
}

void TeeSink::stop_waiting() {
  for (const auto& sink : sinks_) sink->stop_waiting();
}

Result<void> TeeSink::finish() {
  Result<void> first;
  for (const auto& sink : sinks_) {
    auto finished = sink->finish();
    if (first && !finished) first = std::move(finished);
  }
  return first;
}

void TeeSink::leave() {
  for (const auto& sink : sinks_) sink->leave();
}

bool TeeSink::blocks() const {
  return std::ranges::any_of(sinks_, [](const auto& sink) { return sink->blocks(); });
}

SinkSummary TeeSink::summary() const {
  SinkSummary sum;
  for (const auto& sink : sinks_) {
    const SinkSummary s = sink->summary();
    sum.timeslices = std::max(sum.timeslices, s.timeslices);
    sum.bytes = std::max(sum.bytes, s.bytes);
    sum.incomplete = std::max(sum.incomplete, s.incomplete);
    sum.repeated = std::max(sum.repeated, s.repeated);
    sum.dropped += s.dropped;
    sum.errors += s.errors;
    if (sum.first_error.empty()) sum.first_error = s.first_error;
  }
  return sum;
}

}  // namespace weft

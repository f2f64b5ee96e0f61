// SPDX-License-Identifier: Apache-2.0
// SinkThread: hands timeslices to a sink that may block, without stopping the driver loop. At most
// `depth` timeslices are with the sink; the driver keeps the rest, and so the buffers fill, credits
// run out and the input nodes wait: back-pressure.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft::stream {

class SinkThread {
 public:
  SinkThread(std::unique_ptr<Sink> sink, std::uint32_t depth, std::uint32_t inputs);
  /// Interrupts the sink and waits for its thread.
  ~SinkThread();
  SinkThread(const SinkThread&) = delete;
  SinkThread& operator=(const SinkThread&) = delete;

  /// Readable when `collect` or `finished` has news.
  int descriptor() const { return event_; }
  bool has_room() const { return with_sink_ < slots_.size(); }
  /// Copies the view (not the data, which stay valid until collected). Needs room.
  void submit(const TimesliceView& view);
  /// Appends the timeslices that the sink is done with.
  void collect(std::vector<TimesliceIndex>& released);
  /// Nothing follows: the sink is flushed behind what it has.
  void finish();
  /// The sink is flushed, or has failed.
  bool finished() const;
  /// The error that `consume` or `finish` reported, if any.
  std::optional<Error> failure() const;
  /// Call when finished.
  SinkSummary summary() const { return sink_->summary(); }

 private:
  struct Slot {
    TimesliceView view;
    std::vector<ComponentView> components;
  };
  static void release(void* self, TimesliceIndex timeslice) noexcept;
  void run();
  void wake() const;

  std::unique_ptr<Sink> sink_;
  int event_;
  std::vector<Slot> slots_;    // a ring: written by the driver at tail_, read by the sink at head_
  std::uint64_t tail_ = 0;     // driver's
  std::size_t with_sink_ = 0;  // driver's: submitted and not collected
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::uint64_t submitted_ = 0;
  std::uint64_t taken_ = 0;
  std::vector<TimesliceIndex> released_;
  bool ending_ = false;
  bool ended_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// SinkThread: hands timeslices to a sink that may block, without stopping the driver loop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "stream/node/sink_runner.hpp"
#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft::stream {

class SinkThread final : public SinkRunner {
 public:
  SinkThread(std::unique_ptr<Sink> sink, std::uint32_t depth, std::uint32_t inputs);
  /// Interrupts the sink and waits for its thread. A sink that has not finished by then never is:
  /// its own destructor removes its output.
  ~SinkThread() override;
  SinkThread(const SinkThread&) = delete;
  SinkThread& operator=(const SinkThread&) = delete;

  int descriptor() const override { return event_; }
  bool has_room() const override { return with_sink_ < slots_.size(); }
  void submit(const TimesliceView& view) override;
  void collect(std::vector<TimesliceIndex>& released) override;
  void stop_waiting() override { sink_->stop_waiting(); }
  void finish() override;
  bool finished() const override;
  std::optional<Error> failure() const override;
  SinkSummary summary() const override { return sink_->summary(); }

 private:
  struct Slot {
    TimesliceView view;
    std::vector<ComponentView> components;
  };
  static void release(void* self, TimesliceIndex timeslice) noexcept;
  void run();
  void wake();

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
  std::atomic<bool> has_news_{false};  // spares the driver a look at the event
  bool ending_ = false;
  bool abandoned_ = false;
  bool ended_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

}  // namespace weft::stream

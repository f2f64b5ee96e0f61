// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"
#include "stream/node/sink_runner.hpp"

namespace weft::stream {
namespace {

class SinkInLoop final : public SinkRunner {
 public:
  SinkInLoop(std::unique_ptr<Sink> sink, std::uint32_t depth)
      : sink_(std::move(sink)), depth_(depth) {
    released_.reserve(depth);
  }

  int descriptor() const override { return -1; }
  bool has_room() const override { return with_sink_ < depth_; }
  void submit(const TimesliceView& view) override {
    WEFT_CHECK(has_room());
    ++with_sink_;
    HeldTimeslice held(&SinkInLoop::release, this, view.index);
    // After a failure timeslices are only given back, so that the run can come to its end.
    if (failure_) return;
    if (auto result = sink_->consume_held(view, std::move(held)); !result) {
      failure_ = result.error();
    }
  }
  void collect(std::vector<TimesliceIndex>& released) override {
    released.insert(released.end(), released_.begin(), released_.end());
    with_sink_ -= released_.size();
    released_.clear();
  }
  void stop_waiting() override { sink_->stop_waiting(); }
  void finish() override {
    auto result = sink_->finish();
    if (!result && !failure_) failure_ = result.error();
    ended_ = true;
  }
  void leave() override { sink_->leave(); }
  bool finished() const override { return ended_; }
  std::optional<Error> failure() const override { return failure_; }
  SinkSummary summary() const override { return sink_->summary(); }

 private:
  static void release(void* self, TimesliceIndex timeslice) noexcept {
    static_cast<SinkInLoop*>(self)->released_.push_back(timeslice);
  }

  std::unique_ptr<Sink> sink_;
  std::size_t depth_;
  std::size_t with_sink_ = 0;
  std::vector<TimesliceIndex> released_;
  bool ended_ = false;
  std::optional<Error> failure_;
};

}  // namespace

std::unique_ptr<SinkRunner> run_sink_in_loop(std::unique_ptr<Sink> sink, std::uint32_t depth) {
  return std::make_unique<SinkInLoop>(std::move(sink), depth);
}

}  // namespace weft::stream

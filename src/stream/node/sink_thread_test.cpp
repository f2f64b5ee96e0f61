// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>

#include <vector>

#include "stream/node/sink_runner.hpp"

namespace weft::stream {
namespace {

/// Keeps every other timeslice until the next one has come.
class KeepingSink final : public Sink {
 public:
  Result<void> consume(const TimesliceView&) override { return {}; }
  Result<void> consume_held(const TimesliceView& timeslice, HeldTimeslice held) override {
    ++summary_.timeslices;
    if (timeslice.index.value() % 2 == 0) {
      kept_ = std::move(held);
    } else {
      kept_.release();
    }
    return {};
  }
  Result<void> finish() override {
    kept_.release();
    return {};
  }
  SinkSummary summary() const override { return summary_; }

 private:
  SinkSummary summary_;
  HeldTimeslice kept_;
};

/// The driver sleeps on the descriptor alone: a release that it does not hear of would hang it.
TEST(sink_thread, makes_its_descriptor_readable_for_each_release_that_nobody_collected) {
  constexpr std::uint64_t count = 20'000;
  const auto runner = run_sink_in_thread(std::make_unique<KeepingSink>(), 4, 1);
  const std::vector<ComponentView> components(1);
  std::vector<TimesliceIndex> released;
  std::uint64_t next = 0;
  bool ending = false;
  while (!runner->finished() || released.size() < count) {
    runner->collect(released);
    bool moved = false;
    for (; next < count && runner->has_room(); moved = true) {
      TimesliceView view;
      view.index = TimesliceIndex(next++);
      view.components = components;
      runner->submit(view);
    }
    if (next == count && !std::exchange(ending, true)) runner->finish();
    if (moved || (runner->finished() && released.size() == count)) continue;
    pollfd event{.fd = runner->descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&event, 1, 10'000), 1) << "after " << released.size() << " of " << count;
  }
  EXPECT_EQ(released.size(), count);
  EXPECT_EQ(runner->summary().timeslices, count);
}

}  // namespace
}  // namespace weft::stream

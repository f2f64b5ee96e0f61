// SPDX-License-Identifier: Apache-2.0
// Helpers of tests of the shm: sink: a compute node as far as the sink can tell, and consumers.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/memory/mirrored_ring.hpp"
#include "stream/shm/shm_sink.hpp"
#include "weft/consumer.hpp"

namespace weft::shm_test {

inline constexpr Duration patience = Duration::seconds(30);

inline std::string unique_name() {
  static std::atomic<int> last = 0;
  return fmt::format("test-{}-{}", ::getpid(), ++last);
}

// A compute node as far as the sink can tell: timeslices of three components in rings.
class ComputeNode {
 public:
  static constexpr std::uint32_t inputs = 3;
  static constexpr std::size_t piece = 3000;  // so that some wrap around the ring's end

  explicit ComputeNode(const std::string& rest, std::uint32_t compute = 0,
                       std::uint32_t computes = 1) {
    auto arena = MirroredArena::create(inputs, ring_size_for(ByteCount(64 * 1024)), "test");
    EXPECT_TRUE(arena.ok());
    arena_.emplace(std::move(*arena));
    SinkPlace place;
    place.inputs = inputs;
    place.compute = compute;
    place.computes = computes;
    auto sink = open_shm_sink(rest, place);
    EXPECT_TRUE(sink.ok()) << sink.error().message;
    if (sink.ok()) sink_ = std::move(*sink);
  }

  Sink& sink() { return *sink_; }
  const MirroredArena& arena() const { return *arena_; }
  std::uint64_t published() const { return next_; }
  std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

  // Component i of timeslice t is filled with the byte t + i; component 2 of every fifth is
  // missing.
  // Waits for room in the rings first, as a driver does.
  Result<void> publish(bool in_ring = true) {
    {
      std::unique_lock lock(mutex_);
      released_.wait(lock, [&] { return held_.empty() || *held_.begin() + 20 > next_; });
      held_.insert(next_);
    }
    std::array<ComponentView, inputs> components;
    std::vector<std::vector<std::byte>> local(inputs);
    for (std::uint32_t i = 0; i < inputs; ++i) {
      if (i == 2 && next_ % 5 == 4) {
        components[i].flags = bit(TimesliceFlag::missing_components);
        continue;
      }
      local[i].resize(piece);
      const auto data = in_ring ? arena_->ring(i).at(next_ * piece, piece) : std::span(local[i]);
      std::memset(data.data(), static_cast<int>(next_ + i), piece);
      components[i] = {0, 1, data};
    }
    TimesliceView view;
    view.index = TimesliceIndex(next_);
    view.start_time = next_ * 1000;
    view.duration = 1000;
    view.num_core_microslices = 1;
    view.components = components;
    ++next_;
    const auto release = [](void* self, TimesliceIndex t) noexcept {
      auto& node = *static_cast<ComputeNode*>(self);
      const std::lock_guard lock(node.mutex_);
      EXPECT_EQ(node.held_.erase(t.value()), 1u) << "released twice: " << t.value();
      node.released_.notify_all();
    };
    return sink_->consume_held(view, HeldTimeslice(release, this, view.index));
  }

 private:
  std::optional<MirroredArena> arena_;
  std::uint64_t next_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::set<std::uint64_t> held_;
  std::unique_ptr<Sink> sink_;  // destroyed first: it releases what is held
};

inline Consumer attach(const std::string& name, const std::string& group, GroupPolicy policy,
                       std::uint32_t depth = 1) {
  ConsumerOptions options;
  options.policy = policy;
  options.depth = depth;
  auto consumer = Consumer::attach(name, group, options);
  EXPECT_TRUE(consumer.ok()) << consumer.error().message;
  return std::move(*consumer);
}

inline SharedTimeslice take(Consumer& consumer) {
  auto timeslice = consumer.next(patience);
  EXPECT_TRUE(timeslice.ok()) << timeslice.error().message;
  EXPECT_TRUE(timeslice->has_value());
  return std::move(**timeslice);
}

inline void expect_content(const TimesliceView& view) {
  const std::uint64_t t = view.index.value();
  EXPECT_EQ(view.start_time, t * 1000);
  ASSERT_EQ(view.components.size(), ComputeNode::inputs);
  for (std::uint32_t i = 0; i < ComputeNode::inputs; ++i) {
    const ComponentView& c = view.components[i];
    if (i == 2 && t % 5 == 4) {
      EXPECT_EQ(c.flags, bit(TimesliceFlag::missing_components));
      EXPECT_TRUE(c.data.empty());
      continue;
    }
    ASSERT_EQ(c.data.size(), ComputeNode::piece);
    for (const std::byte b : c.data) ASSERT_EQ(b, static_cast<std::byte>(t + i));
  }
}

}  // namespace weft::shm_test

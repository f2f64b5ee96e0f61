// SPDX-License-Identifier: Apache-2.0
// The shaped fabric over loopback, driven by an invented clock: every instant in here is exact.
// tests/contract tests the promises of every fabric.
#include "fabric/shaped/shaped.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "fabric/loopback/loopback.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kRate = 25'000'000;  // 200 Mbit/s: 40 ns per byte
constexpr Duration kLatency = Duration::microseconds(20);
constexpr std::uint64_t kChunk = 8192;

constexpr Duration time_of(std::uint64_t bytes, std::uint64_t rate = kRate) {
  return Duration(static_cast<std::int64_t>(bytes * 1'000'000'000 / rate));
}

struct Received {
  NodeId from;
  std::uint64_t number;
  Instant at;
};

// Fully connected shaped endpoints and a clock that jumps from one deadline to the next.
class World {
 public:
  World(std::size_t nodes, ShapeOptions options) : World(std::vector(nodes, options)) {}
  explicit World(const std::vector<ShapeOptions>& options) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      auto inner = hub_.open(node(i), Incarnation(1));
      fabrics_.push_back(shape(std::move(*inner), options[i]));
      memories_.emplace_back(8u << 20);
    }
    for (std::size_t i = 0; i < options.size(); ++i) {
      regions_.push_back(fabrics_[i]->expose(memories_[i]).value());
      for (std::size_t k = 0; k < options.size(); ++k) {
        if (i != k) {
          EXPECT_TRUE(fabrics_[i]->add_peer(node(k), Incarnation(1), fabrics_[k]->address()).ok());
        }
      }
    }
    received.resize(options.size());
    completed.resize(options.size());
    wakes.resize(options.size());
    queues_.resize(options.size());
    run_for(Duration::seconds(1));
    start = now;
  }

  static NodeId node(std::size_t i) { return NodeId(static_cast<std::uint32_t>(i)); }
  ShapedFabric& operator[](std::size_t i) { return *fabrics_[i]; }

  // A message that says `number` and is `size` bytes long.
  void send(std::size_t from, std::size_t to, std::uint64_t number, std::size_t size = 8) {
    auto& bytes = payloads_.emplace_back(std::max<std::size_t>(size, 8));
    std::memcpy(bytes.data(), &number, sizeof number);
    TxOp op;
    op.peer = node(to);
    op.context = number;
    op.segments[0] = std::span(bytes).first(size);
    queues_[from].push_back(op);
  }
  // Writes `size` bytes of value `number` to the start of the peer's region.
  void write(std::size_t from, std::size_t to, std::uint64_t number, std::size_t size) {
    auto& bytes = payloads_.emplace_back(size, static_cast<std::byte>(number));
    TxOp op;
    op.kind = OpKind::write;
    op.peer = node(to);
    op.context = number;
    op.segments[0] = bytes;
    op.region = regions_[to].remote;
    queues_[from].push_back(op);
  }

  // Polls everyone until nobody can go on at this instant.
  void settle() {
    for (bool busy = true; busy;) {
      busy = false;
      for (std::size_t i = 0; i < fabrics_.size(); ++i) busy = step(i) || busy;
      for (auto& fabric : fabrics_) busy = fabric->prepare_wait(now).ready || busy;
    }
  }
  void run_until(Instant end) {
    for (;;) {
      settle();
      Instant next = end;
      std::vector<Instant> deadlines;
      for (auto& fabric : fabrics_) deadlines.push_back(fabric->prepare_wait(now).poll_by);
      for (const Instant deadline : deadlines) next = std::min(next, deadline);
      if (next >= end) break;
      for (std::size_t i = 0; i < deadlines.size(); ++i) wakes[i] += deadlines[i] == next ? 1 : 0;
      // A driver that only looks every so often wakes late.
      now = std::max(next, now + late);
    }
    now = std::max(now, end);
    settle();
  }
  void run_for(Duration duration) { run_until(now + duration); }

  Instant now{1'000'000'000};
  Instant start{};
  Duration late{};
  std::vector<std::vector<Received>> received;
  std::vector<std::map<std::uint64_t, Instant>> completed;
  std::vector<std::size_t> memory_at_message;
  std::vector<int> wakes;  // of each node, for a deadline of its own
  std::vector<std::byte>& memory(std::size_t i) { return memories_[i]; }

 private:
  bool step(std::size_t i) {
    bool busy = false;
    while (!queues_[i].empty() && fabrics_[i]->post({&queues_[i].front(), 1}) == 1) {
      queues_[i].pop_front();
      busy = true;
    }
    std::array<Completion, 16> completions;
    const std::size_t n = fabrics_[i]->poll(now, completions);
    for (std::size_t c = 0; c < n; ++c) take(i, completions[c]);
    return busy || n > 0;
  }
  void take(std::size_t i, const Completion& completion) {
    if (completion.kind == CompletionKind::received) {
      std::uint64_t number = 0;
      if (completion.data.size() >= sizeof number) {
        std::memcpy(&number, completion.data.data(), sizeof number);
      }
      received[i].push_back({completion.peer, number, now});
      memory_at_message.push_back(static_cast<std::size_t>(memories_[i][0]));
    } else if (completion.kind == CompletionKind::sent ||
               completion.kind == CompletionKind::written) {
      completed[i][completion.context] = now;
    }
  }

  LoopbackHub hub_;
  std::vector<std::unique_ptr<ShapedFabric>> fabrics_;
  std::vector<std::vector<std::byte>> memories_;
  std::vector<Region> regions_;
  std::deque<std::vector<std::byte>> payloads_;
  std::vector<std::deque<TxOp>> queues_;
};

ShapeOptions shape_of(std::uint64_t rate = kRate, Duration latency = kLatency) {
  auto options = symmetric_shape(Bandwidth::bytes_per_second(rate), latency);
  options.chunk = ByteCount(kChunk);
  return options;
}

TEST(shaped, a_small_message_takes_both_links_and_the_latency) {
  World world(2, shape_of());
  world.send(0, 1, 7, 64);
  world.run_for(Duration::milliseconds(1));
  ASSERT_EQ(world.received[1].size(), 1u);
  EXPECT_EQ(world.received[1][0].at - world.start, time_of(64) * 2 + kLatency);
  EXPECT_EQ(world.completed[0][7] - world.start, time_of(64));
}

TEST(shaped, a_large_message_is_pipelined_chunk_by_chunk) {
  World world(2, shape_of());
  world.send(0, 1, 7, 5 * kChunk);
  world.run_for(Duration::milliseconds(10));
  ASSERT_EQ(world.received[1].size(), 1u);
  EXPECT_EQ(world.received[1][0].at - world.start, time_of(6 * kChunk) + kLatency);
}

TEST(shaped, a_message_passes_both_links_at_once_where_they_cut_through) {
  ShapeOptions options = shape_of();
  options.cut_through = true;
  for (const std::uint64_t size : {std::uint64_t{64}, 5 * kChunk}) {
    World world(2, options);
    world.send(0, 1, 7, size);
    world.run_for(Duration::milliseconds(10));
    ASSERT_EQ(world.received[1].size(), 1u);
    EXPECT_EQ(world.received[1][0].at - world.start, time_of(size) + kLatency) << size;
  }
}

TEST(shaped, messages_of_two_senders_share_a_port_that_cuts_through) {
  ShapeOptions options = shape_of();
  options.cut_through = true;
  World world(3, options);
  world.send(0, 2, 1, kChunk);
  world.send(1, 2, 2, kChunk);
  world.run_for(Duration::milliseconds(10));
  ASSERT_EQ(world.received[2].size(), 2u);
  EXPECT_EQ(world.received[2][0].at - world.start, time_of(kChunk) + kLatency);
  EXPECT_EQ(world.received[2][1].at - world.start, time_of(2 * kChunk) + kLatency);
}

TEST(shaped, a_write_is_followed_by_its_message_when_its_bytes_have_passed) {
  World world(2, shape_of());
  world.write(0, 1, 42, 1 << 20);
  world.send(0, 1, 7, 8);
  world.run_for(Duration::seconds(1));
  ASSERT_EQ(world.received[1].size(), 1u);
  EXPECT_EQ(world.memory_at_message[0], 42u);
  EXPECT_EQ(world.memory(1)[(1 << 20) - 1], std::byte{42});
  EXPECT_EQ(world.completed[0][42] - world.start, time_of(1 << 20));
  // The egress link is done with the message; the ingress link was at most a chunk behind.
  EXPECT_EQ(world.received[1][0].at - world.start, time_of((1 << 20) + kChunk + 8) + kLatency);
}

TEST(shaped, a_flow_gets_the_rate_of_the_link_for_a_second) {
  World world(2, shape_of());
  const std::uint64_t size = 64 * 1024, count = kRate / size;  // 381 contributions in a second
  for (std::uint64_t i = 0; i < count; ++i) {
    world.write(0, 1, i, size);
    world.send(0, 1, i, 40);
  }
  world.run_for(Duration::seconds(2));
  ASSERT_EQ(world.received[1].size(), count);
  const double seconds = (world.received[1].back().at - world.start).to_seconds();
  EXPECT_NEAR(static_cast<double>(count * (size + 40)) / seconds, kRate, kRate * 0.001);
}

TEST(shaped, late_wake_ups_do_not_add_up) {
  for (const auto late : {Duration::microseconds(100), Duration::milliseconds(3)}) {
    World world(2, shape_of());
    world.late = late;
    const std::uint64_t size = 64 * 1024, count = kRate / size;
    for (std::uint64_t i = 0; i < count; ++i) {
      world.write(0, 1, i, size);
      world.send(0, 1, i, 40);
    }
    world.run_for(Duration::seconds(2));
    ASSERT_EQ(world.received[1].size(), count);
    const double seconds = (world.received[1].back().at - world.start).to_seconds();
    EXPECT_NEAR(static_cast<double>(count * (size + 40)) / seconds, kRate, kRate * 0.01);
  }
}

TEST(shaped, many_small_messages_get_the_rate_too) {
  World world(2, shape_of());
  for (std::uint64_t i = 0; i < 20'000; ++i) world.send(0, 1, i, 100);
  world.run_for(Duration::seconds(1));
  ASSERT_EQ(world.received[1].size(), 20'000u);
  // 4 µs each; and the last one crosses the ingress link.
  EXPECT_EQ(world.received[1].back().at - world.start, Duration::microseconds(80'004) + kLatency);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_EQ(world.received[1][i].number, i);
}

TEST(shaped, a_sender_wakes_once_for_a_chunk_of_small_operations) {
  World world(2, shape_of());
  const std::uint64_t count = 800;
  for (std::uint64_t i = 0; i < count; ++i) world.write(0, 1, i, 1024);
  world.run_for(Duration::seconds(1));
  EXPECT_EQ(world.completed[0][count - 1] - world.start, time_of(count * 1024));
  // And for a half, a quarter, an eighth of the last turn, behind which nothing waits.
  EXPECT_LE(world.wakes[0], static_cast<int>(count * 1024 / kChunk) + 3);
}

TEST(shaped, a_sender_hears_of_a_half_before_the_link_is_empty) {
  World world(2, shape_of());
  for (std::uint64_t i = 0; i < 64; ++i) world.write(0, 1, i, 64);
  world.run_for(Duration::milliseconds(10));
  EXPECT_EQ(world.completed[0][31] - world.start, time_of(32 * 64));
  EXPECT_EQ(world.completed[0][63] - world.start, time_of(64 * 64));
}

TEST(shaped, a_small_message_waits_for_the_turn_of_others_at_most) {
  World world(3, shape_of());
  for (std::uint64_t i = 0; i < 200; ++i) world.write(0, 1, i, 1000);
  world.run_for(time_of(10 * kChunk));
  const Instant posted = world.now;
  world.send(0, 2, 7, 64);
  world.run_for(Duration::milliseconds(2));
  ASSERT_EQ(world.received[2].size(), 1u);
  EXPECT_LE(world.received[2][0].at - posted, time_of(kChunk + 2 * 64) + kLatency);
}

TEST(shaped, a_receiver_wakes_for_messages_and_not_for_chunks_without_one) {
  World world(2, shape_of());
  const std::uint64_t chunks = 512;
  world.write(0, 1, 1, chunks * kChunk);
  world.send(0, 1, 7, 8);
  world.run_for(Duration::seconds(1));
  ASSERT_EQ(world.received[1].size(), 1u);
  EXPECT_EQ(world.received[1][0].at - world.start, time_of((chunks + 1) * kChunk + 8) + kLatency);
  EXPECT_LE(world.wakes[1], 3);
}

TEST(shaped, chunks_that_no_message_follows_pass_as_well) {
  World world(2, shape_of());
  world.write(0, 1, 1, 4 * kChunk);
  world.run_for(Duration::milliseconds(100));
  EXPECT_EQ(world[1].backlog().ingress.value(), 0u);
}

TEST(shaped, incast_shares_the_receivers_link_and_queues_in_front_of_it) {
  World world(5, shape_of());
  const std::uint64_t size = 64 * 1024;
  for (std::size_t sender = 1; sender <= 4; ++sender) {
    world.write(sender, 0, sender, size);
    world.send(sender, 0, sender, 8);
  }
  // When the senders are done, three quarters are still at the receiver's port.
  world.run_for(time_of(size));
  for (std::size_t sender = 1; sender <= 4; ++sender) {
    EXPECT_EQ(world.completed[sender][sender] - world.start, time_of(size));
  }
  EXPECT_NEAR(static_cast<double>(world[0].backlog().ingress.value()), 3.0 * size, 2.0 * kChunk);
  world.run_for(Duration::seconds(1));
  ASSERT_EQ(world.received[0].size(), 4u);
  // All end together, within the chunks by which the port interleaves them, at four times the time.
  for (const Received& message : world.received[0]) {
    EXPECT_GE(message.at - world.start, time_of(4 * size - 3 * kChunk));
    EXPECT_LE(message.at - world.start, time_of(4 * size + kChunk + 32) + kLatency);
  }
  EXPECT_EQ(world.received[0].back().at - world.start, time_of(4 * size + kChunk + 32) + kLatency);
}

TEST(shaped, the_senders_link_is_shared_by_peers_in_turn) {
  World world(4, shape_of());
  const std::uint64_t size = 16 * kChunk;
  for (std::size_t peer = 1; peer <= 3; ++peer) {
    world.write(0, peer, peer, size);
    world.send(0, peer, peer, 8);
  }
  world.run_for(Duration::seconds(1));
  for (std::size_t peer = 1; peer <= 3; ++peer) {
    ASSERT_EQ(world.received[peer].size(), 1u);
    const Duration took = world.received[peer][0].at - world.start;
    EXPECT_GE(took, time_of(3 * size - 2 * kChunk));
    EXPECT_LE(took, time_of(3 * size + kChunk + 32) + kLatency);
  }
}

TEST(shaped, a_small_message_to_another_peer_passes_a_long_write) {
  World world(3, shape_of());
  world.write(0, 1, 1, 4 << 20);
  world.send(0, 2, 2, 64);
  world.run_for(Duration::milliseconds(1));
  ASSERT_EQ(world.received[2].size(), 1u);
  EXPECT_EQ(world.received[2][0].at - world.start, time_of(kChunk + 2 * 64) + kLatency);
}

TEST(shaped, a_small_message_to_the_same_peer_waits_for_the_write_before_it) {
  World world(2, shape_of());
  world.write(0, 1, 1, 1 << 20);
  world.send(0, 1, 2, 64);
  world.run_for(time_of(1 << 20));
  EXPECT_TRUE(world.received[1].empty());
  world.run_for(Duration::milliseconds(2));
  EXPECT_EQ(world.received[1].size(), 1u);
}

TEST(shaped, nodes_may_differ) {
  std::vector<ShapeOptions> options(3, shape_of());
  options[1] = shape_of(kRate / 2);
  World world(options);
  world.send(0, 2, 1, 6400);
  world.send(1, 2, 2, 6400);
  world.run_for(Duration::milliseconds(10));
  ASSERT_EQ(world.received[2].size(), 2u);
  EXPECT_EQ(world.received[2][0].at - world.start, time_of(2 * 6400) + kLatency);
  EXPECT_EQ(world.received[2][1].at - world.start, time_of(3 * 6400) + kLatency);
}

TEST(shaped, a_rate_changes_while_bytes_wait) {
  World world(2, shape_of());
  world.write(0, 1, 1, 10 * kChunk);
  world.send(0, 1, 2, 8);
  world.run_for(time_of(4 * kChunk));
  const LinkShape half{Bandwidth::bytes_per_second(kRate / 2), kLatency};
  world[0].set_links(half, {Bandwidth::bytes_per_second(kRate), Duration{}});
  world.run_for(Duration::seconds(1));
  ASSERT_EQ(world.received[1].size(), 1u);
  const Duration took = world.received[1][0].at - world.start;
  // One chunk was on its way already when the rate changed.
  EXPECT_GE(took, time_of(4 * kChunk) + time_of(6 * kChunk, kRate / 2));
  EXPECT_LE(took, time_of(5 * kChunk) + time_of(6 * kChunk + 16, kRate / 2) + kLatency);
}

TEST(shaped, a_rate_is_raised_while_an_operation_is_on_the_link) {
  World world(2, shape_of(kRate / 100));
  world.write(0, 1, 1, kChunk);
  world.run_for(Duration::microseconds(10));
  const LinkShape fast{Bandwidth::bytes_per_second(kRate), kLatency};
  world[0].set_links(fast, fast);
  world[1].set_links(fast, fast);
  world.write(0, 1, 2, kChunk);
  world.send(0, 1, 3, 8);
  world.run_for(Duration::seconds(1));
  ASSERT_EQ(world.received[1].size(), 1u);
  EXPECT_EQ(world.completed[0].size(), 3u);
}

TEST(shaped, an_unlimited_rate_leaves_the_latency) {
  World world(2, symmetric_shape(Bandwidth{}, Duration::milliseconds(5)));
  world.write(0, 1, 1, 1 << 20);
  world.send(0, 1, 2, 8);
  world.run_for(Duration::milliseconds(10));
  ASSERT_EQ(world.received[1].size(), 1u);
  EXPECT_EQ(world.received[1][0].at - world.start, Duration::milliseconds(5));
}

TEST(shaped, a_shortened_latency_does_not_let_messages_overtake) {
  World world(2, shape_of(kRate, Duration::milliseconds(5)));
  world.send(0, 1, 1);
  world.run_for(Duration::microseconds(10));
  world[0].set_links({Bandwidth::bytes_per_second(kRate), Duration{}},
                     {Bandwidth::bytes_per_second(kRate), Duration{}});
  world.send(0, 1, 2);
  world.run_for(Duration::milliseconds(10));
  ASSERT_EQ(world.received[1].size(), 2u);
  EXPECT_EQ(world.received[1][0].number, 1u);
  EXPECT_EQ(world.received[1][1].number, 2u);
}

TEST(shaped, a_flood_is_held_back_and_arrives_complete) {
  auto slow_receiver = shape_of();
  slow_receiver.ingress.rate = Bandwidth::bytes_per_second(100'000'000);
  auto fast_sender = shape_of();
  fast_sender.egress.rate = Bandwidth{};
  World world(std::vector{slow_receiver, fast_sender, fast_sender});
  // 48 MB of messages: far more than a receiver holds.
  const std::uint64_t count = 400;
  for (std::uint64_t i = 0; i < count; ++i) {
    world.send(1, 0, i, 60'000);
    world.send(2, 0, i, 60'000);
  }
  world.run_for(Duration::milliseconds(100));
  EXPECT_LT(world.completed[1].size() + world.completed[2].size(), 2 * count);
  world.run_for(Duration::seconds(1));
  ASSERT_EQ(world.received[0].size(), 2 * count);
  std::array<std::uint64_t, 3> next{};
  for (const Received& message : world.received[0]) {
    ASSERT_EQ(message.number, next[message.from.value()]++);
  }
  const double seconds = (world.received[0].back().at - world.start).to_seconds();
  EXPECT_NEAR(2.0 * count * 60'000 / seconds, 1e8, 1e6);
}

TEST(shaped, refuses_a_peer_that_is_not_shaped) {
  LoopbackHub hub;
  auto shaped = shape(hub.open(NodeId(0), Incarnation(1)).value(), shape_of());
  auto plain = hub.open(NodeId(1), Incarnation(1)).value();
  ASSERT_TRUE(shaped->add_peer(NodeId(1), Incarnation(1), plain->address()).ok());
  ASSERT_TRUE(plain->add_peer(NodeId(0), Incarnation(1), shaped->address()).ok());
  std::vector<CompletionKind> events;
  std::array<Completion, 8> completions;
  const auto poll = [&](Fabric& fabric, std::int64_t milliseconds, bool keep) {
    const Instant now(milliseconds * 1'000'000);
    const std::size_t n = fabric.poll(now, completions);
    for (std::size_t i = 0; keep && i < n; ++i) events.push_back(completions[i].kind);
  };
  for (int i = 0; i < 3; ++i) {
    poll(*shaped, i, true);
    poll(*plain, i, false);
  }
  TxOp op;
  op.peer = NodeId(0);
  const std::vector<std::byte> bytes(40);
  op.segments[0] = bytes;
  ASSERT_EQ(plain->post({&op, 1}), 1u);
  for (int i = 3; i < 6; ++i) {
    poll(*shaped, i, true);
    poll(*plain, i, false);
  }
  EXPECT_EQ(events, (std::vector{CompletionKind::peer_up, CompletionKind::peer_down}));
}

TEST(shaped, is_named_after_what_it_shapes) {
  World world(1, shape_of());
  EXPECT_EQ(world[0].name(), "shaped(loopback)");
  EXPECT_GE(world[0].limits().max_message, 4096u);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace weft::contract {
namespace {

// How long a step may take until the test gives up. Not a performance limit: a loaded machine that
// detects a dead peer by a timeout stays well below.
constexpr Duration kGiveUp = Duration::seconds(60);

// A sleep that long without an event, and then an event at once, is a wake-up that was lost.
constexpr Duration kLongSleep = Duration::seconds(5);

}  // namespace

Bytes pattern(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  Rng rng(seed);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 8 == 0) word = rng.next();
    bytes[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
  }
  return bytes;
}

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::uint64_t announced_seed() {
  const char* given = std::getenv("WEFT_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  fmt::print("rerun: WEFT_TEST_SEED={} with --gtest_filter={}.{}\n", seed, test->test_suite_name(),
             test->name());
  std::fflush(stdout);
  return seed;
}

std::uint64_t Node::send(NodeId peer, Bytes data, std::size_t cut) {
  TxOp op;
  op.kind = OpKind::send;
  op.peer = peer;
  enqueue(op, std::move(data), cut);
  return next_context_ - 1;
}

std::uint64_t Node::write(NodeId peer, const RemoteRegion& region, std::uint64_t offset, Bytes data,
                          std::size_t cut) {
  TxOp op;
  op.kind = OpKind::write;
  op.peer = peer;
  op.region = region;
  op.region_offset = offset;
  enqueue(op, std::move(data), cut);
  return next_context_ - 1;
}

void Node::enqueue(TxOp op, Bytes data, std::size_t cut) {
  op.context = next_context_++;
  auto& kept = operations_[op.context];
  kept = {op.peer, op.kind, std::move(data)};
  const std::span<const std::byte> view(kept.data);
  op.segments = {view.first(cut), view.subspan(cut)};
  queue_.push_back(op);
}

std::size_t Node::offer() {
  std::vector<TxOp> batch(queue_.begin(), queue_.end());
  const std::size_t taken = fabric_->post(batch);
  EXPECT_LE(taken, batch.size());
  for (std::size_t i = 0; i < taken; ++i) {
    outstanding_.emplace(batch[i].context, batch[i].peer);
    // The fabric has its own copy of a send's bytes from here on: changes to ours must not matter.
    if (batch[i].kind == OpKind::send) {
      std::ranges::fill(operations_[batch[i].context].data, std::byte{0xEE});
    }
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken));
  most_outstanding = std::max(most_outstanding, outstanding_.size());
  return taken;
}

bool Node::step(Instant now) {
  const std::size_t taken = queue_.empty() ? 0 : offer();
  std::vector<Completion> completions(completions_per_poll);
  const std::size_t n = fabric_->poll(now, completions);
  EXPECT_LE(n, completions.size());
  for (std::size_t i = 0; i < n; ++i) take(completions[i]);
  return taken + n > 0;
}

void Node::take(const Completion& completion) {
  switch (completion.kind) {
    case CompletionKind::received:
      EXPECT_TRUE(is_up(completion.peer)) << "a message from a peer that is not up";
      if (on_message) {
        on_message(completion.peer, completion.data);
      } else {
        messages.push_back(
            {completion.peer, Bytes(completion.data.begin(), completion.data.end())});
      }
      break;
    case CompletionKind::sent:
    case CompletionKind::written:
    case CompletionKind::failed:
      take_end_of_operation(completion);
      break;
    case CompletionKind::peer_up:
    case CompletionKind::peer_down:
      take_peer_event(completion);
      break;
  }
}

void Node::take_end_of_operation(const Completion& completion) {
  const auto it = operations_.find(completion.context);
  ASSERT_NE(it, operations_.end()) << "unknown or repeated context " << completion.context;
  EXPECT_EQ(completion.peer, it->second.peer);
  if (completion.kind != CompletionKind::failed) {
    EXPECT_EQ(completion.kind == CompletionKind::sent, it->second.kind == OpKind::send);
  }
  EXPECT_EQ(outstanding_.erase(completion.context), 1u) << "completed before it was taken";
  EXPECT_TRUE(completed.emplace(completion.context, completion.kind).second);
  // Reuse of the bytes must be harmless now.
  std::ranges::fill(it->second.data, std::byte{0xDD});
  operations_.erase(it);
}

void Node::take_peer_event(const Completion& completion) {
  events.push_back({completion.kind, completion.peer, completion.incarnation});
  if (completion.kind == CompletionKind::peer_up) {
    EXPECT_TRUE(up_.emplace(completion.peer, completion.incarnation).second) << "up twice";
    return;
  }
  const auto it = up_.find(completion.peer);
  ASSERT_NE(it, up_.end()) << "peer_down without peer_up";
  EXPECT_EQ(it->second, completion.incarnation);
  up_.erase(it);
  for (const auto& [context, peer] : outstanding_) {
    EXPECT_NE(peer, completion.peer) << "operation " << context << " outlives peer_down";
  }
}

Cluster::Cluster(FabricFactory& factory, std::size_t nodes) : factory_(factory) {
  for (std::size_t i = 0; i < nodes; ++i) {
    const NodeId id(static_cast<std::uint32_t>(i));
    auto fabric = factory.open(id, Incarnation(1));
    WEFT_CHECK(fabric.ok(), "{}", fabric.error().message);
    nodes_.push_back(std::make_unique<Node>(id, Incarnation(1), std::move(*fabric)));
  }
  for (auto& a : nodes_) {
    for (auto& b : nodes_) {
      if (a != b) introduce(*a, *b);
    }
  }
  const auto all_up = [&] {
    return std::ranges::all_of(nodes_, [&](const auto& a) {
      return std::ranges::all_of(nodes_,
                                 [&](const auto& b) { return a == b || a->is_up(b->id()); });
    });
  };
  EXPECT_TRUE(drive(all_up)) << "while connecting";
}

void Cluster::introduce(Node& a, Node& b) {
  const auto added = a.fabric().add_peer(b.id(), b.incarnation(), b.fabric().address());
  EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().message);
}

Instant Cluster::now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}

bool Cluster::sleep(std::span<Node* const> nodes, Duration limit) {
  std::vector<pollfd> descriptors;
  const Instant start = now();
  Instant until = start + limit;
  for (Node* node : nodes) {
    if (node->queued() > 0) return true;
    const WaitHint hint = node->fabric().prepare_wait(now());
    if (hint.ready) return true;
    if (hint.descriptor >= 0) descriptors.push_back({hint.descriptor, POLLIN, 0});
    until = std::min(until, hint.poll_by);
  }
  const bool limited = until == start + limit;
  const std::int64_t nanoseconds = std::max<std::int64_t>(0, (until - now()).ticks());
  const timespec timeout{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  return ::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr) > 0 || !limited;
}

::testing::AssertionResult Cluster::drive(const std::function<bool()>& done, bool sleeping) {
  const Instant give_up = now() + kGiveUp;
  bool overslept = false;
  while (!done()) {
    bool busy = false;
    std::vector<Node*> living;
    for (auto& node : nodes_) {
      if (!node->alive()) continue;
      living.push_back(node.get());
      busy = node->step(now()) || busy;
    }
    if (::testing::Test::HasFatalFailure()) return ::testing::AssertionFailure() << "see above";
    if (now() > give_up) return ::testing::AssertionFailure() << "gave up waiting";
    if (overslept && busy) return ::testing::AssertionFailure() << "nobody woke the sleeper";
    overslept = sleeping && !busy && !done() && !sleep(living, kLongSleep);
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult Cluster::settle() {
  return drive([&] {
    return std::ranges::all_of(nodes_, [](const auto& node) {
      return !node->alive() || node->queued() + node->outstanding() == 0;
    });
  });
}

void Cluster::kill(std::size_t i) {
  factory_.kill(nodes_[i]->take());
}

void Cluster::revive(std::size_t i) {
  const NodeId id = nodes_[i]->id();
  const Incarnation next = nodes_[i]->incarnation().plus(1);
  auto fabric = factory_.open(id, next);
  WEFT_CHECK(fabric.ok(), "{}", fabric.error().message);
  graveyard_.push_back(std::move(nodes_[i]));
  nodes_[i] = std::make_unique<Node>(id, next, std::move(*fabric));
  for (auto& other : nodes_) {
    if (other == nodes_[i] || !other->alive()) continue;
    introduce(*nodes_[i], *other);
    introduce(*other, *nodes_[i]);
  }
}

std::unique_ptr<Node> Cluster::impostor(std::size_t i, Incarnation incarnation) {
  auto fabric = factory_.open(nodes_[i]->id(), incarnation);
  if (!fabric.ok()) return nullptr;
  auto node = std::make_unique<Node>(nodes_[i]->id(), incarnation, std::move(*fabric));
  for (auto& other : nodes_) {
    if (other != nodes_[i] && other->alive()) introduce(*node, *other);
  }
  return node;
}

}  // namespace weft::contract

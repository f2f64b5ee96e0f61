// SPDX-License-Identifier: Apache-2.0
// Collective operations without a plan, among processes that run in a random order.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "fabric/loopback/loopback.hpp"
#include "mpi/object/collectives.hpp"
#include "process/simulated/fiber.hpp"

namespace weft::mpi {
namespace {

constexpr int rounds = 20;

/// Suspends its process wherever it waits.
class SuspendingWaiter final : public Waiter {
 public:
  Instant now() override { return Instant{}; }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override { fiber->suspend(); }
  Fiber* fiber = nullptr;
};

/// A process that meets all others again and again.
class Member {
 public:
  Member(LoopbackHub& hub, std::uint32_t self, std::uint32_t members, std::vector<int>& entered)
      : entered_(entered),
        fabric_(std::move(hub.open(NodeId(self), Incarnation(1))).value()),
        messenger_(*fabric_, waiter_,
                   {.self = NodeId(self),
                    .nodes = members,
                    .incarnation = Incarnation(1),
                    .fabric = {},
                    .eager_limit = 256,
                    .give_up_after = Duration::max()}),
        group_(world_group(members, NodeId(self))),
        transfer_(messenger_),
        fiber_(ByteCount::kib(64), [this] { run(); }) {
    transfer_.open(group_);
    waiter_.fiber = &fiber_;
  }
  ~Member() { fiber_.unwind(); }

  void know(const Member& other, std::uint32_t its) {
    ASSERT_TRUE(fabric_->add_peer(NodeId(its), Incarnation(1), other.fabric_->address()).ok());
  }
  void resume() { fiber_.resume(); }
  bool is_finished() const { return is_finished_; }
  bool was_early() const { return was_early_; }

 private:
  void run() {
    for (int round = 1; round <= rounds && !fiber_.unwinding(); ++round) {
      entered_[group_.rank] = round;
      EXPECT_TRUE(run_short(transfer_, group_, {.operation = collective::Operation::barrier},
                            nullptr, nullptr, {}));
      was_early_ = was_early_ || *std::min_element(entered_.begin(), entered_.end()) < round;
    }
    is_finished_ = true;
    while (!fiber_.unwinding()) {
      transfer_.turn();
      fiber_.suspend();
    }
  }

  std::vector<int>& entered_;
  SuspendingWaiter waiter_;
  std::unique_ptr<Fabric> fabric_;
  Messenger messenger_;
  Group group_;
  Transfer transfer_;
  bool is_finished_ = false;
  bool was_early_ = false;
  Fiber fiber_;
};

void meet_in_random_order(std::uint32_t count, std::uint64_t seed) {
  LoopbackHub hub;
  Rng rng(seed);
  std::vector<int> entered(count, 0);
  std::vector<std::unique_ptr<Member>> members;
  for (std::uint32_t i = 0; i < count; ++i) {
    members.push_back(std::make_unique<Member>(hub, i, count, entered));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t k = 0; k < count; ++k) {
      if (i != k) members[i]->know(*members[k], k);
    }
  }
  const auto finished = [](const auto& member) { return member->is_finished(); };
  for (int step = 0; step < 100'000; ++step) {
    if (std::all_of(members.begin(), members.end(), finished)) break;
    members[rng.below(count)]->resume();
  }
  for (const auto& member : members) {
    EXPECT_TRUE(member->is_finished()) << count << " members, seed " << seed;
    EXPECT_FALSE(member->was_early()) << count << " members, seed " << seed;
  }
}

TEST(short_collectives, nobody_leaves_a_barrier_before_all_have_entered_it) {
  for (std::uint32_t count = 1; count <= 11; ++count) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) meet_in_random_order(count, seed);
  }
}

}  // namespace
}  // namespace weft::mpi

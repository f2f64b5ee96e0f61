// SPDX-License-Identifier: Apache-2.0
// Collective operations without a plan, on messages and on boards, among processes that run in a
// random order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "fabric/loopback/loopback.hpp"
#include "mpi/object/collectives.hpp"
#include "process/simulated/fiber.hpp"

namespace weft::mpi {
namespace {

using collective::Operation;

constexpr int rounds = 20;

/// Suspends its process wherever it waits; a millisecond passes then.
class SuspendingWaiter final : public Waiter {
 public:
  Instant now() override { return now_; }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override {
    now_ = now_ + Duration::milliseconds(1);
    ++waits;
    fiber->suspend();
  }
  Fiber* fiber = nullptr;
  int waits = 0;

 private:
  Instant now_{};
};

class Member {
 public:
  using Program = std::function<void(Member&)>;
  Member(LoopbackHub& hub, std::uint32_t self, std::uint32_t members, Program program)
      : fabric_(std::move(hub.open(NodeId(self), Incarnation(1))).value()),
        messenger_(*fabric_, waiter,
                   {.self = NodeId(self),
                    .nodes = members,
                    .incarnation = Incarnation(1),
                    .fabric = {},
                    .eager_limit = 256,
                    .give_up_after = Duration::max()}),
        group(world_group(members, NodeId(self))),
        transfer(messenger_),
        fiber_(ByteCount::kib(128), [this, program = std::move(program)] { run(program); }) {
    transfer.open(group);
    waiter.fiber = &fiber_;
  }
  ~Member() { fiber_.unwind(); }

  void know(const Member& other, std::uint32_t its) {
    ASSERT_TRUE(fabric_->add_peer(NodeId(its), Incarnation(1), other.fabric_->address()).ok());
  }
  void resume() { fiber_.resume(); }
  bool is_finished() const { return is_finished_; }
  bool is_over() const { return fiber_.unwinding(); }
  void rest() { fiber_.suspend(); }

  bool meet() { return run({.operation = Operation::barrier}, nullptr, nullptr, {}); }
  bool run(const collective::Request& request, const void* input, void* output,
           const FoldBytes& fold) {
    transfer.begin_collective(group, request.operation, request.root);
    return run_short(transfer, group, request, static_cast<const std::byte*>(input),
                     static_cast<std::byte*>(output), fold);
  }
  std::string failure() const { return transfer.failure() ? transfer.failure()->message : ""; }

 private:
  std::unique_ptr<Fabric> fabric_;

 public:
  SuspendingWaiter waiter;

 private:
  Messenger messenger_;

 public:
  Group group;
  Transfer transfer;

 private:
  void run(const Program& program) {
    program(*this);
    is_finished_ = true;
    while (!fiber_.unwinding()) {
      transfer.turn();
      fiber_.suspend();
    }
  }
  bool is_finished_ = false;
  Fiber fiber_;
};

/// Members of one group that all run the same program.
struct Crew {
  Crew(std::uint32_t count, bool has_board, const Member::Program& program) {
    for (std::uint32_t i = 0; i < count; ++i) {
      members.push_back(std::make_unique<Member>(hub, i, count, program));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t k = 0; k < count; ++k) {
        if (i != k) members[i]->know(*members[k], k);
      }
    }
    if (!has_board) return;
    const std::size_t bytes = Board::memory_bytes(count);
    const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(64, bytes)),
                                            [](std::byte* begin) { std::free(begin); });
    std::memset(memory.get(), 0, bytes);
    for (std::uint32_t i = 0; i < count; ++i) {
      members[i]->transfer.set_board(members[i]->group, std::make_unique<Board>(memory, count, i));
    }
  }
  /// Until all programs have ended.
  void run_in_random_order(std::uint64_t seed) {
    Rng rng(seed);
    const auto finished = [](const auto& member) { return member->is_finished(); };
    for (int step = 0; step < 100'000; ++step) {
      if (std::all_of(members.begin(), members.end(), finished)) return;
      members[rng.below(members.size())]->resume();
    }
    ADD_FAILURE() << members.size() << " members wait for ever, seed " << seed;
  }

  LoopbackHub hub;
  std::vector<std::unique_ptr<Member>> members;
};

void meet_in_random_order(std::uint32_t count, bool has_board, std::uint64_t seed) {
  std::vector<int> entered(count, 0);
  int early = 0;
  Crew crew(count, has_board, [&](Member& member) {
    for (int round = 1; round <= rounds && !member.is_over(); ++round) {
      entered[member.group.rank] = round;
      EXPECT_TRUE(member.meet());
      if (*std::min_element(entered.begin(), entered.end()) < round) ++early;
    }
  });
  crew.run_in_random_order(seed);
  EXPECT_EQ(early, 0) << count << " members, seed " << seed;
}

TEST(short_collectives, nobody_leaves_a_barrier_before_all_have_entered_it) {
  for (std::uint32_t count = 1; count <= 11; ++count) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) meet_in_random_order(count, false, seed);
  }
}

TEST(short_collectives, nobody_leaves_a_barrier_on_a_board_before_all_have_entered_it) {
  for (std::uint32_t count = 2; count <= Board::most_members; ++count) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) meet_in_random_order(count, true, seed);
  }
}

void add(const std::byte* in, std::byte* inout, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(double)) {
    double a = 0, b = 0;
    std::memcpy(&a, in + at, sizeof a);
    std::memcpy(&b, inout + at, sizeof b);
    b = a + b;
    std::memcpy(inout + at, &b, sizeof b);
  }
}

// A program that calls it again and again sees no difference when its members get a board.
TEST(short_collectives, sums_on_a_board_have_the_bits_of_the_plan) {
  for (std::uint32_t count = 2; count <= Board::most_members; ++count) {
    for (const std::size_t values : {1, 2, 3, 16}) {
      for (const bool may_regroup : {false, true}) {
        Crew crew(count, true, [&](Member& member) {
          Rng rng(member.group.rank);
          std::array<double, 16> own{}, planned{}, met{};
          for (double& value : own) value = 1.0 / static_cast<double>(1 + rng.below(1000));
          const collective::Request request{.operation = Operation::allreduce,
                                            .bytes = values * sizeof(double),
                                            .element_bytes = sizeof(double),
                                            .may_regroup = may_regroup};
          const auto* const input = reinterpret_cast<const std::byte*>(own.data());
          run_collective(member.transfer, member.group, request, input,
                         reinterpret_cast<std::byte*>(planned.data()), add);
          EXPECT_TRUE(member.run(request, own.data(), met.data(), add));
          EXPECT_EQ(met, planned) << count << " members, " << values << " values";
          collective::Request in_place = request;
          in_place.in_place = true;
          EXPECT_TRUE(member.run(in_place, own.data(), own.data(), add));
          EXPECT_TRUE(std::equal(own.begin(), own.begin() + values, planned.begin()));
        });
        crew.run_in_random_order(count);
      }
    }
  }
}

// Else each would wait for two seconds, after which it tells the others where it is.
TEST(short_collectives, those_who_sleep_beside_a_board_are_woken) {
  bool is_there = false;
  Crew crew(4, true, [&](Member& member) {
    while (member.group.rank == 2 && !is_there) {
      member.transfer.turn();
      member.rest();
    }
    EXPECT_TRUE(member.meet());
    EXPECT_TRUE(member.meet());
  });
  for (int i = 0; i < 300; ++i) crew.members[i % 4]->resume();
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_FALSE(crew.members[i]->is_finished());
  is_there = true;
  for (int i = 0; i < 40; ++i) crew.members[i % 4]->resume();
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(crew.members[i]->is_finished()) << i;
    EXPECT_EQ(crew.members[i]->failure(), "");
  }
}

/// Member 1 does something else. Returns what some member says about it.
std::string fail(const std::function<void(Member&)>& as_member_1,
                 const std::function<void(Member&)>& as_others) {
  Crew crew(4, true, [&](Member& member) {
    EXPECT_TRUE(member.meet());
    member.group.rank == 1 ? as_member_1(member) : as_others(member);
    // Its process ends the job.
    while (member.failure().empty() && !member.is_over()) member.rest();
  });
  Rng rng(1);
  for (int step = 0; step < 100'000; ++step) {
    Member& member = *crew.members[rng.below(4)];
    member.resume();
    if (!member.failure().empty()) return member.failure();
  }
  return "nothing";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void sum(Member& member, std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  const collective::Request request{
      .operation = Operation::allreduce, .bytes = bytes, .element_bytes = sizeof(double)};
  if (member.run(request, values.data(), values.data(), add)) return;
  run_plan(member.transfer, member.group, plan_for(member.group, request), values.data(),
           values.data(), add);
}

TEST(short_collectives, members_that_meet_for_something_else_are_told_both_calls) {
  const std::string why =
      fail([](Member& member) { sum(member, 8); }, [](Member& member) { member.meet(); });
  EXPECT_TRUE(has(why, "is in allreduce of this communicator, collective call 2 there") ||
              has(why, "is in barrier of this communicator, collective call 2 there"))
      << why;
}

TEST(short_collectives, members_that_meet_with_other_sizes_are_told_so) {
  const std::string why =
      fail([](Member& member) { sum(member, 16); }, [](Member& member) { sum(member, 8); });
  EXPECT_TRUE(has(why, "sent 16 bytes in a collective operation in which this rank expects 8") ||
              has(why, "sent 8 bytes in a collective operation in which this rank expects 16"))
      << why;
}

// Its messages tell those on the board, and those on the board tell it after two seconds.
TEST(short_collectives, a_member_with_more_bytes_than_a_board_has_room_for_is_found) {
  for (const std::size_t bytes : {200, 4000}) {
    const std::string why =
        fail([&](Member& member) { sum(member, bytes); }, [](Member& member) { sum(member, 8); });
    EXPECT_TRUE(has(why, "in which this rank expects 8; use the same counts") ||
                has(why, "with 8 bytes, in which this rank has another number; use the same"))
        << why;
  }
}

TEST(short_collectives, a_member_that_waits_for_messages_of_those_on_a_board_is_told_both_calls) {
  const std::string why = fail(
      [](Member& member) {
        std::array<std::byte, 8> value{};
        run_collective(member.transfer, member.group,
                       {.operation = Operation::broadcast, .root = 0, .bytes = 8}, nullptr,
                       value.data());
      },
      [](Member& member) { member.meet(); });
  EXPECT_TRUE(has(why, "in broadcast with root 0 of this communicator, collective call 2 there"))
      << why;
}

}  // namespace
}  // namespace weft::mpi

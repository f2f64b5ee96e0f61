// SPDX-License-Identifier: Apache-2.0
// One-sided accesses between processes that one thread turns.
#include "mpi/object/message_window.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "mpi/object/random_accesses_for_test.hpp"
#include "mpi/object/world_for_test.hpp"

namespace weft::mpi {
namespace {

using testing::RandomAccesses;
using testing::World;

const Datatype int_type(Basic::int32);

TEST(window, an_access_takes_place_when_its_target_turns) {
  World pair(2);
  std::vector<std::int32_t> memory(8, 1);
  MessageWindow origin(pair[0], pair.group(0), nullptr);
  MessageWindow target(pair[1], pair.group(1), reinterpret_cast<std::byte*>(memory.data()));
  origin.open();
  target.open();
  std::int32_t value = 7, old = 0, now = 0, swapped = 0;
  const Target third{.rank = 1, .offset = 8, .count = 1, .type = &int_type};
  Request fetched, got, swap;
  origin.get_accumulate(third, {&value, 1, &int_type}, {&old, 1, &int_type}, Change::fold,
                        Fold::sum, &fetched);
  value = 100;  // it was copied
  origin.get(third, {&now, 1, &int_type}, &got);
  const std::int32_t expected = 8;
  origin.compare_and_swap(third, &value, &expected, {&swapped, 1, &int_type}, &swap);
  for (int i = 0; i < 50; ++i) pair[0].turn();
  EXPECT_FALSE(fetched.done);
  EXPECT_EQ(memory[2], 1);
  pair.turn();
  ASSERT_TRUE(fetched.done && got.done && swap.done);
  EXPECT_EQ(old, 1);
  EXPECT_EQ(now, 8);
  EXPECT_EQ(swapped, 8);
  EXPECT_EQ(memory[2], 100);
}

TEST(window, an_access_of_its_own_part_takes_place_at_once) {
  World pair(2);
  std::vector<std::int32_t> memory{1, 2, 3, 4};
  MessageWindow window(pair[0], pair.group(0), reinterpret_cast<std::byte*>(memory.data()));
  window.open();
  const Target second{.rank = 0, .offset = 4, .count = 1, .type = &int_type};
  const Datatype with_gap = int_type.resized(0, 8);
  const Target odd{.rank = 0, .offset = 4, .count = 2, .type = &with_gap};
  std::int32_t value = 5, old = 0, swapped = 0, both[2] = {0, 0};
  Request fetched, got, swap;
  window.put(second, {&value, 1, &int_type});
  window.accumulate(second, {&value, 1, &int_type}, Change::fold, Fold::sum);
  EXPECT_EQ(memory, (std::vector<std::int32_t>{1, 10, 3, 4}));
  window.get_accumulate(second, {&value, 1, &int_type}, {&old, 1, &int_type}, Change::replace,
                        Fold::sum, &fetched);
  const std::int32_t expected = 5, wanted = 9;
  window.compare_and_swap(second, &wanted, &expected, {&swapped, 1, &int_type}, &swap);
  window.get(odd, {both, 2, &int_type}, &got);
  EXPECT_TRUE(fetched.done && swap.done && got.done);
  EXPECT_EQ(memory, (std::vector<std::int32_t>{1, 9, 3, 4}));
  EXPECT_EQ(old, 10);
  EXPECT_EQ(swapped, 5);
  EXPECT_EQ(both[0], 9);
  EXPECT_EQ(both[1], 4);
  EXPECT_FALSE(window.expects());
}

/// A lock made of compare_and_swap: the process that has the part polls until another one, whose
/// message it has to serve, gives the lock back.
TEST(window, a_flush_of_its_own_part_serves_others) {
  World pair(2);
  std::vector<std::int32_t> memory{1, 2};
  MessageWindow own(pair[0], pair.group(0), reinterpret_cast<std::byte*>(memory.data()));
  MessageWindow other(pair[1], pair.group(1), nullptr);
  own.open();
  other.open();
  std::int32_t given_back = 7;
  other.put({.rank = 0, .offset = 4, .count = 1, .type = &int_type}, {&given_back, 1, &int_type});
  std::int32_t seen = 0;
  const Target part{.rank = 0, .offset = 4, .count = 1, .type = &int_type};
  for (int i = 0; i < 100 && seen != given_back; ++i) {
    own.compare_and_swap(part, &given_back, &given_back, {&seen, 1, &int_type});
    i % 2 == 0 ? own.flush(0) : own.flush_local(0);
    pair[1].turn();
  }
  EXPECT_EQ(seen, given_back);
}

/// Three processes lock one part, that of process 0. Each process that waits turns process 0.
struct LockedPart {
  LockedPart() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      windows.emplace_back(all[i], all.group(i), reinterpret_cast<std::byte*>(memory.data()));
      windows.back().open();
    }
    for (auto& member : all.members) member->waiter.on_idle = [this] { all[0].turn(); };
  }
  World all{3};
  std::vector<std::int32_t> memory = std::vector<std::int32_t>(8, 1);
  std::deque<MessageWindow> windows;
};

TEST(window, a_reader_goes_before_a_writer_that_readers_keep_out) {
  LockedPart part;
  World& all = part.all;
  std::deque<MessageWindow>& windows = part.windows;
  std::vector<char> order;
  windows[1].lock(0, false);
  all.members[2]->waiter.on_idle = [&] {
    all[0].turn();
    if (!order.empty()) return;  // the writer has asked, and waits
    order.push_back('r');
    windows[0].lock(0, false);
    windows[0].unlock(0);
    order.push_back('u');
    windows[1].unlock(0);
  };
  windows[2].lock(0, true);
  order.push_back('w');
  windows[2].unlock(0);
  EXPECT_EQ(std::string(order.begin(), order.end()), "ruw");
}

TEST(window, a_reader_that_stays_lets_any_number_of_others_go_before_a_writer) {
  constexpr int epochs = 1000;
  LockedPart part;
  World& all = part.all;
  std::deque<MessageWindow>& windows = part.windows;
  int done = 0;
  windows[1].lock(0, false);
  all.members[2]->waiter.on_idle = [&] {
    all[0].turn();
    if (done > 0) return;  // the writer has asked, and waits
    for (; done < epochs; ++done) {
      windows[0].lock(0, false);
      windows[0].unlock(0);
    }
    windows[1].unlock(0);
  };
  windows[2].lock(0, true);
  EXPECT_EQ(done, epochs);
  windows[2].unlock(0);
}

std::unique_ptr<Window> make_by_messages(World& world, std::uint32_t rank,
                                         RandomAccesses::Memory& memory) {
  auto* const base = reinterpret_cast<std::byte*>(memory[rank].data());
  return std::make_unique<MessageWindow>(world[rank], world.group(rank), base);
}

TEST(window, random_accesses_do_what_they_would_do_to_arrays) {
  testing::for_each_seed("window.random*", [](std::uint64_t seed) {
    RandomAccesses(seed, make_by_messages).run(300);
  });
}

TEST(window, an_access_takes_as_long_whatever_is_under_way) {
  constexpr std::uint32_t accesses = 20'000;
  World pair(2);
  std::vector<std::int32_t> memory(8, 3), came(accesses, 0);
  MessageWindow origin(pair[0], pair.group(0), nullptr);
  MessageWindow target(pair[1], pair.group(1), reinterpret_cast<std::byte*>(memory.data()));
  origin.open();
  std::vector<Request> requests(accesses);
  for (std::uint32_t i = 0; i < accesses; ++i) {
    const Target third{.rank = 1, .offset = 8, .count = 1, .type = &int_type};
    origin.get(third, {&came[i], 1, &int_type}, i % 2 == 0 ? &requests[i] : nullptr);
    if (i % 64 == 0) pair.turn(1);
  }
  target.open();
  while (!requests[accesses - 2].done) pair.turn(1);
  EXPECT_EQ(std::count(came.begin(), came.end(), 3), accesses);
  EXPECT_LE(origin.looks() + target.looks(), 5 * accesses);
}

TEST(window, an_access_waits_where_too_much_would_be_under_way) {
  constexpr std::size_t length = (1 << 20) / 4,
                        accesses = MessageWindow::most_coming * 3 / (1 << 20);
  World pair(2);
  pair.members[0]->waiter.on_idle = [&] { pair[1].turn(); };
  std::vector<std::int32_t> memory(length, 3), came(length);
  MessageWindow origin(pair[0], pair.group(0), nullptr);
  MessageWindow target(pair[1], pair.group(1), reinterpret_cast<std::byte*>(memory.data()));
  origin.open();
  target.open();
  std::vector<Request> requests(accesses);
  for (Request& request : requests) {
    const Target all{.rank = 1, .offset = 0, .count = length, .type = &int_type};
    origin.get(all, {came.data(), length, &int_type}, &request);
  }
  const auto done = std::count_if(requests.begin(), requests.end(),
                                  [](const Request& request) { return request.done; });
  EXPECT_GE(static_cast<std::uint64_t>(done), accesses - MessageWindow::most_coming / (1 << 20));
  origin.flush(1);
  EXPECT_TRUE(requests.back().done);
  EXPECT_EQ(came, memory);
}

}  // namespace
}  // namespace weft::mpi

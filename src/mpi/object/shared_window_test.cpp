// SPDX-License-Identifier: Apache-2.0
// Windows in shared memory: threads stand for processes.
#include "mpi/object/shared_window.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "mpi/object/random_accesses_for_test.hpp"
#include "mpi/object/world_for_test.hpp"

namespace weft::mpi {
namespace {

using testing::RandomAccesses;
using testing::World;

const Datatype long_type(Basic::int64);
constexpr std::uint32_t processes = 4;
constexpr std::size_t longs = 8;  // of each part

struct Control {
  explicit Control(std::uint32_t members)
      : bytes(SharedWindow::control_bytes(members)),
        memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), std::free) {
    std::memset(memory.get(), 0, bytes);
  }
  std::size_t bytes;
  std::unique_ptr<std::byte, void (*)(void*)> memory;
};

Target place(std::uint32_t rank, std::size_t index) {
  return {.rank = rank,
          .offset = static_cast<std::int64_t>(index * sizeof(std::int64_t)),
          .count = 1,
          .type = &long_type};
}
Buffer one(std::int64_t& value) {
  return {&value, 1, &long_type};
}

/// Processes that run at the same time, each with its view of one window.
class SharedWindows : public ::testing::Test {
 protected:
  using Program = std::function<void(Window&, std::uint32_t rank)>;

  void run(const Program& program) {
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < processes; ++rank) {
      threads.emplace_back([&, rank] {
        World alone(1);
        const Group group = world_group(processes, NodeId(rank));
        std::vector<std::byte*> parts;
        for (auto& part : parts_) parts.push_back(reinterpret_cast<std::byte*>(part.data()));
        SharedWindow window(alone[0], group, control_.memory.get(), std::move(parts), true);
        program(window, rank);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static std::int64_t get(Window& window, std::uint32_t rank, std::size_t index) {
    std::int64_t value = 0;
    window.get(place(rank, index), one(value));
    window.flush(rank);
    return value;
  }
  static void put(Window& window, std::uint32_t rank, std::size_t index, std::int64_t value) {
    window.put(place(rank, index), one(value));
    window.flush(rank);
  }

  /// A word in part 1 that others look at meanwhile: with a put they would see anything.
  static void tell(Window& window, std::size_t index, std::int64_t value) {
    window.accumulate(place(1, index), one(value), Change::replace, Fold::sum);
    window.flush(1);
  }
  static std::int64_t hear(Window& window, std::size_t index) {
    std::int64_t nothing = 0, value = 0;
    window.get_accumulate(place(1, index), one(nothing), one(value), Change::nothing, Fold::sum);
    window.flush(1);
    return value;
  }

  Control control_{processes};
  std::array<std::array<std::int64_t, longs>, processes> parts_{};
};

TEST_F(SharedWindows, accumulates_are_atomic_and_each_fetch_sees_another_value) {
  constexpr std::int64_t rounds = 2000;
  std::array<std::vector<std::int64_t>, processes> seen;
  run([&](Window& window, std::uint32_t rank) {
    window.lock_all();
    for (std::int64_t i = 0; i < rounds; ++i) {
      std::int64_t add = 1, old = -1;
      window.accumulate(place(1, 2), one(add), Change::fold, Fold::sum);
      window.get_accumulate(place(2, 3), one(add), one(old), Change::fold, Fold::sum);
      window.flush(2);
      seen[rank].push_back(old);
    }
    window.unlock_all();
  });
  EXPECT_EQ(parts_[1][2], rounds * processes);
  std::vector<std::int64_t> all;
  for (const auto& own : seen) {
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<std::int64_t> expected(rounds * processes);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST_F(SharedWindows, swaps_are_atomic) {
  constexpr int rounds = 1000;
  run([&](Window& window, std::uint32_t) {
    for (int i = 0; i < rounds; ++i) {
      std::int64_t expected = 0, found = 0, wanted = 0;
      do {
        expected = found;
        wanted = expected + 1;
        window.compare_and_swap(place(3, 0), &wanted, &expected, one(found));
      } while (found != expected);
    }
  });
  EXPECT_EQ(parts_[3][0], rounds * processes);
}

TEST_F(SharedWindows, an_exclusive_lock_keeps_everybody_else_out) {
  constexpr int rounds = 500;
  run([&](Window& window, std::uint32_t rank) {
    for (int i = 0; i < rounds; ++i) {
      const bool is_reader = (i + rank) % 3 == 0;
      window.lock(0, !is_reader);
      const std::int64_t first = get(window, 0, 0), second = get(window, 0, 7);
      EXPECT_EQ(first, second);
      if (!is_reader) {
        put(window, 0, 0, first + 1);
        std::this_thread::yield();
        put(window, 0, 7, second + 1);
      }
      window.unlock(0);
    }
  });
  int writes = 0;
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    for (int i = 0; i < rounds; ++i) writes += (i + rank) % 3 != 0;
  }
  EXPECT_EQ(parts_[0][0], writes);
}

/// Readers 0 and 1 are in their epochs at the same time, although a writer came between them.
TEST_F(SharedWindows, readers_meet_while_a_writer_waits) {
  run([&](Window& window, std::uint32_t rank) {
    for (std::int64_t round = 1; round <= 3; ++round) {
      const std::size_t first = 0, asks = 1, second = 2, writes = 3;  // places in part 1
      const auto wait_for = [&](std::size_t index) {
        while (hear(window, index) < round) std::this_thread::yield();
      };
      if (rank == 0) {
        window.lock(0, false);
        tell(window, first, round);
        wait_for(second);
        EXPECT_EQ(get(window, 0, 0), round - 1);
        window.unlock(0);
      } else if (rank == 1) {
        wait_for(asks);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        window.lock(0, false);
        tell(window, second, round);
        window.unlock(0);
      } else if (rank == 2) {
        wait_for(first);
        tell(window, asks, round);
        window.lock(0, true);
        put(window, 0, 0, round);
        window.unlock(0);
        tell(window, writes, round);
      }
      wait_for(writes);
    }
  });
  EXPECT_EQ(parts_[0][0], 3);
}

/// Not each of them waits twice as long as the one before.
TEST_F(SharedWindows, a_reader_that_stays_lets_any_number_of_others_go_before_a_writer) {
  constexpr int epochs = 100;
  run([&](Window& window, std::uint32_t rank) {
    const std::size_t held = 0, done = 1;  // places in part 1
    if (rank == 0) {
      window.lock(0, false);
      tell(window, held, 1);
      while (hear(window, done) < epochs) std::this_thread::yield();
      window.unlock(0);
    } else if (rank < 3) {
      while (hear(window, held) == 0) std::this_thread::yield();
    }
    if (rank == 1) {
      for (std::int64_t i = 1; i <= epochs; ++i) {
        window.lock(0, false);
        EXPECT_EQ(get(window, 0, 0), 0);
        window.unlock(0);
        tell(window, done, i);
      }
    } else if (rank == 2) {
      window.lock(0, true);
      put(window, 0, 0, 1);
      window.unlock(0);
    }
  });
  EXPECT_EQ(parts_[0][0], 1);
}

/// Readers that always overlap do not keep a writer out for ever.
TEST_F(SharedWindows, a_writer_gets_the_lock_that_readers_hand_on) {
  run([&](Window& window, std::uint32_t rank) {
    if (rank == 0) {
      window.lock(0, true);
      tell(window, 0, 1);
      window.unlock(0);
      return;
    }
    while (hear(window, 0) == 0) {
      window.lock(0, false);
      std::this_thread::sleep_for(std::chrono::milliseconds(10 * rank));
      window.unlock(0);
    }
  });
}

TEST_F(SharedWindows, a_fence_ends_all_accesses_before_it) {
  run([&](Window& window, std::uint32_t rank) {
    for (std::int64_t round = 1; round <= 500; ++round) {
      window.put(place((rank + 1) % processes, 1), one(round));
      window.fence();
      EXPECT_EQ(get(window, rank, 1), round);
      window.fence();
    }
  });
}

TEST_F(SharedWindows, an_epoch_of_origins_begins_when_targets_expose_and_ends_when_all_complete) {
  run([&](Window& window, std::uint32_t rank) {
    const std::vector<std::uint32_t> before{(rank + processes - 1) % processes};
    const std::vector<std::uint32_t> after{(rank + 1) % processes};
    for (std::int64_t round = 1; round <= 500; ++round) {
      window.post(before);
      window.start(after);
      window.put(place(after[0], 4), one(round));
      window.complete();
      if (round % 2 == 0) {
        while (!window.is_completed()) std::this_thread::yield();
      } else {
        window.wait();
      }
      EXPECT_EQ(get(window, rank, 4), round);
    }
  });
}

/// Over the memory of all, which lies in one process.
std::unique_ptr<Window> make_shared_window(World& world, std::uint32_t rank,
                                           RandomAccesses::Memory& memory, std::byte* control) {
  std::vector<std::byte*> parts;
  for (auto& part : memory) parts.push_back(reinterpret_cast<std::byte*>(part.data()));
  return std::make_unique<SharedWindow>(world[rank], world.group(rank), control, parts, true);
}

TEST(shared_window, random_accesses_do_what_they_would_do_to_arrays) {
  testing::for_each_seed("shared*random*", [](std::uint64_t seed) {
    const Control control(RandomAccesses::processes);
    RandomAccesses(seed, [&](World& world, std::uint32_t rank, RandomAccesses::Memory& memory) {
      return make_shared_window(world, rank, memory, control.memory.get());
    }).run(300);
  });
}

TEST(shared_window, elements_that_are_not_aligned_are_folded) {
  World world(1);
  const Control control(1);
  alignas(8) std::array<std::byte, 32> memory{};
  SharedWindow window(world[0], world.group(0), control.memory.get(), {memory.data()}, false);
  std::int64_t value = 40, now = 0;
  const Target odd{.rank = 0, .offset = 3, .count = 1, .type = &long_type};
  window.put(odd, one(value));
  value = 2;
  window.accumulate(odd, one(value), Change::fold, Fold::sum);
  window.get(odd, one(now));
  EXPECT_EQ(now, 42);
}

}  // namespace
}  // namespace weft::mpi

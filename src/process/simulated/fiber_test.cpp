// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/fiber.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr ByteCount stack = ByteCount::kib(256);

TEST(fiber, runs_until_it_suspends_and_goes_on_there) {
  std::string said;
  Fiber* self = nullptr;
  Fiber fiber(stack, [&] {
    said += "a";
    self->suspend();
    said += "b";
  });
  self = &fiber;
  EXPECT_EQ(said, "");
  fiber.resume();
  EXPECT_EQ(said, "a");
  EXPECT_FALSE(fiber.ended());
  fiber.resume();
  EXPECT_EQ(said, "ab");
  EXPECT_TRUE(fiber.ended());
}

struct Counter {
  explicit Counter(int& n) : n_(n) { ++n_; }
  ~Counter() { --n_; }
  int& n_;
};

TEST(fiber, destroys_what_is_on_its_stack_when_it_is_ended_early) {
  int alive = 0;
  bool went_on = false;
  {
    Fiber* self = nullptr;
    Fiber fiber(stack, [&] {
      const Counter counter(alive);
      self->suspend();
      went_on = true;
    });
    self = &fiber;
    fiber.resume();
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(went_on);
}

TEST(fiber, does_not_begin_when_it_is_ended_before) {
  bool begun = false;
  {
    Fiber fiber(stack, [&] { begun = true; });
  }
  EXPECT_FALSE(begun);
}

/// Suspends itself in a destructor, as one that waits for its operations does.
struct Waits {
  Fiber*& fiber;
  ~Waits() { fiber->suspend(); }
};

TEST(fiber, unwinds_past_destructors_that_suspend_it) {
  int alive = 0;
  Fiber* self = nullptr;
  Fiber fiber(stack, [&] {
    const Counter counter(alive);
    const Waits waits{self};
    self->suspend();
  });
  self = &fiber;
  fiber.resume();
  fiber.unwind();
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(alive, 0);
}

TEST(fiber, unwinds_what_catches_everything_once) {
  int caught = 0;
  Fiber* self = nullptr;
  Fiber fiber(stack, [&] {
    try {
      self->suspend();
    } catch (...) {
      ++caught;
    }
    self->suspend();
  });
  self = &fiber;
  fiber.resume();
  fiber.unwind();
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(caught, 1);
}

// The C++ runtime counts exceptions per thread.
TEST(fiber, keeps_exceptions_under_way_apart_from_those_of_others) {
  std::array<std::unique_ptr<Fiber>, 2> fibers;
  std::vector<std::string> said;
  for (int i = 0; i < 2; ++i) {
    fibers[i] = std::make_unique<Fiber>(stack, [&, i] {
      try {
        throw std::runtime_error("of fiber " + std::to_string(i));
      } catch (const std::exception&) {
        fibers[i]->suspend();
        try {
          throw;
        } catch (const std::exception& again) {
          said.emplace_back(again.what());
        }
      }
    });
    fibers[i]->resume();
    EXPECT_EQ(std::current_exception(), nullptr);
  }
  for (auto& fiber : fibers) fiber->resume();
  EXPECT_EQ(said, (std::vector<std::string>{"of fiber 0", "of fiber 1"}));
}

int deep(volatile char* above, int levels) {
  volatile char here[4096];
  here[0] = *above;
  return levels == 0 ? here[0] : deep(here, levels - 1) + here[0];
}

TEST(fiber_death, overflow_of_the_stack_ends_the_process) {
  Fiber fiber(ByteCount::kib(64), [] {
    volatile char begin = 0;
    deep(&begin, 1000);
  });
  EXPECT_DEATH(fiber.resume(), "");
}

}  // namespace
}  // namespace weft

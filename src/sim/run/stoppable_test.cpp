// SPDX-License-Identifier: Apache-2.0
#include "sim/run/stoppable.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "sim/partition/thread_exchange.hpp"

namespace weft::sim {
namespace {

constexpr PicoInstant at_us(std::int64_t us) {
  return PicoInstant() + PicoDuration::microseconds(us);
}

Scenario busy() {
  Scenario s;
  s.topology = "fat-tree:32";
  s.traffic = {{.load = 0.5, .end = at_us(300)}};
  return s;
}

/// The parts' hashes and events, added up, and whether all came to the end.
struct Outcome {
  std::atomic<std::uint64_t> hash = 0;
  std::atomic<std::uint64_t> events = 0;
  std::atomic<int> ended = 0;
  std::atomic<std::int64_t> latest_ps = 0;
};

void run_part(Exchange& exchange, const WantsEnd& wants_end, PicoInstant end, Outcome& outcome) {
  auto world = World::make(busy(), &exchange);
  ASSERT_TRUE(world.ok());
  StoppableRun run(**world, exchange, wants_end);
  if (run.run_until(at_us(7)) && run.run_until(end)) ++outcome.ended;
  outcome.hash += (*world)->engine().trace_hash();
  outcome.events += (*world)->engine().events();
  outcome.latest_ps = (*world)->engine().now().ticks();
}

void run_parts(std::uint32_t parts, const WantsEnd& wants_end, Outcome& outcome) {
  run_in_threads(parts, [&](Exchange& exchange) {
    run_part(exchange, wants_end, PicoInstant::never(), outcome);
  });
}

TEST(stoppable_run, does_the_same_whether_it_asks_or_not_in_any_number_of_parts) {
  Outcome plain;
  run_parts(1, {}, plain);
  EXPECT_EQ(plain.ended, 1);
  for (const std::uint32_t parts : {1u, 3u}) {
    std::atomic<int> questions = 0;
    Outcome asked;
    run_parts(
        parts, [&] { return ++questions < 0; }, asked);
    EXPECT_EQ(asked.ended, static_cast<int>(parts));
    EXPECT_EQ(asked.hash, plain.hash) << parts;
    EXPECT_EQ(asked.events, plain.events) << parts;
    EXPECT_GT(questions, 3) << parts;
    EXPECT_LT(questions, 100) << parts;
  }
}

TEST(stoppable_run, ends_in_all_parts_when_somebody_wants_it) {
  for (const std::uint32_t parts : {1u, 3u}) {
    std::atomic<int> questions = 0;
    Outcome outcome;
    run_parts(
        parts, [&] { return ++questions >= 3; }, outcome);
    EXPECT_EQ(outcome.ended, 0) << parts;
    EXPECT_GT(outcome.latest_ps, 0) << parts;
    EXPECT_LT(outcome.latest_ps, at_us(300).ticks()) << parts;
  }
}

}  // namespace
}  // namespace weft::sim

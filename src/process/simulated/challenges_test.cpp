// SPDX-License-Identifier: Apache-2.0
// The challenges of paper 4 (4.2), each by its section, with the message layer of whole processes;
// src/core/message/machine_test.cpp has those that need the machine alone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "process/simulated/simulated_program.hpp"
#include "weft/spmd.hpp"

namespace weft {
namespace {

sim::Scenario star() {
  sim::Scenario scenario;
  scenario.topology = "star:65";
  return scenario;
}

JobDescription job_of(std::uint32_t processes, ByteCount inbox) {
  return {.nodes = processes,
          .nodes_here = processes,
          .incarnation = Incarnation(1),
          .timeout = Duration::seconds(10),
          .inbox = inbox};
}

Result<SimulatedOutcome> simulate(const JobDescription& job, const Program& program) {
  return simulate_lives(star(), job, linked_lives(program, {}), [](const std::string&) {});
}

/// x ↦ a·x + b, modulo 2^64: composing them is associative, and does not commute.
struct Affine {
  std::uint64_t a = 1;
  std::uint64_t b = 0;
  bool operator==(const Affine&) const = default;
};

Affine compose(const Affine& left, const Affine& right) {
  return {left.a * right.a, left.a * right.b + left.b};
}

Affine contribution(std::uint32_t rank, std::int64_t element) {
  return {2 * rank + 3, rank * rank + static_cast<std::uint64_t>(element)};
}

// All contributions together are far larger than the inbox, and the one that is needed first comes
// last.
TEST(challenges, section_4_2_1_a_reduction_that_does_not_commute_takes_what_comes_in_reverse) {
  for (const std::int64_t elements : {1, 200, 5'000}) {
    SCOPED_TRACE(std::to_string(elements) + " elements");
    constexpr std::uint32_t ranks = 16;
    std::vector<Duration> contributed(ranks);
    std::vector<Affine> reduced;
    const Program program = [&](Process& process, std::span<const std::string>) {
      const spmd::Group group(process.world());
      const std::uint32_t self = process.world().rank().value();
      const spmd::Space space(elements);
      spmd::Container<Affine> data(group, space);
      if (!data.switch_to(spmd::all(space, ranks), spmd::Flow::none).ok()) return 1;
      data.view().for_each(
          [self](spmd::Index at, Affine& value) { value = contribution(self, at.x()); });
      process.compute(Duration::milliseconds(1) * (ranks - self));
      contributed[self] = process.elapsed();
      const auto composition =
          spmd::Reduction<Affine>::of(Affine{}, compose, spmd::Grouping::left_to_right);
      if (!data.reduce(spmd::master(space, ranks), composition).ok()) return 1;
      if (self == 0) reduced.assign(data.values().begin(), data.values().end());
      return 0;
    };
    const auto outcome = simulate(job_of(ranks, ByteCount::kib(16)), program);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    ASSERT_EQ(outcome->code, 0);
    for (std::uint32_t n = 1; n < ranks; ++n) EXPECT_LT(contributed[n], contributed[n - 1]);
    ASSERT_EQ(reduced.size(), static_cast<std::size_t>(elements));
    for (std::int64_t i = 0; i < elements; ++i) {
      Affine expected;
      for (std::uint32_t n = 0; n < ranks; ++n) expected = compose(expected, contribution(n, i));
      ASSERT_EQ(reduced[static_cast<std::size_t>(i)], expected) << "element " << i;
    }
  }
}

// Everybody has sent everything before the first message is wanted, and those of the last come
// first.
TEST(challenges, section_4_2_1_a_flood_of_64_eager_senders_is_taken_as_it_is_wanted) {
  constexpr std::uint32_t senders = 64, messages = 50;
  std::uint32_t right = 0;
  const Program program = [&](Process& process, std::span<const std::string>) {
    Communicator& world = process.world();
    const std::uint32_t self = world.rank().value();
    std::vector<std::uint64_t> value(128);
    if (self > 0) {
      for (std::uint32_t m = 0; m < messages; ++m) {
        value.front() = value.back() = self * messages + m;
        const auto sends = world.start_send(Rank(0), Tag(1), std::as_bytes(std::span(value)));
        if (!world.wait(sends).ok()) return 1;
      }
      return 0;
    }
    process.compute(Duration::milliseconds(5));
    for (std::uint32_t m = 0; m < messages; ++m) {
      for (std::uint32_t from = senders; from > 0; --from) {
        const auto receives =
            world.start_receive(Rank(from), Tag(1), std::as_writable_bytes(std::span(value)));
        if (!world.wait(receives).ok()) return 1;
        right += value.front() == from * messages + m && value.back() == value.front() ? 1 : 0;
      }
    }
    return 0;
  };
  const auto outcome = simulate(job_of(senders + 1, ByteCount::kib(64)), program);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->code, 0);
  EXPECT_EQ(right, senders * messages);
}

}  // namespace
}  // namespace weft

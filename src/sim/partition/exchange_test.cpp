// SPDX-License-Identifier: Apache-2.0
#include "sim/partition/exchange.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sim/partition/thread_exchange.hpp"

namespace weft::sim {
namespace {

/// The errors of each rank when ranks have these troubles and digests.
std::vector<std::string> hear(const std::vector<std::string>& troubles,
                              const std::vector<std::uint64_t>& digests) {
  std::vector<std::string> heard(troubles.size());
  run_in_threads(static_cast<std::uint32_t>(troubles.size()), [&](Exchange& exchange) {
    const std::uint32_t self = exchange.rank();
    Result<void> good;
    if (!troubles[self].empty()) good = Error{ErrorCode::corrupt, troubles[self]};
    const auto agreed = agree(exchange, good, digests[self], "the file");
    if (agreed) return;
    EXPECT_EQ(agreed.error().code,
              good.ok() && troubles[0].empty() && troubles[1].empty() && troubles[2].empty()
                  ? ErrorCode::invalid_argument
                  : ErrorCode::corrupt);
    heard[self] = agreed.error().message;
  });
  return heard;
}

TEST(threads, of_which_some_do_not_start_run_nothing) {
  pthread_attr_t before, large;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(::pthread_attr_init(&large), 0);
  // The first of them fits into the address space.
  ASSERT_EQ(::pthread_attr_setstacksize(&large, std::size_t{3} << 45), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&large), 0);
  std::atomic<int> bodies = 0;
  EXPECT_THROW(run_in_threads(2, [&](Exchange&) { ++bodies; }), std::system_error);
  EXPECT_EQ(::pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(bodies, 0);
}

TEST(agreement, is_silent_when_all_are_well_and_have_the_same) {
  for (const auto& text : hear({"", "", ""}, {9, 9, 9})) EXPECT_EQ(text, "");
}

TEST(agreement, all_hear_the_lowest_ranks_trouble) {
  for (const auto& text : hear({"", "no file", "no disk"}, {1, 1, 1})) {
    EXPECT_EQ(text, "process 1: no file");
  }
  for (const auto& text : hear({"no file", "", "no disk"}, {1, 1, 1})) EXPECT_EQ(text, "no file");
}

TEST(agreement, all_hear_that_one_has_something_else) {
  for (const auto& text : hear({"", "", ""}, {9, 9, 11})) {
    EXPECT_NE(text.find("the file must be the same"), std::string::npos) << text;
  }
}

TEST(exchange, finds_the_greatest_and_leaves_one_alone) {
  run_in_threads(3, [](Exchange& exchange) {
    EXPECT_EQ(greatest(exchange, -5 + std::int64_t{exchange.rank()}), -3);
    EXPECT_EQ(others(exchange).size(), 2u);
  });
  AloneExchange alone;
  EXPECT_EQ(greatest(alone, 7), 7);
  EXPECT_TRUE(others(alone).empty());
  EXPECT_TRUE(agree(alone, {}, 1, "it").ok());
  EXPECT_FALSE(agree(alone, Error{ErrorCode::io, "no"}, 1, "it").ok());
}

/// Each rank's batches name their sender, receiver and turn; more ranks than cores have to sleep.
TEST(exchange, of_threads_keeps_its_turns_apart_however_they_wait) {
  for (const std::uint32_t ranks : {2U, 3U, 2 * std::thread::hardware_concurrency() + 1}) {
    run_in_threads(ranks, [ranks](Exchange& exchange) {
      const std::uint32_t self = exchange.rank();
      const auto batch = [](std::uint64_t from, std::uint64_t to, std::uint64_t turn) {
        return Batch{std::byte(from), std::byte(to), std::byte(turn)};
      };
      const std::vector<std::uint32_t> neighbours = others(exchange);
      std::vector<Batch> outgoing(ranks), incoming(ranks);
      std::uint64_t work = self;
      for (std::uint32_t turn = 0; turn < 500; ++turn) {
        // Ranks arrive at different times.
        for (std::uint32_t i = 0; i < (self + turn) % 7 * 1000; ++i) work = work * 5 + i;
        for (const std::uint32_t r : neighbours) outgoing[r] = batch(self, r, turn);
        const std::int64_t least =
            exchange.turn(neighbours, outgoing, incoming, std::int64_t{turn} * ranks + self);
        ASSERT_EQ(least, std::int64_t{turn} * ranks);
        for (const std::uint32_t r : neighbours) ASSERT_EQ(incoming[r], batch(r, self, turn));
        std::array<std::uint64_t, 2> values = {1, turn};
        exchange.sum(values);
        ASSERT_EQ(values, (std::array<std::uint64_t, 2>{ranks, std::uint64_t{turn} * ranks}));
      }
      EXPECT_NE(work, 1U);  // else the compiler may leave the work out
    });
  }
}

}  // namespace
}  // namespace weft::sim

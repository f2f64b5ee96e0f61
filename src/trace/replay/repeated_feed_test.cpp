// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/repeated_feed.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/run/world.hpp"
#include "sim/workload/ranks.hpp"
#include "trace/replay/star_for_test.hpp"

namespace weft::trace {
namespace {

using sim::Action;

std::shared_ptr<Trace> goal(const std::string& text) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("weft-repeated-" + std::to_string(getpid()));
  std::ofstream(path) << text;
  auto trace = open_trace(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ((*trace)->examine()->problem, "");
  return std::move(trace).value();
}

/// Iterations of all ranks after so long on a star.
std::vector<std::uint64_t> iterations(const Traces& traces, PicoDuration time) {
  auto world = sim::World::make(star_for_test(4));
  EXPECT_TRUE(world.ok());
  RepeatedFeed feed(traces, 1, 1);
  sim::Ranks ranks(feed, {}, {0, 1}, (*world)->network(), (*world)->agents());
  (*world)->run_until(PicoInstant() + time);
  EXPECT_EQ(ranks.error(), "");
  EXPECT_TRUE(feed.state().ok());
  return {ranks.iterations(0), ranks.iterations(1)};
}

TEST(repeated_feed, begins_anew_when_its_trace_is_over_and_counts_that) {
  const Traces ping{
      goal("num_ranks 2\n"
           "rank 0 { c: calc 1000\n s: send 100b to 1\n s requires c\n"
           "r: recv 100b from 1\n r requires s }\n"
           "rank 1 { r: recv 100b from 0\n s: send 100b to 0\n s requires r }\n")};
  // By hand: 1,000 ns of computation and two ways of 384 ns.
  ASSERT_EQ(way_ns(100), 384);
  EXPECT_EQ(iterations(ping, PicoDuration::nanoseconds(10 * 1768 + 1)),
            (std::vector<std::uint64_t>{10, 10}));
}

TEST(repeated_feed, does_not_let_a_rank_run_away_or_stand_in_time) {
  // The first does nothing at all, the second computes.
  const Traces uneven{goal("num_ranks 2\nrank 0 { }\nrank 1 { c: calc 1000 }\n")};
  const auto done = iterations(uneven, PicoDuration::microseconds(50));
  EXPECT_NEAR(static_cast<double>(done[1]), 50, 1);
  EXPECT_LE(done[0], done[1] + 65);
  const Traces nothing{goal("num_ranks 2\nrank 0 { }\nrank 1 { }\n")};
  EXPECT_NEAR(static_cast<double>(iterations(nothing, PicoDuration::microseconds(50))[0]), 50, 1);
}

TEST(repeated_feed, of_a_rank_that_waits_for_ever_is_stuck_though_others_are_ahead_of_it) {
  auto world = sim::World::make(star_for_test(4));
  ASSERT_TRUE(world.ok());
  // Long messages: each of the first two ranks waits for the other before it receives.
  const Traces crossed{
      goal("num_ranks 3\n"
           "rank 0 { s: send 100000b to 1\n r: recv 100000b from 1\n r requires s }\n"
           "rank 1 { s: send 100000b to 0\n r: recv 100000b from 0\n r requires s }\n"
           "rank 2 { c: calc 1000 }\n")};
  RepeatedFeed feed(crossed, 1, 1);
  sim::Ranks ranks(feed, {}, {0, 1, 2}, (*world)->network(), (*world)->agents());
  (*world)->run_until(PicoInstant() + PicoDuration::microseconds(50));
  EXPECT_FALSE(ranks.stuck());  // the third one computes
  (*world)->run_until(PicoInstant() + PicoDuration::microseconds(100));
  EXPECT_TRUE(ranks.stuck());
}

TEST(repeated_feed, draws_the_same_trace_for_all_ranks_and_each_of_them_now_and_then) {
  // Sends and receives would not fit each other if ranks drew differently.
  const Traces two{
      goal("num_ranks 2\nrank 0 { s: send 100b to 1 }\nrank 1 { r: recv 100b from 0 }\n"),
      goal("num_ranks 2\nrank 0 { r: recv 300b from 1 }\nrank 1 { s: send 300b to 0 }\n")};
  RepeatedFeed feed(two, 1, 3);
  std::set<std::uint64_t> sizes;
  for (int i = 0; i < 60; ++i) {
    Action first, second;
    do first = feed.next(0);
    while (first.bytes == 0);
    do second = feed.next(1);
    while (second.bytes == 0);
    EXPECT_EQ(first.bytes, second.bytes);
    EXPECT_EQ(first.match, second.match);
    EXPECT_NE(first.kind, second.kind);
    sizes.insert(first.bytes);
    feed.on_completed(0, first.request);
    feed.on_completed(1, second.request);
  }
  EXPECT_EQ(sizes, (std::set<std::uint64_t>{100, 300}));
}

}  // namespace
}  // namespace weft::trace

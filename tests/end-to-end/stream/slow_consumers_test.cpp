// SPDX-License-Identifier: Apache-2.0
// Sinks that are slower than the sources: back-pressure, or a counted drop, never memory growth.
#include <gtest/gtest.h>
#include <signal.h>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

// 3 rings of 1 MiB per compute node, 2 in each input node, and the program itself. The stream
// carries several times as much in these tests.
constexpr long bounded_kib = memory_factor * (128L << 10);

TEST(slow_consumer, holds_the_stream_back_and_loses_nothing) {
  const Ended ended =
      run_weft({"stream", "local", "--inputs", "3", "--computes", "2", "--source",
                "pattern:?size=256KiB&fill=full", "--sink", "check:", "--sink", "exec:sleep 0.02",
                "--sink-depth", "4", "--timeslices", "400", "--no-limit", "--json"});
  expect_all_complete(ended);
  EXPECT_LT(ended.largest_kib, bounded_kib) << ended.describe();
  EXPECT_GT(ended.json().value("credit_waits", 0), 0) << ended.describe();
}

TEST(slow_consumer, makes_drops_that_are_counted_when_asked_to_skip) {
  const Ended ended = run_weft({"stream", "local", "--inputs", "3", "--computes", "2", "--sink",
                                "check:", "--sink", "exec:sleep 0.05", "--sink-depth", "2",
                                "--skip-when-slow", "--duration", "2s", "--no-limit", "--json"});
  expect_good_end(ended);
  const Figures f = figures_of(ended);
  EXPECT_GT(f.dropped, 0u) << ended.describe();
  EXPECT_EQ(f.lost, 0u) << ended.describe();
  EXPECT_EQ(f.errors, 0u) << ended.describe();
  EXPECT_LT(ended.largest_kib, bounded_kib) << ended.describe();
}

TEST(slow_consumer, is_waited_for_at_the_end_of_the_stream) {
  ScratchDirectory directory;
  const std::string seen = directory / "seen";
  const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                                "exec:sh -c 'sleep 0.05; echo x >> " + seen + "'", "--timeslices",
                                "40", "--no-limit", "--json"});
  expect_all_complete(ended);
  const std::string lines = read_file(seen);
  EXPECT_EQ(static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n')),
            figures_of(ended).complete)
      << ended.describe();
}

TEST(slow_consumer, that_fails_makes_the_run_fail) {
  const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                                "exec:false", "--timeslices", "4", "--no-limit", "--json"});
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 1) << ended.describe();
  EXPECT_GT(figures_of(ended).errors, 0u) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
}

TEST(interrupt, ends_the_stream_in_agreement) {
  ScratchDirectory directory;
  const std::string started = directory / "started";
  WeftProcess process({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                       "check:", "--sink", "exec:sh -c 'echo has begun >&2'", "--source",
                       "pattern:?size=1KiB&rate=50Hz", "--duration", "60s", "--no-limit",
                       "--json"});
  ASSERT_TRUE(process.says("has begun"));
  process.signal(SIGINT);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended.describe();
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  const Figures f = figures_of(ended);
  EXPECT_TRUE(f.valid) << ended.describe();
  EXPECT_EQ(f.complete, f.sent) << ended.describe();
  EXPECT_EQ(f.lost, 0u) << ended.describe();
}

TEST(interrupt, leaves_no_process_behind_when_weft_is_killed) {
  WeftProcess process({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                       "exec:sh -c 'echo has begun >&2'", "--source",
                       "pattern:?size=1KiB&rate=50Hz", "--duration", "60s", "--no-limit"});
  ASSERT_TRUE(process.says("has begun"));
  process.signal(SIGKILL);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
}

}  // namespace
}  // namespace weft::e2e

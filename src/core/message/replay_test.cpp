// SPDX-License-Identifier: Apache-2.0
// Processes that die and come back, and connections that break: every process receives the same as
// without faults.
#include <gtest/gtest.h>

#include "core/message/job_for_test.hpp"

namespace weft::message::testing {
namespace {

/// The line that runs one seed again.
std::string again(std::string_view test, std::uint64_t seed) {
  return fmt::format("WEFT_SEED={} core_message_test --gtest_filter={}", seed, test);
}

std::pair<std::uint64_t, std::uint64_t> seeds(std::uint64_t count) {
  const char* one = std::getenv("WEFT_SEED");
  if (one == nullptr) return {1, count};
  return {std::strtoull(one, nullptr, 10), std::strtoull(one, nullptr, 10)};
}

std::vector<std::uint64_t> hashes(const Job& job, std::uint32_t processes) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t i = 0; i < processes; ++i) all.push_back(job.hash(i));
  return all;
}

JobOptions drawn_options(Rng& rng, std::uint64_t seed) {
  return {.processes = 2 + static_cast<std::uint32_t>(rng.below(5)),
          .seed = seed,
          .eager_limit = std::size_t{1} << rng.below(11),
          .inbox = ByteCount(1 << (10 + rng.below(8))),
          .outstanding = 16 + rng.below(12),
          .write_window = seed % 3 == 0 ? 900 : std::numeric_limits<std::size_t>::max(),
          .listens = seed % 2 == 0};
}

TEST(replay, processes_that_exchange_anything_receive_it_and_leave_together) {
  const auto [first, last] = seeds(200);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Rng rng(seed);
    const JobOptions options = drawn_options(rng, seed);
    Job job(options, draw_programs(rng.split(1), options.processes, 300, 3000, 6));
    ASSERT_TRUE(job.run()) << job.trouble() << again("replay.processes_that*", seed);
    ASSERT_EQ(job.trouble(), "") << again("replay.processes_that*", seed);
    ASSERT_TRUE(job.failures().empty()) << again("replay.processes_that*", seed);
  }
}

TEST(replay, broken_connections_lose_and_repeat_nothing) {
  const auto [first, last] = seeds(300);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Rng rng(seed);
    const JobOptions options = drawn_options(rng, seed);
    Job job(options, draw_programs(rng.split(1), options.processes, 200, 3000, 6));
    for (int i = 0; i < 400; ++i) {
      job.step();
      if (rng.below(20) != 0 || job.decided()) continue;
      job.break_connection(static_cast<std::uint32_t>(rng.below(options.processes)),
                           static_cast<std::uint32_t>(rng.below(options.processes)));
    }
    ASSERT_TRUE(job.run()) << job.trouble() << again("replay.broken*", seed);
    ASSERT_EQ(job.trouble(), "") << again("replay.broken*", seed);
    ASSERT_TRUE(job.failures().empty()) << again("replay.broken*", seed);
  }
}

TEST(replay, killed_processes_begin_anew_and_all_receive_what_they_would_have) {
  const auto [first, last] = seeds(500);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Rng rng(seed);
    JobOptions options = drawn_options(rng, seed);
    options.retain = true;
    const auto programs = draw_programs(rng.split(1), options.processes, 200, 3000, 6);
    Job calm(options, programs);
    ASSERT_TRUE(calm.run()) << calm.trouble() << again("replay.killed*", seed);
    Job job(options, programs);
    std::vector<int> returns(options.processes, -1);
    for (int i = 0; i < 1000; ++i) {
      job.step();
      for (std::uint32_t p = 0; p < options.processes; ++p) {
        if (returns[p] == i) job.restart(p);
      }
      if (job.decided()) continue;
      if (rng.below(60) == 0) {
        const auto p = static_cast<std::uint32_t>(rng.below(options.processes));
        if (job.alive(p)) {
          job.kill(p);
          returns[p] = i + 1 + static_cast<int>(rng.below(50));
        }
      }
      if (rng.below(80) == 0) {
        job.break_connection(static_cast<std::uint32_t>(rng.below(options.processes)),
                             static_cast<std::uint32_t>(rng.below(options.processes)));
      }
    }
    for (std::uint32_t p = 0; p < options.processes; ++p) {
      if (!job.alive(p)) job.restart(p);
    }
    ASSERT_TRUE(job.run()) << job.trouble() << again("replay.killed*", seed);
    ASSERT_EQ(job.trouble(), "") << again("replay.killed*", seed);
    ASSERT_TRUE(job.failures().empty()) << again("replay.killed*", seed);
    ASSERT_EQ(hashes(job, options.processes), hashes(calm, options.processes))
        << again("replay.killed*", seed);
  }
}

}  // namespace
}  // namespace weft::message::testing

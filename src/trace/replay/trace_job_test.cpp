// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/trace_job.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/job/job_driver.hpp"
#include "trace/replay/star_for_test.hpp"

namespace weft::trace {
namespace {

TEST(trace_job, takes_as_long_beside_nobody_as_its_replay_and_longer_on_shared_links) {
  const std::string path = std::filesystem::temp_directory_path() / "weft-trace-job-test.goal";
  std::ofstream(path) << "num_ranks 2\n"
                         "rank 0 { a: calc 1000\n b: send 40000b to 1\n b requires a }\n"
                         "rank 1 { a: recv 40000b from 0 }\n";
  const auto trace = open_trace(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  std::filesystem::remove(path);
  const auto replayed = replay_trace(**trace, 1, {.scenario = star_for_test(4)});
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;

  const auto elapsed = [&](std::size_t jobs) {
    auto world = sim::World::make(star_for_test(4));
    EXPECT_TRUE(world.ok());
    sim::AloneExchange alone;
    sim::JobDriver driver(**world, alone, {});
    std::vector<std::unique_ptr<TraceJob>> all;
    for (std::size_t j = 0; j < jobs; ++j) {
      // From hosts of their own to one that they share.
      const std::vector<std::uint32_t> hosts{static_cast<std::uint32_t>(j), 3};
      auto feed = (*trace)->feed(1);
      EXPECT_TRUE(feed.ok());
      all.push_back(std::make_unique<TraceJob>(**world, **trace, std::move(feed).value(),
                                               sim::RanksJobOptions{.name = "job"}, hosts));
      driver.add(*all.back());
    }
    EXPECT_TRUE(driver.run().ok());
    EXPECT_TRUE(all.front()->figures().ended);
    return all.front()->figures().elapsed_s;
  };
  EXPECT_NEAR(elapsed(1), replayed->predicted_s, 1e-9);
  EXPECT_GT(elapsed(2), 1.5 * replayed->predicted_s);
}

}  // namespace
}  // namespace weft::trace

// SPDX-License-Identifier: Apache-2.0
#include "process/job_link.hpp"

#include <gtest/gtest.h>

#include "fabric/loopback/loopback.hpp"

namespace weft {
namespace {

TEST(job_link, progress_and_levels_are_read_as_they_were_written) {
  const JobProgress progress{.iterations = 7,
                             .waited = Duration::microseconds(30),
                             .elapsed = Duration::milliseconds(200)};
  const auto read = read_job_progress(to_text(progress));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->iterations, 7U);
  EXPECT_EQ(read->waited, progress.waited);
  EXPECT_EQ(read->elapsed, progress.elapsed);
  const ProcessLevels levels = {std::nullopt, 0, 15};
  EXPECT_EQ(read_process_levels(to_text(levels), 3).value(), levels);
}

TEST(job_link, refuses_levels_that_no_fabric_has_and_those_of_another_job) {
  for (const char* text : {"1 2", "1 2 3 4", "1 16 2", "1 x 2", "1 -1 2", ""}) {
    EXPECT_EQ(read_process_levels(text, 3).error().code, ErrorCode::corrupt) << text;
  }
  for (const char* text : {"", "1", "1 2", "1 2 3 4", "1 -2 3", "x 2 3"}) {
    EXPECT_EQ(read_job_progress(text).error().code, ErrorCode::corrupt) << text;
  }
}

TEST(job_link, a_process_hears_of_the_levels_that_its_launcher_sets) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends.ok());
  Channel launcher = std::move(ends->first);
  JobLink link(std::move(ends->second));
  ProcessLevels heard;
  link.on_levels(2, [&](const ProcessLevels& levels) { heard = levels; });
  LoopbackHub hub;
  const auto fabric = hub.open(NodeId(0), Incarnation(1));
  ASSERT_TRUE(fabric.ok());
  launcher.post(launch_message::levels, to_text(ProcessLevels{3, std::nullopt}));
  ASSERT_TRUE(link.take_news(**fabric).ok());
  EXPECT_EQ(heard, (ProcessLevels{3, std::nullopt}));
  launcher.post(launch_message::levels, to_text(ProcessLevels{3}));
  EXPECT_EQ(link.take_news(**fabric).error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace weft

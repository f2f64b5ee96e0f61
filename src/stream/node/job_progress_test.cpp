// SPDX-License-Identifier: Apache-2.0
#include "stream/node/job_progress.hpp"

#include <gtest/gtest.h>

namespace weft::stream {
namespace {

constexpr Incarnation first_life{1};
constexpr Incarnation second_life{2};

Instant at(std::int64_t seconds) {
  return Instant{} + Duration::seconds(seconds);
}

TEST(job_progress, adds_up_counts_and_averages_the_rest) {
  JobProgress job(3, at(0));
  job.set(NodeId(1), first_life,
          {.timeslices = 10, .bytes = 1000, .spread_us = 4, .buffer_fill = 0.5});
  job.set(NodeId(2), first_life,
          {.timeslices = 20, .bytes = 3000, .spread_us = 8, .buffer_fill = 0.1});
  const auto total = job.total(at(2));
  EXPECT_EQ(total.timeslices, 30u);
  EXPECT_EQ(total.bytes, 4000u);
  EXPECT_EQ(total.spread_us, 6);
  EXPECT_DOUBLE_EQ(total.buffer_fill, 0.3);
  EXPECT_EQ(total.goodput_bytes_per_s, 2000);
  EXPECT_EQ(job.total(at(3)).goodput_bytes_per_s, 0);
}

TEST(job_progress, goes_on_counting_where_a_node_is_started_anew) {
  JobProgress job(2, at(0));
  job.set(NodeId(0), first_life, {.timeslices = 100, .bytes = 10'000});
  job.set(NodeId(1), first_life, {.timeslices = 100, .bytes = 10'000});
  EXPECT_EQ(job.total(at(1)).timeslices, 200u);
  job.set(NodeId(1), second_life, {});
  EXPECT_EQ(job.total(at(2)).timeslices, 200u) << "what the first life built is not lost";
  job.set(NodeId(1), second_life, {.timeslices = 3, .bytes = 300});
  const auto total = job.total(at(3));
  EXPECT_EQ(total.timeslices, 203u) << "the second life does not have to catch up first";
  EXPECT_EQ(total.bytes, 20'300u);
  EXPECT_EQ(total.goodput_bytes_per_s, 300);
}

TEST(job_progress, ignores_what_an_earlier_life_had_still_to_say) {
  JobProgress job(1, at(0));
  job.set(NodeId(0), first_life, {.timeslices = 5});
  job.set(NodeId(0), second_life, {.timeslices = 1});
  job.set(NodeId(0), first_life, {.timeslices = 7});
  EXPECT_EQ(job.total(at(1)).timeslices, 6u);
}

}  // namespace
}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trace/events/stream_for_test.hpp"
#include "trace/replay/replay.hpp"
#include "trace/replay/star_for_test.hpp"
#include "trace/replay/stream_feed.hpp"

namespace weft::trace {
namespace {

using collective::Operation;

ReplayOutcome outcome_of(std::vector<std::vector<Event>> events, double factor = 1) {
  ListedStream stream(std::move(events));
  StreamFeed feed(stream, factor);
  const auto outcome = replay(feed, {.scenario = star_for_test(feed.ranks())});
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
  EXPECT_FALSE(feed.error().has_value());
  return outcome ? *outcome : ReplayOutcome{};
}

double predicted_ns(std::vector<std::vector<Event>> events, double factor = 1) {
  return outcome_of(std::move(events), factor).predicted_s * 1e9;
}

TEST(stream, computes_and_waits_in_the_recorded_order) {
  const std::vector<std::vector<Event>> events{{computes(1000), sends(1, 100), waits()},
                                               {receives(0, 100), waits(), computes(500)}};
  EXPECT_NEAR(predicted_ns(events), 1000 + way_ns(100) + 500, 0.01);
  EXPECT_NEAR(predicted_ns(events, 3), 3000 + way_ns(100) + 1500, 0.01);
}

TEST(stream, overlaps_computation_with_messages_that_are_waited_for_later) {
  EXPECT_NEAR(predicted_ns({{sends(1, 100), waits()}, {receives(0, 100), computes(5000), waits()}}),
              5000, 0.01);
}

TEST(stream, matches_by_tag_in_order_whatever_completes_first) {
  const ReplayOutcome outcome = outcome_of(
      {{sends(1, 10, 0, 7), sends(1, 20, 1, 8), sends(1, 30, 2, 7), waits(0), waits(1), waits(2)},
       {receives(0, 20, 0, 8), receives(0, 10, 1, 7), waits(1), receives(0, 30, 1, 7), waits(1),
        waits(0)}});
  EXPECT_EQ(outcome.messages, 3U);
  EXPECT_EQ(outcome.bytes, 60U);
}

TEST(stream, keeps_messages_to_itself_off_the_network) {
  const ReplayOutcome outcome =
      outcome_of({{receives(0, 5, 0), sends(0, 5, 1), waits(1), waits(0), computes(9)}});
  EXPECT_EQ(outcome.messages, 0U);
  EXPECT_NEAR(outcome.predicted_s * 1e9, 9, 0.01);
}

TEST(stream, replays_every_collective_for_all_groups_to_nine) {
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) {
    for (const Operation operation :
         {Operation::barrier, Operation::broadcast, Operation::reduce, Operation::allreduce,
          Operation::gather, Operation::scatter, Operation::allgather, Operation::alltoall,
          Operation::reduce_scatter, Operation::scan, Operation::exclusive_scan}) {
      for (const std::uint64_t bytes : {8U, 40'000U}) {
        Event event = calls(operation, operation == Operation::barrier ? 0 : bytes);
        const ReplayOutcome outcome = outcome_of(std::vector(ranks, std::vector{event, event}));
        EXPECT_EQ(outcome.messages > 0, ranks > 1) << name_of(operation) << " of " << ranks;
      }
    }
  }
}

TEST(stream, replays_collectives_of_which_only_totals_were_recorded) {
  for (const Operation operation :
       {Operation::gather, Operation::scatter, Operation::allgather, Operation::alltoall}) {
    std::vector<std::vector<Event>> events;
    for (std::uint64_t r = 0; r < 5; ++r) {
      Event event = calls(operation, 1000 * r, 2);
      event.varies = true;
      events.push_back({event});
    }
    const bool rooted = operation == Operation::gather || operation == Operation::scatter;
    EXPECT_EQ(outcome_of(events).messages, rooted ? 4U : 20U) << name_of(operation);
  }
}

TEST(stream, leaves_requests_open_across_a_collective) {
  EXPECT_GT(predicted_ns({{receives(1, 10, 3), calls(Operation::barrier, 0), waits(3)},
                          {calls(Operation::barrier, 0), computes(2000), sends(0, 10), waits()}}),
            2000 + way_ns(10));
}

}  // namespace
}  // namespace weft::trace

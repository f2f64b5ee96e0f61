// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trace/replay/graph_feed.hpp"
#include "trace/replay/replay.hpp"
#include "trace/replay/star_for_test.hpp"

namespace weft::trace {
namespace {

GoalTrace goal(std::string_view text) {
  auto trace = parse_goal(text, "a.goal");
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  return std::move(trace).value();
}

Result<ReplayOutcome> run(const GoalTrace& trace, double factor = 1) {
  GraphFeed feed(trace, factor);
  return replay(feed, {.scenario = star_for_test(feed.ranks())});
}

double predicted_ns(const GoalTrace& trace, double factor = 1) {
  const auto outcome = run(trace, factor);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
  return outcome ? outcome->predicted_s * 1e9 : 0;
}

TEST(graph, takes_as_long_as_its_longest_chain) {
  const GoalTrace trace = goal(
      "num_ranks 2 rank 0 { a: calc 1000 b: send 100b to 1 b requires a }"
      "rank 1 { a: recv 100b from 0 b: calc 500 b requires a }");
  EXPECT_NEAR(predicted_ns(trace), 1000 + way_ns(100) + 500, 0.01);
  EXPECT_NEAR(predicted_ns(trace, 2), 2000 + way_ns(100) + 1000, 0.01);
}

TEST(graph, computes_while_messages_travel) {
  const GoalTrace trace = goal(
      "num_ranks 2 rank 0 { send 100b to 1 }"
      "rank 1 { a: recv 100b from 0 b: calc 5000 c: calc 70 c requires a }");
  EXPECT_NEAR(predicted_ns(trace), 5000 + 70, 0.01);
}

TEST(graph, begins_with_what_it_irequires_and_not_before) {
  // The second computation needs only that the receive has been posted.
  const GoalTrace trace = goal(
      "num_ranks 2 rank 0 { a: calc 9000 s: send 1b to 1 s requires a }"
      "rank 1 { x: calc 300 a: recv 1b from 0 b: calc 40 a requires x b irequires a }");
  const auto outcome = run(trace);
  ASSERT_TRUE(outcome.ok());
  EXPECT_NEAR(outcome->predicted_s * 1e9, 9000 + way_ns(1), 0.01);
  // Rank 1 waits all the time but for its two computations, and rank 0 not at all.
  EXPECT_NEAR(outcome->waited_s * 1e9, 9000 + way_ns(1) - 340, 0.01);
}

TEST(graph, passes_messages_to_itself_without_the_network) {
  const GoalTrace trace = goal(
      "num_ranks 1 rank 0 { a: send 9b to 0 b: recv 9b from 0 c: calc 10 c requires b "
      "d: calc 5 d requires a }");
  const auto outcome = run(trace);
  ASSERT_TRUE(outcome.ok());
  EXPECT_NEAR(outcome->predicted_s * 1e9, 15, 0.01);
  EXPECT_EQ(outcome->messages, 0U);
}

TEST(graph, counts_messages_and_their_bytes) {
  const auto outcome =
      run(goal("num_ranks 3 rank 0 { send 100b to 1 send 100000b to 2 } rank 1 { recv 100b from 0 }"
               "rank 2 { recv 100000b from 0 }"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->messages, 2U);
  EXPECT_EQ(outcome->bytes, 100100U);
}

TEST(graph, sends_messages_with_the_headers_of_the_scenario) {
  const GoalTrace trace = goal("num_ranks 2 rank 0 { send 100b to 1 } rank 1 { recv 100b from 0 }");
  GraphFeed feed(trace, 1);
  ReplayOptions options{.scenario = star_for_test(2)};
  options.scenario.fabric.header_bytes = 232;
  const auto outcome = replay(feed, options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_NEAR(outcome->predicted_s * 1e9, way_ns(100 + 200), 0.01);
}

TEST(graph, refuses_faults_that_would_not_happen) {
  const GoalTrace trace = goal("num_ranks 2");
  GraphFeed feed(trace, 1);
  ReplayOptions options{.scenario = star_for_test(2)};
  options.scenario.faults = {"at=1us link-down host0"};
  const auto listed = replay(feed, options);
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().message,
            "no faults happen here; take faults out, or name cables, and let weft simulate run the "
            "trace as one of [[jobs]]");
  options.scenario.faults.clear();
  options.scenario.random_faults.links_down_per_s = 1;
  const auto drawn = replay(feed, options);
  ASSERT_FALSE(drawn.ok());
  EXPECT_EQ(drawn.error().message.find("no faults happen here; take [random-faults] out"), 0U);
}

TEST(graph, names_the_first_rank_that_waits_for_ever) {
  const auto outcome =
      run(goal("num_ranks 2 rank 0 { r: recv 1b from 1 s: send 1b to 1 s requires r }"
               "rank 1 { r: recv 1b from 0 s: send 1b to 0 s requires r }"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message,
            "2 of 2 ranks do not end within 3600 simulated seconds, the first is rank 0: its "
            "messages wait for each other; correct its dependencies, or record the program anew");
}

TEST(graph, finds_ranks_that_wait_for_ever_beside_endless_traffic) {
  const GoalTrace trace = goal(
      "num_ranks 2 rank 0 { r: recv 1b from 1 s: send 1b to 1 s requires r }"
      "rank 1 { r: recv 1b from 0 s: send 1b to 0 s requires r }");
  GraphFeed feed(trace, 1);
  ReplayOptions options{.scenario = star_for_test(2)};
  options.scenario.traffic = {{.load = 0.1}};
  const auto outcome = replay(feed, options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message.find("2 of 2 ranks do not end"), 0U);
}

TEST(graph, refuses_networks_with_fewer_hosts_than_ranks) {
  const GoalTrace trace = goal("num_ranks 3");
  GraphFeed feed(trace, 1);
  const auto outcome = replay(feed, {.scenario = star_for_test(2)});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message,
            "the trace has 3 ranks and the network 2 hosts: use a larger topology");
}

}  // namespace
}  // namespace weft::trace

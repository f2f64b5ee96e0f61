// SPDX-License-Identifier: Apache-2.0
#include "stream/node/node_report.hpp"

#include <gtest/gtest.h>

namespace weft::stream {
namespace {

StreamOptions two_by_one() {
  StreamOptions options;
  options.inputs = 2;
  options.computes = 1;
  return options;
}

NodeReport input_report(std::uint32_t node, std::uint64_t built_by_first) {
  NodeReport r;
  r.node = NodeId(node);
  r.started = Instant(1'000'000'000);
  r.ended = Instant(3'000'000'000);
  r.sent_below = 10;
  r.built_by = {{0, {TimesliceIndex(0), 1, built_by_first}}};
  return r;
}

NodeReport compute_report() {
  NodeReport r;
  r.node = NodeId(2);
  r.started = Instant(1'000'000'000);
  r.ended = Instant(3'000'000'000);
  r.complete = 10;
  for (std::uint64_t t = 0; t < 10; ++t) r.delivered.add(TimesliceIndex(t));
  r.bytes = 4000;
  r.spreads_us = {10, 20, 30};
  r.bucket_ns = 100'000'000;
  r.bytes_buckets = {1000, 3000};
  return r;
}

TEST(node_report, comes_back_from_its_encoding) {
  const auto back = decode_report(encode_report(compute_report()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->complete, 10u);
  EXPECT_EQ(back->bytes_buckets, (std::vector<std::uint64_t>{1000, 3000}));
  EXPECT_EQ(back->delivered.runs(), compute_report().delivered.runs());
  const auto input = decode_report(encode_report(input_report(1, 7)));
  ASSERT_TRUE(input);
  ASSERT_EQ(input->built_by.size(), 1u);
  EXPECT_EQ(input->built_by[0].run, (TimesliceRun{TimesliceIndex(0), 1, 7}));
  EXPECT_FALSE(decode_report("nonsense"));
}

TEST(node_report, merged_figures_follow_from_the_nodes) {
  const auto record =
      merge_reports(two_by_one(), {input_report(0, 10), input_report(1, 10), compute_report()});
  EXPECT_EQ(record.timeslices_complete, 10u);
  EXPECT_EQ(record.timeslices_lost, 0u);
  EXPECT_DOUBLE_EQ(record.seconds, 2.0);
  EXPECT_DOUBLE_EQ(record.goodput_bytes_per_s, 2000.0);
  EXPECT_DOUBLE_EQ(record.spread_us->median, 20.0);
  ASSERT_EQ(record.series.goodput.size(), 2u);
  EXPECT_DOUBLE_EQ(record.series.goodput[1].bytes_per_s, 30000.0);
}

TEST(node_report, what_a_dead_compute_node_built_is_not_lost) {
  const auto record = merge_reports(two_by_one(), {input_report(0, 10), input_report(1, 9)});
  EXPECT_EQ(record.timeslices_complete, 10u);
  EXPECT_EQ(record.timeslices_lost, 0u);
}

TEST(node_report, what_was_done_before_a_new_life_is_not_lost_though_nobody_knows_by_whom) {
  NodeReport input = input_report(0, 0);
  input.built_by = {{1, {TimesliceIndex(0), 1, 6}}};  // 1: any of the one compute node
  NodeReport compute = compute_report();
  compute.restarted = true;
  compute.delivered = {};
  for (const std::uint64_t t : {6, 7, 8, 9}) compute.delivered.add(TimesliceIndex(t));
  EXPECT_EQ(merge_reports(two_by_one(), {input, compute}).timeslices_lost, 0u);
  compute.restarted = false;
  EXPECT_GT(merge_reports(two_by_one(), {input, compute}).timeslices_lost, 0u)
      << "its first life tells what it delivered";
}

TEST(node_report, a_timeslice_that_came_out_twice_hides_no_loss) {
  NodeReport compute = compute_report();
  compute.delivered = {};
  for (const std::uint64_t t : {0, 1, 2, 3, 4, 4, 6, 7, 8, 9})
    compute.delivered.add(TimesliceIndex(t));
  const auto record = merge_reports(two_by_one(), {input_report(0, 10), compute});
  EXPECT_EQ(record.timeslices_lost, 1u)
      << "input nodes believe that 5 was built; its node does not";
}

/// A compute node that was stopped delivers timeslices that others have built meanwhile, and its
/// input nodes may not have heard of the newest ones.
TEST(node_report, what_was_sent_is_complete_or_incomplete_or_lost) {
  StreamOptions options = two_by_one();
  options.computes = 2;
  NodeReport first = compute_report();
  first.incomplete = 2;
  first.complete = 8;
  NodeReport stopped = compute_report();
  stopped.node = NodeId(3);
  stopped.complete = stopped.repeated = 5;
  stopped.delivered = {};
  for (const std::uint64_t t : {7, 8, 9, 12, 13}) stopped.delivered.add(TimesliceIndex(t));
  NodeReport input = input_report(0, 10);
  input.sent_below = 12;
  const auto record = merge_reports(options, {input, first, stopped});
  EXPECT_EQ(record.timeslices_incomplete, 2u);
  EXPECT_EQ(record.timeslices_lost, 2u) << "10 and 11";
  EXPECT_EQ(record.timeslices_complete, 10u) << "of 12 that came out";
  EXPECT_EQ(record.timeslices_sent, 14u);
}

TEST(node_report,
     what_two_halves_built_incompletely_does_not_count_against_what_was_complete_before) {
  StreamOptions options = two_by_one();
  options.computes = 2;
  NodeReport first = compute_report();  // 0 to 9
  first.complete = 4;
  first.incomplete = 6;
  NodeReport second = first;
  second.node = NodeId(3);
  second.complete = 0;
  second.incomplete = second.repeated = 10;
  NodeReport input = input_report(0, 10);
  input.sent_below = 10;
  const auto record = merge_reports(options, {input, first, second});
  EXPECT_EQ(record.timeslices_complete, 4u);
  EXPECT_EQ(record.timeslices_incomplete, 6u);
  EXPECT_EQ(record.timeslices_lost, 0u);
}

TEST(node_report, what_two_compute_nodes_delivered_is_an_error_unless_one_says_so) {
  StreamOptions options = two_by_one();
  options.computes = 2;
  NodeReport other = compute_report();
  other.node = NodeId(3);
  other.complete = 2;
  other.delivered = {};
  for (const std::uint64_t t : {3, 4}) other.delivered.add(TimesliceIndex(t));
  EXPECT_EQ(merge_reports(options, {input_report(0, 10), compute_report(), other}).checks.errors,
            2u);
  other.repeated = 2;
  EXPECT_EQ(merge_reports(options, {input_report(0, 10), compute_report(), other}).checks.errors,
            0u);
}

TEST(node_report, a_life_that_follows_another_does_not_know_what_that_had_built) {
  NodeReport compute = compute_report();
  compute.restarted = true;
  compute.complete = 3;
  compute.delivered = {};
  for (const std::uint64_t t : {7, 8, 9}) compute.delivered.add(TimesliceIndex(t));
  const auto record =
      merge_reports(two_by_one(), {input_report(0, 6), input_report(1, 5), compute});
  EXPECT_EQ(record.timeslices_complete, 9u);
  EXPECT_EQ(record.timeslices_lost, 1u) << "6";
}

TEST(node_report, compute_nodes_are_counted_one_by_one_the_dead_ones_too) {
  StreamOptions options = two_by_one();
  options.computes = 2;
  NodeReport input = input_report(0, 10);
  input.sent_below = 17;
  input.built_by.push_back({1, {TimesliceIndex(10), 1, 7}});
  const auto record = merge_reports(options, {input, compute_report()});
  ASSERT_EQ(record.by_compute.size(), 2u);
  EXPECT_EQ(record.by_compute[0].timeslices, 10u);
  EXPECT_TRUE(record.by_compute[0].reported);
  EXPECT_EQ(record.by_compute[1].timeslices, 7u);
  EXPECT_FALSE(record.by_compute[1].reported);
  EXPECT_EQ(record.timeslices_complete, 17u);
}

TEST(node_report, goodput_has_the_share_of_a_node_that_died) {
  StreamOptions options = two_by_one();
  options.computes = 2;
  const std::vector<ProgressSample> heard{{Instant(1'200'000'000), 3, 600},
                                          {Instant(1'400'000'000), 5, 1000}};
  NodeReport input = input_report(0, 10);
  input.sent_below = 15;
  input.built_by.push_back({1, {TimesliceIndex(10), 1, 5}});
  const NodeReport dead =
      remains_of(NodeId(3), Instant(1'000'000'000), heard, Duration::milliseconds(100));
  EXPECT_EQ(dead.bytes_buckets, (std::vector<std::uint64_t>{300, 300, 200, 200}));
  const auto record =
      merge_reports(options, JobReport{.nodes = {input, compute_report()}, .remains = {dead}});
  EXPECT_EQ(record.bytes, 5000u);
  EXPECT_DOUBLE_EQ(record.goodput_bytes_per_s, 2500.0);
  ASSERT_EQ(record.series.goodput.size(), 4u);
  EXPECT_DOUBLE_EQ(record.series.goodput[0].bytes_per_s, 13000.0);
  EXPECT_DOUBLE_EQ(record.series.goodput[2].bytes_per_s, 2000.0);
}

TEST(node_report, content_of_billions_of_timeslices_is_estimated_as_well) {
  constexpr std::uint64_t told = 8'000'000'000, distinct = 10'000'000'000;
  EXPECT_EQ(content_of(distinct, {.timeslices = told, .bytes = told * 1000 + told / 2}),
            distinct * 1000 + distinct / 2);
  EXPECT_EQ(content_of(told, {.timeslices = told, .bytes = told * 1000 + 7}), told * 1000 + 7);
  EXPECT_EQ(content_of(5, {.timeslices = 0, .bytes = 0}), 0u);
}

TEST(node_report, bytes_are_those_of_the_timeslices_that_count) {
  StreamOptions options = two_by_one();
  options.computes = 2;
  NodeReport input = input_report(0, 10);
  input.sent_below = 17;
  input.built_by.push_back({1, {TimesliceIndex(10), 1, 7}});
  const auto unheard = merge_reports(options, {input, compute_report()});
  EXPECT_EQ(unheard.timeslices_complete, 17u);
  EXPECT_EQ(unheard.bytes, 17u * 400) << "of a dead node that never told how much it built";
  EXPECT_DOUBLE_EQ(unheard.goodput_bytes_per_s, 17 * 200.0);
  const std::vector<ProgressSample> heard{{Instant(1'200'000'000), 4, 1600}};
  const NodeReport dead =
      remains_of(NodeId(3), Instant(1'000'000'000), heard, Duration::milliseconds(100));
  const auto record =
      merge_reports(options, JobReport{.nodes = {input, compute_report()}, .remains = {dead}});
  EXPECT_EQ(record.bytes, 17u * 400) << "it told of 4 of its 7";

  NodeReport twice = compute_report();  // 0 to 9 again, as repeated
  twice.node = NodeId(3);
  twice.repeated = 10;
  EXPECT_EQ(merge_reports(options, {input_report(0, 10), compute_report(), twice}).bytes, 4000u);
}

TEST(node_report, a_stream_that_began_anew_is_an_error_and_does_not_count_the_earlier_one) {
  NodeReport input = input_report(0, 10), compute = compute_report();
  NodeReport before = compute_report(), since = compute_report();
  before.ended = Instant(900'000'000);
  before.bytes = 123456;
  since.complete = 3;
  since.bytes = 1200;
  since.ended = Instant(1'500'000'000);
  const auto merged = [&](bool of_input, bool of_compute) {
    input.began_anew = of_input;
    compute.began_anew = of_compute;
    const auto told = decode_report(encode_report(compute));
    return merge_reports(two_by_one(),
                         JobReport{.nodes = {input, *told}, .remains = {before, since}});
  };
  const auto record = merged(true, true);
  EXPECT_EQ(record.checks.errors, 1u);
  EXPECT_NE(record.checks.first_error.find("began it anew"), std::string::npos);
  EXPECT_EQ(record.timeslices_complete, 10u);
  EXPECT_EQ(record.bytes, 4000u);
  EXPECT_EQ(merged(true, false).checks.errors, 0u) << "no compute node had been in a stream";
  EXPECT_EQ(merged(false, true).checks.errors, 0u);
  EXPECT_GT(merged(false, false).bytes, 4000u);
}

TEST(node_report, the_floor_follows_from_a_link_or_a_limit_and_not_from_the_goodput) {
  StreamOptions options = two_by_one();
  auto record = merge_reports(options, {input_report(0, 10), compute_report()});
  EXPECT_FALSE(record.spread_floor_us);
  set_limit(options, 4000, record);
  // Contributions of 200 bytes at 4000 bytes/s.
  EXPECT_DOUBLE_EQ(record.spread_floor_us.value_or(0), 50'000);
  options.link = StreamLink{Bandwidth::bytes_per_second(8000), {}};
  set_limit(options, 4000, record);
  EXPECT_DOUBLE_EQ(record.spread_floor_us.value_or(0), 25'000);
}

TEST(node_report, a_node_that_never_saw_a_view_does_no_harm) {
  NodeReport late = compute_report();
  late.started = Instant::never();
  const auto record = merge_reports(two_by_one(), {input_report(0, 10), late});
  EXPECT_TRUE(record.series.goodput.empty());
}

/// Clocks count from long before any stream; an empty source leaves no end.
TEST(node_report, a_stream_of_nothing_lasts_no_time) {
  std::vector<NodeReport> reports(3);
  for (std::uint32_t node = 0; node < 3; ++node) {
    reports[node].node = NodeId(node);
    reports[node].started = Instant(std::int64_t{1} << 62);
    reports[node].bucket_ns = 100'000'000;
  }
  const auto record = merge_reports(two_by_one(), reports);
  EXPECT_EQ(record.timeslices_sent, 0u);
  EXPECT_DOUBLE_EQ(record.seconds, 0);
  EXPECT_TRUE(record.series.goodput.empty());
}

TEST(node_report, no_run_exceeds_the_limit_that_it_is_measured_by) {
  std::vector<report::RunRecord> runs(2);
  runs[0].goodput_bytes_per_s = 90;
  runs[1].goodput_bytes_per_s = 120;
  EXPECT_DOUBLE_EQ(limit_of(200, runs), 200);
  const double limit = limit_of(100, runs);
  for (auto& run : runs) set_limit(two_by_one(), limit, run);
  EXPECT_DOUBLE_EQ(*runs[0].goodput_of_limit, 0.75);
  EXPECT_DOUBLE_EQ(*runs[1].goodput_of_limit, 1) << "bare writes reached 100";
}

}  // namespace
}  // namespace weft::stream

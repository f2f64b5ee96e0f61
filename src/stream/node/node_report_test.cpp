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
  r.built_by = {built_by_first};
  return r;
}

NodeReport compute_report() {
  NodeReport r;
  r.node = NodeId(2);
  r.started = Instant(1'000'000'000);
  r.ended = Instant(3'000'000'000);
  r.complete = 10;
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

TEST(node_report, a_node_that_never_saw_a_view_does_no_harm) {
  NodeReport late = compute_report();
  late.started = Instant::never();
  const auto record = merge_reports(two_by_one(), {input_report(0, 10), late});
  EXPECT_TRUE(record.series.goodput.empty());
}

}  // namespace
}  // namespace weft::stream

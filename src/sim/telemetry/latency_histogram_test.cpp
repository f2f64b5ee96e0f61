// SPDX-License-Identifier: Apache-2.0
#include "sim/telemetry/latency_histogram.hpp"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

TEST(latency_histogram, every_time_lies_in_its_bucket) {
  for (std::uint64_t ps = 0; ps < 5000; ++ps) {
    const std::size_t b = LatencyHistogram::bucket_of(ps);
    EXPECT_LE(LatencyHistogram::lower(b).ticks(), static_cast<std::int64_t>(ps));
    EXPECT_GT(LatencyHistogram::lower(b + 1).ticks(), static_cast<std::int64_t>(ps));
  }
  for (int bit = 4; bit < 63; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    EXPECT_EQ(LatencyHistogram::lower(LatencyHistogram::bucket_of(power)).ticks(),
              static_cast<std::int64_t>(power));
    EXPECT_EQ(LatencyHistogram::bucket_of(power - 1) + 1, LatencyHistogram::bucket_of(power));
  }
}

TEST(latency_histogram, takes_the_longest_time_that_there_is) {
  LatencyHistogram h;
  h.add(PicoDuration::max());
  h.add(PicoDuration(-1));
  EXPECT_EQ(h.count, 2u);
  EXPECT_EQ(h.buckets[0], 1u);
}

TEST(latency_histogram, quantiles_are_lower_ends_of_buckets) {
  LatencyHistogram h;
  EXPECT_EQ(h.quantile_ns(0.5), 0);
  for (int i = 1; i <= 100; ++i) h.add(PicoDuration::nanoseconds(i));
  EXPECT_NEAR(h.quantile_ns(0.5), 50, 50.0 / 16);
  EXPECT_LE(h.quantile_ns(0.5), 50);
  EXPECT_NEAR(h.quantile_ns(1), 100, 100.0 / 16);
  EXPECT_EQ(h.mean_ns(), 50.5);
}

TEST(latency_histogram, sums_add_up) {
  LatencyHistogram a, b;
  a.add(PicoDuration::nanoseconds(10));
  b.add(PicoDuration::nanoseconds(1000));
  a.add(b);
  EXPECT_EQ(a.count, 2u);
  EXPECT_EQ(a.mean_ns(), 505);
}

}  // namespace
}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
// What each means of avoidance gains on the modelled adapters, alone and combined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rdma/benchmark.hpp"

namespace weft::rdma {
namespace {

Avoidance all() {
  return {.smallest_rnr_delay = true,
          .dummy_after = dummy_after,
          .reissue_after = reissue_after,
          .prefetch = true,
          .queue_pairs_per_page = bound_per_page};
}

BenchmarkOptions damming(PagedSide side, std::int64_t interval_us, const Avoidance& avoidance) {
  BenchmarkOptions o;
  o.profile = *net::rc::device_profile("connectx-4");
  o.paged = side;
  o.interval = Duration::microseconds(interval_us);
  o.avoidance = avoidance;
  return o;
}

BenchmarkOptions flood(const Avoidance& avoidance) {
  BenchmarkOptions o;
  o.profile = *net::rc::device_profile("connectx-6");
  o.paged = PagedSide::client;
  o.operations = 512;
  o.queue_pairs = 128;
  o.size = 32;
  o.avoidance = avoidance;
  return o;
}

/// Beyond the time that posting takes.
Duration stall(const BenchmarkOptions& o) {
  return run_benchmark(o).execution - o.interval;
}

/// What a page fault costs when nothing is lost.
Duration plain_fault(PagedSide side, bool smallest) {
  BenchmarkOptions o = damming(side, 0, {.smallest_rnr_delay = smallest});
  o.operations = 1;
  return run_benchmark(o).execution;
}

TEST(avoidance, a_dummy_ends_the_stall_of_damming_within_twice_the_plain_fault) {
  for (const auto side : {PagedSide::server, PagedSide::both}) {
    for (const std::int64_t interval : {300, 1'000, 3'000, 4'400}) {
      EXPECT_GT(stall(damming(side, interval, {})), Duration::milliseconds(400));
      EXPECT_LT(stall(damming(side, interval, {.dummy_after = dummy_after})),
                plain_fault(side, false) * 2)
          << interval;
    }
  }
}

TEST(avoidance, the_smallest_rnr_delay_leaves_no_damming_at_intervals_of_a_page_fault) {
  for (const std::int64_t interval : {700, 1'000, 3'000, 4'400}) {
    const Avoidance smallest{.smallest_rnr_delay = true};
    EXPECT_LT(stall(damming(PagedSide::server, interval, smallest)), Duration::milliseconds(1));
  }
}

TEST(avoidance, prefetch_makes_damming_and_flood_what_pinned_memory_is) {
  const Avoidance prefetch{.prefetch = true};
  EXPECT_LT(stall(damming(PagedSide::both, 1'000, prefetch)), Duration::microseconds(10));
  BenchmarkOptions pinned = flood({});
  pinned.paged = PagedSide::none;
  EXPECT_EQ(run_benchmark(flood(prefetch)).packets, run_benchmark(pinned).packets);
}

TEST(avoidance, a_bound_on_queue_pairs_per_page_ends_flood) {
  const auto without = run_benchmark(flood({}));
  const auto with = run_benchmark(flood({.queue_pairs_per_page = bound_per_page}));
  BenchmarkOptions pinned = flood({});
  pinned.paged = PagedSide::none;
  EXPECT_TRUE(without.flood());
  EXPECT_FALSE(with.flood());
  EXPECT_LT(with.packets, 2 * run_benchmark(pinned).packets);
}

TEST(avoidance, requests_that_are_issued_again_complete_while_the_flood_goes_on) {
  const auto without = run_benchmark(flood({}));
  const auto with = run_benchmark(flood({.reissue_after = reissue_after}));
  EXPECT_LT(with.execution, without.execution / 2);
}

TEST(avoidance, of_every_kind_together_holds_both_bounds) {
  for (const auto side : {PagedSide::client, PagedSide::server, PagedSide::both}) {
    for (const std::int64_t interval : {300, 1'000, 4'400}) {
      EXPECT_LT(stall(damming(side, interval, all())), plain_fault(side, true) * 2);
    }
  }
  BenchmarkOptions pinned = flood({});
  pinned.paged = PagedSide::none;
  EXPECT_LT(run_benchmark(flood(all())).packets, 2 * run_benchmark(pinned).packets);
}

TEST(avoidance, costs_less_than_one_per_cent_when_nothing_is_wrong) {
  BenchmarkOptions o = damming(PagedSide::none, 5, {});
  o.operations = 2'000;
  o.queue_pairs = 16;
  const auto without = run_benchmark(o);
  o.avoidance = all();
  const auto with = run_benchmark(o);
  EXPECT_LE(with.execution.to_seconds(), without.execution.to_seconds() * 1.01);
  EXPECT_EQ(with.packets, without.packets);
}

}  // namespace
}  // namespace weft::rdma

// SPDX-License-Identifier: Apache-2.0
// The gain of each means of avoidance on the modelled adapters, alone and combined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

/// The time of a page fault when nothing is lost.
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

TEST(avoidance, issuing_again_ends_the_stall_of_damming_within_twice_the_plain_fault) {
  for (const auto side : {PagedSide::server, PagedSide::both}) {
    for (const std::int64_t interval : {100, 1'000, 4'000}) {
      EXPECT_LT(stall(damming(side, interval, {.reissue_after = reissue_after})),
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

struct Means {
  const char* name;
  Avoidance avoidance;
};

std::vector<Means> every_means() {
  Avoidance without_prefetch = all();
  without_prefetch.prefetch = false;
  return {{"smallest-rnr", {.smallest_rnr_delay = true}},
          {"dummy", {.dummy_after = dummy_after}},
          {"reissue", {.reissue_after = reissue_after}},
          {"prefetch", {.prefetch = true}},
          {"bound", {.queue_pairs_per_page = bound_per_page}},
          {"all", all()},
          {"all but prefetch", without_prefetch}};
}

struct Load {
  std::uint32_t operations, queue_pairs, size;
};

/// Calls `look` with every load, interval and device, of the devices those with different paging.
void over_the_grid(PagedSide side, const std::function<void(const BenchmarkOptions&)>& look) {
  const std::vector<Load> loads = {{1, 1, 100},   {2, 1, 100},    {3, 1, 100},
                                   {4, 1, 4'096}, {2, 1, 65'536}, {64, 4, 100},
                                   {64, 16, 100}, {128, 128, 32}, {32, 16, 9'000}};
  for (const char* device : {"connectx-4", "connectx-6", "ideal"}) {
    const auto profile = *net::rc::device_profile(device);
    for (const Load& load : loads) {
      for (const std::int64_t interval : {0, 80, 300, 1'000, 4'400, 6'000}) {
        BenchmarkOptions o;
        o.profile = profile;
        o.paged = side;
        o.operations = load.operations;
        o.queue_pairs = load.queue_pairs;
        o.size = load.size;
        o.interval = Duration::microseconds(interval);
        o.ack_timeout = 18;
        SCOPED_TRACE(std::string(device) + ", " + std::to_string(load.operations) +
                     " operations of " + std::to_string(load.size) + " bytes on " +
                     std::to_string(load.queue_pairs) + " queue pairs, every " +
                     std::to_string(interval) + " us, paged: " + std::string(to_text(side)));
        look(o);
      }
    }
  }
}

TEST(avoidance, by_no_means_costs_more_than_one_per_cent_when_nothing_is_wrong) {
  over_the_grid(PagedSide::none, [](BenchmarkOptions o) {
    const auto without = run_benchmark(o);
    for (const Means& means : every_means()) {
      o.avoidance = means.avoidance;
      const auto with = run_benchmark(o);
      EXPECT_LE(with.execution.to_seconds(), without.execution.to_seconds() * 1.01) << means.name;
      EXPECT_EQ(with.packets, without.packets) << means.name;
    }
  });
}

/// A means that does not help may cost one page fault more on each side: the waits for one side's
/// page hide those for the other's, or do not, as it happens.
TEST(avoidance, by_no_means_takes_longer_than_none_or_loses_anything) {
  const Duration one_fault = plain_fault(PagedSide::both, false);
  for (const auto side : {PagedSide::client, PagedSide::server, PagedSide::both}) {
    over_the_grid(side, [&](BenchmarkOptions o) {
      const auto without = run_benchmark(o);
      for (const Means& means : every_means()) {
        o.avoidance = means.avoidance;
        const auto with = run_benchmark(o);
        EXPECT_LE(with.execution, without.execution * 21 / 20 + one_fault) << means.name;
        EXPECT_EQ(with.failed + with.stuck, 0u) << means.name;
        EXPECT_TRUE(without.flood() || !with.flood()) << means.name;
      }
    });
  }
}

TEST(avoidance, by_all_means_but_prefetch_leaves_no_damming_of_two_reads_at_any_interval) {
  Avoidance means = all();
  means.prefetch = false;
  for (const auto side : {PagedSide::client, PagedSide::server, PagedSide::both}) {
    for (std::int64_t interval = 0; interval <= 6'000; interval += 50) {
      for (const bool by_dummy_alone : {false, true}) {
        const Avoidance by = by_dummy_alone ? Avoidance{.dummy_after = dummy_after} : means;
        const auto r = run_benchmark(damming(side, interval, by));
        EXPECT_FALSE(r.damming()) << to_text(side) << " " << interval << " " << by_dummy_alone;
        EXPECT_EQ(r.timeouts, 0u) << to_text(side) << " " << interval << " " << by_dummy_alone;
      }
    }
  }
}

TEST(avoidance, by_issuing_again_does_not_touch_one_large_read_whose_pages_come) {
  for (const std::uint32_t size : {1U << 19, 1U << 20, 1U << 22}) {
    BenchmarkOptions o = flood({});
    o.operations = o.queue_pairs = 1;
    o.size = size;
    const auto without = run_benchmark(o);
    o.avoidance.reissue_after = reissue_after;
    const auto with = run_benchmark(o);
    EXPECT_EQ(with.packets, without.packets) << size;
    EXPECT_EQ(with.execution, without.execution) << size;
  }
}

TEST(avoidance, costs_less_than_one_per_cent_when_nothing_is_wrong) {
  for (const std::uint32_t queue_pairs : {1U, 16U, 128U}) {
    for (const std::int64_t interval : {0, 5}) {
      BenchmarkOptions o = damming(PagedSide::none, interval, {});
      o.operations = 2'000;
      o.queue_pairs = queue_pairs;
      const auto without = run_benchmark(o);
      o.avoidance = all();
      const auto with = run_benchmark(o);
      EXPECT_LE(with.execution.to_seconds(), without.execution.to_seconds() * 1.01);
      EXPECT_EQ(with.packets, without.packets);
    }
  }
}

}  // namespace
}  // namespace weft::rdma

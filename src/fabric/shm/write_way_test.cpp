// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/write_way.hpp"

#include <gtest/gtest.h>

namespace weft::shm {
namespace {

constexpr std::size_t kBytes = 1 << 20;

// How many of the next writes are fetched, with given costs of both ways.
int fetched_of(WriteWay& way, int writes, double ring, double fetch) {
  int fetched = 0;
  for (int i = 0; i < writes; ++i) {
    const bool fetches = way.fetches();
    fetched += fetches ? 1 : 0;
    way.took(fetches, kBytes, fetches ? fetch : ring);
  }
  return fetched;
}

TEST(write_way, tries_both_and_takes_the_faster) {
  WriteWay same_cache, apart;
  EXPECT_FALSE(same_cache.fetches());
  EXPECT_EQ(fetched_of(same_cache, 3, 50'000, 130'000), 1);
  EXPECT_EQ(fetched_of(apart, 3, 130'000, 110'000), 1);
  EXPECT_LE(fetched_of(same_cache, 640, 50'000, 130'000), 10);
  EXPECT_GE(fetched_of(apart, 640, 130'000, 110'000), 630);
}

// The kernel has to make its pages.
TEST(write_way, does_not_hold_the_first_lap_of_the_ring_against_it) {
  WriteWay way;
  way.took(false, kBytes, 900'000);
  EXPECT_FALSE(way.fetches());
  EXPECT_LE(fetched_of(way, 60, 50'000, 130'000), 1);
}

TEST(write_way, finds_out_when_the_other_has_become_faster) {
  WriteWay way;
  fetched_of(way, 100, 50'000, 130'000);
  fetched_of(way, 200, 400'000, 130'000);
  EXPECT_GE(fetched_of(way, 640, 400'000, 130'000), 620);
  fetched_of(way, 200, 50'000, 130'000);
  EXPECT_LE(fetched_of(way, 640, 50'000, 130'000), 20);
}

TEST(write_way, is_not_mistaken_for_long_by_one_that_waited) {
  WriteWay way;
  fetched_of(way, 100, 50'000, 130'000);
  way.took(false, kBytes, 1e9);
  EXPECT_LE(fetched_of(way, 64, 50'000, 130'000), 2);
}

}  // namespace
}  // namespace weft::shm

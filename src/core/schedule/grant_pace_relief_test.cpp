// SPDX-License-Identifier: Apache-2.0
// What GrantPace does while senders starve for grants.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/schedule/grant_pace.hpp"

namespace weft::schedule {
namespace {

constexpr int least_arrivals = 32;  // in a period

// Most senders have starved for long enough, at 10,000 contributions per second; two are on the
// path, so that 2.5 · 2 + 0.6 were in flight before.
class pace_of_starved : public ::testing::Test {
 protected:
  void SetUp() override {
    arrive(1, tenth_ms);
    arrive(least_arrivals, tenth_ms);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(pace_.in_flight(), 6u) << "so far it may be one turn of another process";
      starved_period(tenth_ms);
    }
    EXPECT_EQ(pace_.in_flight(), 6u) << "12.8 ms";
  }
  void arrive(int contributions, Duration apart) {
    for (int i = 0; i < contributions; ++i) {
      now_ = now_ + apart;
      pace_.on_arrival(now_, Duration::microseconds(200));
    }
  }
  void starved_period(Duration apart) {
    const int all = std::max(least_arrivals, static_cast<int>(pace_.in_flight()));
    pace_.on_starved_senders(static_cast<std::size_t>(all) / 2 + 1);
    arrive(all, apart);
  }

  const Duration tenth_ms = Duration::microseconds(100);
  GrantPace pace_{{.short_periods = 0}, 8};
  Instant now_{1000};
};

TEST_F(pace_of_starved, has_more_out_as_long_as_that_makes_it_faster) {
  pace_.set_most(50);
  starved_period(tenth_ms);
  ASSERT_EQ(pace_.in_flight(), 24u);
  for (int i = 0; i < 4; ++i) {
    starved_period(Duration::microseconds(80));
    EXPECT_GE(pace_.in_flight(), 24u);
  }
  starved_period(Duration::microseconds(80));
  EXPECT_EQ(pace_.in_flight(), 50u) << "the rings hold no more";
}

TEST_F(pace_of_starved, takes_it_back_where_links_decide) {
  starved_period(tenth_ms);
  for (int i = 0; i < 3; ++i) {
    starved_period(tenth_ms);
    EXPECT_EQ(pace_.in_flight(), 24u);
  }
  starved_period(tenth_ms);
  EXPECT_EQ(pace_.in_flight(), 6u);
}

/// The periods before the relief had less, since a process had no processor.
TEST_F(pace_of_starved, compares_with_the_rate_of_undisturbed_periods) {
  for (int i = 0; i < 2; ++i) {
    pace_.on_starved_senders(0);
    arrive(least_arrivals, tenth_ms);
  }
  for (int i = 0; i < 6; ++i) starved_period(Duration::microseconds(110));
  ASSERT_EQ(pace_.in_flight(), 24u);
  for (int i = 0; i < 4; ++i) starved_period(tenth_ms);
  EXPECT_EQ(pace_.in_flight(), 6u);
}

/// Another node may be the one that has most in flight.
TEST_F(pace_of_starved, adds_to_its_own_number_and_not_to_the_agreed_one) {
  pace_.agree(100);
  starved_period(tenth_ms);
  EXPECT_NEAR(pace_.wish() / wish_unit, 5.6 + 3 * 6, 0.1);
  EXPECT_EQ(pace_.in_flight(), 100u);
  for (int i = 0; i < 6; ++i) starved_period(tenth_ms);
  EXPECT_NEAR(pace_.wish() / wish_unit, 5.6 + 3 * 6, 0.1) << "other nodes may want more, too";
}

TEST_F(pace_of_starved, compares_with_no_rate_of_another_view) {
  pace_.begin_view(now_);
  arrive(1, tenth_ms * 2);
  for (int i = 0; i < 4; ++i) starved_period(tenth_ms * 2);
  ASSERT_GT(pace_.in_flight(), 6u);
  const std::uint32_t more = pace_.in_flight();
  for (int i = 0; i < 4; ++i) starved_period(Duration::microseconds(150));
  EXPECT_GE(pace_.in_flight(), more) << "faster than before, in this view";
}

}  // namespace
}  // namespace weft::schedule

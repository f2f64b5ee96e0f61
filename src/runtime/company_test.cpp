// SPDX-License-Identifier: Apache-2.0
#include "runtime/company.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// A driver at place 3, from the begin of a round of periods on.
class Driver {
 public:
  Driver() { company_.look(now_, used_, std::nullopt); }
  /// One period, of which it had the core for this part, in percent.
  std::uint32_t period(int percent, std::optional<std::uint32_t> companion) {
    now_ = now_ + Company::period;
    used_ = used_ + Company::period * percent / 100;
    return company_.look(now_, used_, companion);
  }
  Instant now() const { return now_; }
  const Company& company() const { return company_; }

 private:
  Instant now_ = Instant{} + Company::period * 160;
  Duration used_{};
  Company company_{3};
};

TEST(company, goes_to_the_lower_place_of_both_where_the_core_is_shared) {
  Driver driver;
  EXPECT_EQ(driver.period(50, 1), 1U);
  EXPECT_EQ(driver.period(50, 7), 3U);
  EXPECT_EQ(driver.period(50, 1), 1U);
}

TEST(company, stays_at_home_without_a_companion) {
  Driver driver;
  EXPECT_EQ(driver.period(50, std::nullopt), 3U);
  EXPECT_EQ(driver.period(50, 1), 1U);
  EXPECT_EQ(driver.period(50, std::nullopt), 3U);
}

TEST(company, stays_at_home_where_it_has_a_core_for_itself) {
  Driver driver;
  EXPECT_EQ(driver.period(99, 1), 3U);
  EXPECT_EQ(driver.period(80, 1), 3U);
  EXPECT_EQ(driver.period(70, 1), 1U);
}

TEST(company, parts_for_one_period_of_sixteen_to_see_whether_cores_are_free) {
  Driver driver;
  int apart = 0;
  for (int i = 0; i < 160; ++i) apart += driver.period(50, 1) == 3 ? 1 : 0;
  EXPECT_EQ(apart, 10);
}

TEST(company, ends_when_a_core_was_free_while_both_were_apart) {
  Driver driver;
  int i = 0;
  while (driver.period(50, 1) == 1) ++i;
  EXPECT_EQ(i, 15);
  for (int k = 0; k < 40; ++k) EXPECT_EQ(driver.period(100, 1), 3U) << k;
}

TEST(company, does_not_take_turns_with_the_companion_for_those_with_others) {
  Driver driver;
  for (int i = 0; i < 15; ++i) EXPECT_EQ(driver.period(i == 0 ? 50 : 90, 1), 1U) << i;
}

TEST(company, needs_bytes_for_the_time_that_has_passed) {
  Driver driver;
  driver.period(50, 1);
  EXPECT_FALSE(driver.company().is_due(driver.now() + Company::period / 2));
  EXPECT_TRUE(driver.company().is_due(driver.now() + Company::period));
  EXPECT_EQ(driver.company().least_bytes(driver.now() + Duration::milliseconds(20)), 60'000'000U);
}

}  // namespace
}  // namespace weft

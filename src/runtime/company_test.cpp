// SPDX-License-Identifier: Apache-2.0
#include "runtime/company.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace weft {
namespace {

constexpr std::uint32_t own = 3, lower = 1, higher = 7;

/// A driver, and what a companion exchanges with it in a period, by whether they are together.
class Driver {
 public:
  Driver() { company_.look(now_, used_, std::nullopt); }
  /// In all periods to come it has the core for this part of the time, in percent. At first: 50.
  void has_core(int percent) { percent_ = percent; }
  std::uint32_t period(std::uint32_t companion, std::uint64_t together, std::uint64_t apart) {
    pass();
    place_ = company_.look(
        now_, used_,
        Company::Exchange{.place = companion, .bytes = place_ == own ? apart : together});
    return place_;
  }
  std::uint32_t period_alone() {
    pass();
    return place_ = company_.look(now_, used_, std::nullopt);
  }
  /// Of so many periods those in which it went to the companion's place.
  int together(int periods, std::uint64_t together, std::uint64_t apart) {
    int count = 0;
    for (int i = 0; i < periods; ++i) count += period(lower, together, apart) == lower ? 1 : 0;
    return count;
  }
  Instant now() const { return now_; }
  const Company& company() const { return company_; }

 private:
  void pass() {
    now_ = now_ + Company::period;
    used_ = used_ + Company::period * percent_ / 100;
  }

  int percent_ = 50;
  Duration used_{};
  Instant now_ = Instant{} + Company::period * (10 * Company::periods_per_trial);
  Company company_{own};
  std::uint32_t place_ = own;
};

TEST(company, goes_to_the_lower_place_of_both) {
  Driver driver;
  EXPECT_EQ(driver.period(lower, 0, 100), lower);
  Driver other;
  EXPECT_EQ(other.period(higher, 0, 100), own);
}

TEST(company, stays_at_home_without_a_companion) {
  Driver driver;
  EXPECT_EQ(driver.period_alone(), own);
  EXPECT_EQ(driver.period(lower, 0, 100), lower);
  EXPECT_EQ(driver.period_alone(), own);
}

TEST(company, stays_at_home_where_it_has_a_core_for_itself) {
  Driver driver;
  driver.has_core(80);
  EXPECT_EQ(driver.together(160, 120, 100), 0);
  driver.has_core(70);
  EXPECT_EQ(driver.period(lower, 120, 100), lower);
  driver.has_core(100);
  EXPECT_GE(driver.together(5, 120, 100), 4) << "it does not know of a free core";
  EXPECT_LE(driver.together(320, 120, 100), 40) << "it has seen one";
}

TEST(company, is_together_where_more_is_exchanged_then_and_parts_for_one_period_of_many) {
  Driver driver;
  EXPECT_EQ(driver.together(320, 120, 100), 310);
}

TEST(company, is_apart_where_more_is_exchanged_then_and_comes_for_one_period_of_many) {
  Driver driver;
  EXPECT_EQ(driver.together(320, 80, 100), 4 + 10) << "the first ones, and the trials";
}

TEST(company, is_together_where_that_makes_no_difference) {
  Driver driver;
  EXPECT_EQ(driver.together(320, 90, 100), 310);
}

TEST(company, follows_what_changes) {
  Driver driver;
  EXPECT_GE(driver.together(128, 120, 100), 110);
  EXPECT_LE(driver.together(128, 60, 100), 40) << "others need that core now";
  EXPECT_GE(driver.together(640, 50, 40), 320) << "both ways are slower now";
}

TEST(company, begins_anew_with_another_companion) {
  Driver driver;
  (void)driver.together(40, 80, 100);
  EXPECT_EQ(driver.period(0, 120, 100), 0U);
}

TEST(company, does_not_judge_by_what_it_does_not_know) {
  Driver driver;
  ASSERT_EQ(driver.period(lower, 0, 100), lower);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(driver.period(lower, 0, 100), lower) << i;
}

TEST(company, needs_bytes_for_the_time_that_has_passed) {
  Driver driver;
  EXPECT_FALSE(driver.company().is_due(driver.now() + Company::period / 2));
  EXPECT_TRUE(driver.company().is_due(driver.now() + Company::period));
  EXPECT_EQ(driver.company().least_bytes(driver.now() + Duration::milliseconds(20)), 60'000'000U);
}

}  // namespace
}  // namespace weft

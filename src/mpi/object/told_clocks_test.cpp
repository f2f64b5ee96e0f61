// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/told_clocks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <ctime>
#include <memory>

#include "mpi/object/world_for_test.hpp"

namespace weft::mpi {
namespace {

using clocks::Clock;

constexpr auto of_process = static_cast<Clock>(CLOCK_PROCESS_CPUTIME_ID);
constexpr auto of_the_wall = static_cast<Clock>(CLOCK_REALTIME);

/// A process that may have several lives, one after the other.
class Told : public ::testing::Test {
 protected:
  Told() : world_(1) { begin_life(); }
  void begin_life() {
    clocks_.reset();
    questions_ = std::make_unique<Questions>(world_[0]);
    log_ = std::make_unique<determinant::OutcomeLog>(memory_);
    questions_->use(*log_, {});
    clocks_ = std::make_unique<ToldClocks>(*questions_);
  }
  std::int64_t tell(Clock clock, std::int64_t now) { return clocks_->tell(clock, now); }

  alignas(8) std::array<std::byte, 4096> memory_{};
  testing::World world_;
  std::unique_ptr<determinant::OutcomeLog> log_;
  std::unique_ptr<Questions> questions_;
  std::unique_ptr<ToldClocks> clocks_;
};

TEST_F(Told, a_later_life_reads_what_the_earlier_one_has_read) {
  EXPECT_EQ(tell(of_the_wall, 5'000), 5'000);
  EXPECT_EQ(tell(of_process, 300), 300);
  EXPECT_EQ(tell(Clock::time, 7), 7);
  begin_life();
  EXPECT_EQ(tell(of_the_wall, 9'000), 5'000);
  EXPECT_EQ(tell(of_process, 10), 300);
  EXPECT_EQ(tell(Clock::time, 8), 7);
  EXPECT_EQ(tell(of_the_wall, 9'100), 9'100) << "a new reading";
}

TEST_F(Told, processor_time_goes_on_from_what_earlier_lives_have_used) {
  EXPECT_EQ(tell(of_process, 300), 300);
  EXPECT_EQ(tell(Clock::usage, 290), 290);
  begin_life();
  EXPECT_EQ(tell(of_process, 10), 300);
  EXPECT_EQ(tell(Clock::usage, 12), 290);
  EXPECT_EQ(tell(of_process, 25), 315);
  EXPECT_EQ(tell(Clock::usage, 20), 298);
  begin_life();
  for (const std::int64_t now : {1, 2}) (void)tell(now == 1 ? of_process : Clock::usage, now);
  EXPECT_EQ(tell(of_process, 9), 315);
  EXPECT_EQ(tell(Clock::usage, 9), 298);
  EXPECT_EQ(tell(of_process, 10), 316);
}

TEST_F(Told, a_life_that_reads_another_clock_does_not_repeat_itself) {
  EXPECT_EQ(tell(of_the_wall, 5'000), 5'000);
  begin_life();
  EXPECT_EQ(tell(of_process, 10), 10);
  EXPECT_TRUE(questions_->has_diverged());
}

}  // namespace
}  // namespace weft::mpi

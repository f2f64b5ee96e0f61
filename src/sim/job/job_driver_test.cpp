// SPDX-License-Identifier: Apache-2.0
#include "sim/job/job_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "sim/job/ranks_job.hpp"
#include "sim/workload/patterns.hpp"

namespace weft::sim {
namespace {

using testing::HasSubstr;

constexpr PicoDuration us = PicoDuration::microseconds(1);

Scenario star() {
  Scenario s;
  s.topology = "star:8";
  s.network.levels = {{.priority = 0, .weight = 1}, {.priority = 0, .weight = 8}};
  return s;
}

std::unique_ptr<Program> pairs(std::uint64_t iterations) {
  return make_pattern({.ranks = 2,
                       .message_bytes = 4096,
                       .compute = us * 2,
                       .least_compute = 1,
                       .iterations = iterations})
      .value();
}

/// Flood-pairs of two ranks each on a star, on hosts that nobody else has.
class Pairs {
 public:
  explicit Pairs(const Scenario& scenario = star())
      : world_(std::move(World::make(scenario)).value()),
        driver_(*world_, alone_, [this] { return wish_; }) {}

  RanksJob& add(std::uint64_t iterations, RanksJobOptions options = {}) {
    programs_.push_back(pairs(iterations));
    options.is_endless = iterations == 0 && options.end == PicoInstant::never();
    const auto first = static_cast<std::uint32_t>(2 * jobs_.size());
    if (options.name.empty()) options.name = "pairs" + std::to_string(jobs_.size());
    jobs_.push_back(std::make_unique<RanksJob>(*world_, *programs_.back(), std::move(options),
                                               std::vector{first, first + 1}));
    driver_.add(*jobs_.back());
    return *jobs_.back();
  }
  Result<void> run() { return driver_.run(); }
  bool cut_off() const { return driver_.cut_off(); }
  World& world() { return *world_; }
  void wish(EndWish wish) { wish_ = wish; }

 private:
  AloneExchange alone_;
  std::unique_ptr<World> world_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<RanksJob>> jobs_;
  JobDriver driver_;
  EndWish wish_ = EndWish::none;
};

TEST(job_driver, runs_jobs_beside_each_other_to_their_ends) {
  Pairs pairs;
  const RanksJob& few = pairs.add(10);
  const RanksJob& many = pairs.add(50);
  ASSERT_TRUE(pairs.run().ok());
  EXPECT_EQ(few.figures().least_iterations, 10U);
  EXPECT_EQ(many.figures().least_iterations, 50U);
  EXPECT_TRUE(few.figures().ended);
  EXPECT_EQ(few.figures().messages, 20U);
  EXPECT_EQ(few.figures().bytes, 20U * 4096);
  // They share no link: an iteration takes both the same time.
  EXPECT_NEAR(many.figures().elapsed_s, 5 * few.figures().elapsed_s, 1e-9);
}

TEST(job_driver, jobs_arrive_and_depart_when_they_are_to) {
  Pairs pairs;
  const RanksJob& all = pairs.add(100);
  const RanksJob& late =
      pairs.add(0, {.ranks = {.start = PicoInstant() + us * 50}, .end = PicoInstant() + us * 150});
  ASSERT_TRUE(pairs.run().ok());
  const double each = all.figures().elapsed_s / 100;
  EXPECT_FALSE(late.figures().ended);
  EXPECT_DOUBLE_EQ(late.figures().elapsed_s, 100e-6);
  EXPECT_NEAR(static_cast<double>(late.figures().least_iterations), 100e-6 / each, 1);
}

TEST(job_driver, jobs_without_an_end_end_with_the_others) {
  Pairs pairs;
  const RanksJob& endless = pairs.add(0);
  const RanksJob& ends = pairs.add(20);
  ASSERT_TRUE(pairs.run().ok());
  EXPECT_FALSE(endless.figures().ended);
  EXPECT_GE(endless.figures().least_iterations, ends.figures().least_iterations - 1);
}

TEST(job_driver, an_interrupt_ends_all_jobs) {
  Pairs pairs;
  const RanksJob& job = pairs.add(1'000'000);
  pairs.wish(EndWish::in_order);
  ASSERT_TRUE(pairs.run().ok());
  EXPECT_FALSE(job.figures().ended);
  EXPECT_LT(job.figures().elapsed_s, 1e-3);
}

TEST(job_driver, jobs_that_are_ended_at_once_have_the_figures_so_far) {
  Pairs pairs;
  const RanksJob& job = pairs.add(1'000'000);
  pairs.wish(EndWish::at_once);
  ASSERT_TRUE(pairs.run().ok());
  EXPECT_TRUE(pairs.cut_off());
  EXPECT_FALSE(job.figures().ended);
}

/// Rank 0 waits for a message that rank 1 never sends.
class Forgotten final : public Program {
 public:
  std::uint32_t ranks() const override { return 2; }
  Action next(std::uint32_t rank, Cursor& cursor) const override {
    if (rank == 1 || cursor.step == 2) return {};
    return cursor.step++ == 0 ? Action{.kind = Action::Kind::receive, .peer = 1, .bytes = 8}
                              : Action{.kind = Action::Kind::wait_all};
  }
};

TEST(job_driver, a_job_whose_ranks_wait_for_ever_is_an_error_with_its_name) {
  const Forgotten program;
  AloneExchange alone;
  const auto world = World::make(star()).value();
  const auto other = pairs(3);
  RanksJob stuck(*world, program, {.name = "stuck"}, {0, 1});
  RanksJob good(*world, *other, {.name = "good"}, {2, 3});
  JobDriver driver(*world, alone, {});
  driver.add(stuck);
  driver.add(good);
  const auto ran = driver.run();
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(ran.error().message, HasSubstr("job stuck: nothing happens any more"));
}

TEST(job_driver, a_job_whose_ranks_wait_for_ever_beside_endless_traffic_is_an_error) {
  const Forgotten program;
  AloneExchange alone;
  Scenario scenario = star();
  scenario.traffic = {{.load = 0.1}};
  const auto world = World::make(scenario).value();
  RanksJob stuck(*world, program, {.name = "stuck"}, {0, 1});
  JobDriver driver(*world, alone, {});
  driver.add(stuck);
  const auto ran = driver.run();
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().message, "its ranks wait for messages that nobody sends");
}

}  // namespace
}  // namespace weft::sim

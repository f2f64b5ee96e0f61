// SPDX-License-Identifier: Apache-2.0
#include "runtime/sleeper.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>

#include <optional>

namespace weft {
namespace {

// Counts how often a driver that is about to sleep asks; it has something then, so nobody sleeps.
class AskedFabric final : public Fabric {
 public:
  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "asked"; }
  std::string address() const override { return {}; }
  Result<void> add_peer(NodeId, Incarnation, std::string_view) override { return {}; }
  void remove_peer(NodeId) override {}
  Result<Region> expose(std::span<std::byte>) override { return Region{}; }
  void retract(const Region&) override {}
  std::size_t post(std::span<const TxOp>) override { return 0; }
  std::size_t poll(Instant, std::span<Completion>) override { return 0; }
  WaitHint prepare_wait(Instant) override {
    ++asked;
    return {.ready = !poll_by, .poll_by = poll_by.value_or(Instant::never()), .moving = moving};
  }
  std::optional<Instant> poll_by;
  bool moving = false;
  int asked = 0;

 private:
  FabricLimits limits_;
};

constexpr Duration spin = Duration::microseconds(30);

constexpr Instant begin = Instant{} + Duration::seconds(1);

/// The machine of the tests may take longer for a switch.
Sleeper on_usual_machine(Duration spins, bool gives_way = false) {
  return Sleeper(spins, gives_way, usual_switch);
}

int asked_in_two_turns(Sleeper sleeper, bool moving) {
  AskedFabric fabric;
  fabric.moving = moving;
  sleeper.idle(begin, fabric, Instant::never());
  sleeper.idle(begin + Duration::microseconds(20), fabric, Instant::never());
  return fabric.asked;
}

TEST(sleeper, spins_on_while_parts_of_something_move) {
  EXPECT_EQ(asked_in_two_turns(on_usual_machine(spin), false), 2);
  EXPECT_EQ(asked_in_two_turns(on_usual_machine(spin), true), 1);
}

TEST(sleeper, does_not_spin_for_it_where_others_need_the_core) {
  EXPECT_EQ(asked_in_two_turns(on_usual_machine(Duration{}), true), 2);
  Sleeper sharing = on_usual_machine(spin, true);
  AskedFabric fabric;
  sharing.idle(begin - spin, fabric, Instant::never());  // the wait begins
  EXPECT_EQ(fabric.asked, 0);
  EXPECT_EQ(asked_in_two_turns(sharing, true), 2);
}

TEST(sleeper, spins_anew_in_each_wait_where_drivers_share_cores) {
  Sleeper sharing = on_usual_machine(spin, true);
  AskedFabric fabric;
  sharing.busy(begin - Duration::milliseconds(5));
  sharing.idle(begin, fabric, Instant::never());
  sharing.idle(begin + Duration::microseconds(20), fabric, Instant::never());
  EXPECT_EQ(fabric.asked, 0);
  sharing.idle(begin + spin, fabric, Instant::never());
  EXPECT_EQ(fabric.asked, 1);
}

// The turns' times are invented, so that the yields seem to last as long as a test says.
class SharedCore : public testing::Test {
 protected:
  /// Returns whether a driver that finds nothing to do at `now` is about to sleep.
  bool sleeps_at(Instant now) {
    const int before = fabric.asked;
    sleeper.idle(now, fabric, Instant::never());
    return fabric.asked > before;
  }
  /// Another process has the core for 3 ms, once and again. Returns when the last yield ended.
  Instant lose_core(Instant now, int yields, Duration between = Duration::microseconds(50)) {
    for (int i = 0; i < yields; ++i) {
      now = now + between;
      EXPECT_FALSE(sleeps_at(now));
      EXPECT_FALSE(sleeps_at(now + Duration::microseconds(25)));  // it yields
      now = now + Duration::milliseconds(3);
      sleeper.busy(now);
    }
    return now;
  }
  AskedFabric fabric;
  Sleeper sleeper = on_usual_machine(Duration::microseconds(300), true);
  Instant begin = Instant{} + Duration::seconds(1);
};

TEST_F(SharedCore, spins_as_long_as_yields_are_short) {
  sleeper.busy(begin);
  EXPECT_FALSE(sleeps_at(begin + Duration::microseconds(1)));
  EXPECT_FALSE(sleeps_at(begin + Duration::microseconds(200)));
  EXPECT_TRUE(sleeps_at(begin + Duration::microseconds(400)));
}

TEST_F(SharedCore, forgets_soon_however_long_somebody_computed_beside_it) {
  sleeper.busy(begin);
  Instant now = lose_core(begin, 5);
  for (int i = 0; i < 100; ++i) {
    now = now + Duration::milliseconds(20) + Duration::microseconds(100);
    sleeper.busy(now);
    now = lose_core(now, 1);
  }
  now = now + Duration::milliseconds(220);
  sleeper.busy(now);
  EXPECT_FALSE(sleeps_at(lose_core(now, 2)));
}

TEST_F(SharedCore, sleeps_instead_of_yielding_to_somebody_who_keeps_the_core) {
  sleeper.busy(begin);
  const Instant late = lose_core(begin, 5);
  EXPECT_TRUE(sleeps_at(late));
  EXPECT_TRUE(sleeps_at(late + Duration::milliseconds(19)));
  const Instant calm = late + Duration::milliseconds(20) + Duration::microseconds(100);
  sleeper.busy(calm);
  EXPECT_FALSE(sleeps_at(calm));
  // Once more is enough.
  EXPECT_TRUE(sleeps_at(lose_core(calm, 1)));
}

TEST_F(SharedCore, goes_on_yielding_where_it_loses_the_core_for_long_now_and_then) {
  for (int i = 0; i < 10; ++i) {
    begin = begin + Duration::milliseconds(60);
    sleeper.busy(begin);
    begin = lose_core(begin, 2);
    EXPECT_FALSE(sleeps_at(begin));
  }
}

TEST_F(SharedCore, goes_on_yielding_where_it_has_the_core_for_its_share_of_the_time) {
  sleeper.busy(begin);
  EXPECT_FALSE(sleeps_at(begin));
  const Instant yield = begin + Duration::milliseconds(4);
  sleeper.busy(yield);
  EXPECT_FALSE(sleeps_at(yield));
  EXPECT_FALSE(sleeps_at(yield + Duration::microseconds(2)));  // it yields
  const Instant back = yield + Duration::milliseconds(4);
  sleeper.busy(back);
  EXPECT_FALSE(sleeps_at(back));
}

TEST_F(SharedCore, gives_way_after_a_while_also_with_a_core_of_its_own) {
  sleeper = on_usual_machine(spin);
  sleeper.busy(begin);
  EXPECT_FALSE(sleeps_at(begin + Duration::microseconds(5)));
  sleeper.busy(begin + Duration::milliseconds(30));
  EXPECT_FALSE(sleeps_at(begin + Duration::milliseconds(30)));  // it did not
  EXPECT_TRUE(
      sleeps_at(lose_core(begin + Duration::milliseconds(30), 5, Duration::microseconds(2))));
}

TEST_F(SharedCore, does_not_take_its_own_work_for_a_yield) {
  sleeper.busy(begin);
  EXPECT_FALSE(sleeps_at(begin));
  sleeper.busy(begin + Duration::microseconds(5));
  sleeper.busy(begin + Duration::milliseconds(7));
  EXPECT_FALSE(sleeps_at(begin + Duration::milliseconds(7)));
}

bool sleeps_right_before_a_deadline(Sleeper sleeper, bool punctual) {
  AskedFabric fabric;
  const Instant begin = Instant{} + Duration::seconds(1);
  fabric.poll_by = begin + Duration::microseconds(40);
  if (punctual) sleeper.be_punctual();
  sleeper.idle(begin, fabric, Instant::never());
  const int before = fabric.asked;
  sleeper.idle(begin + Duration::microseconds(39), fabric, Instant::never());
  return fabric.asked > before;
}

TEST(sleeper, spins_for_a_deadline_that_a_punctual_driver_could_wake_too_late_for) {
  EXPECT_TRUE(sleeps_right_before_a_deadline(on_usual_machine(spin), false));
  EXPECT_FALSE(sleeps_right_before_a_deadline(on_usual_machine(spin), true));
  // With fewer cores than drivers it sleeps.
  EXPECT_TRUE(sleeps_right_before_a_deadline(on_usual_machine(spin, true), true));
}

TEST(sleeper, learns_how_late_it_wakes) {
  Lateness lateness;
  const Duration at_first = lateness.ahead();
  lateness.woke(Duration::microseconds(150));
  EXPECT_EQ(lateness.ahead(), Duration::microseconds(150));
  for (int i = 0; i < 100; ++i) lateness.woke(Duration::microseconds(10));
  EXPECT_LT(lateness.ahead(), Duration::microseconds(12));
  // The machine was away: no sleep is so much shorter.
  lateness.woke(Duration::seconds(1));
  EXPECT_EQ(lateness.ahead(), Duration::microseconds(200));
  EXPECT_LT(at_first, lateness.ahead());
}

TEST(sleeper, comes_back_to_its_core_and_leaves_the_cores_that_it_may_use_as_they_are) {
  cpu_set_t before, after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  for (std::uint32_t place = 0; place < 3; ++place) {
    Sleeper sharing = on_usual_machine(spin, true);
    sharing.keep_to(place);
    AskedFabric fabric;
    sharing.idle(begin, fabric, Instant::never());
    sharing.idle(begin + Duration::microseconds(2), fabric, Instant::never());  // it yields
    sharing.busy(begin + Duration::microseconds(4));
    ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }
}

TEST(sleeper, has_homes_that_part_neighbours_and_spread_every_second_place) {
  const std::uint32_t wanted[] = {0, 1, 1, 0, 0, 1, 1, 0};
  for (std::uint32_t place = 0; place < 8; ++place) EXPECT_EQ(home_core(place, 2), wanted[place]);
  EXPECT_EQ(home_core(3, 4), 3U);
  EXPECT_EQ(home_core(4, 4), 3U);
  EXPECT_EQ(home_core(7, 4), 0U);
  EXPECT_EQ(home_core(5, 1), 0U);
}

TEST(sleeper, does_not_let_the_kernel_oversleep) {
  Sleeper sleeper = on_usual_machine(Duration{});
  const Instant begin = Instant{} + Duration::seconds(1);
  sleeper.sleep(begin, begin + Duration::microseconds(1));
  EXPECT_EQ(::prctl(PR_GET_TIMERSLACK), 1);
}

}  // namespace
}  // namespace weft

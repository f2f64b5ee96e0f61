// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/in_order.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace weft::schedule {
namespace {

class Scripted final : public SendState {
 public:
  std::set<std::uint64_t> started;
  std::set<std::uint64_t> without_credit;
  std::uint64_t end = ~std::uint64_t{0};
  TimesliceIndex all_below{};
  TimesliceIndex started_below() const override { return all_below; }
  Readiness readiness(TimesliceIndex t) const override {
    if (t < all_below) return Readiness::started;
    if (t.value() >= end) return Readiness::after_end;
    if (started.count(t.value()) != 0) return Readiness::started;
    return without_credit.count(t.value()) != 0 ? Readiness::no_credit : Readiness::sendable;
  }
};

std::vector<std::uint64_t> send_all(InputSchedule& schedule, Scripted& state, int most = 100) {
  std::vector<std::uint64_t> order;
  for (int i = 0; i < most; ++i) {
    const Choice choice = schedule.choose(Instant{}, state);
    if (choice.kind != Choice::Kind::send) break;
    order.push_back(choice.timeslice.value());
    state.started.insert(choice.timeslice.value());
    schedule.on_started(Instant{}, choice.timeslice);
  }
  return order;
}

TEST(round_grid, finds_rounds_and_compute_nodes_for_any_number_of_them) {
  for (std::uint32_t computes = 1; computes <= 33; ++computes) {
    const RoundGrid grid{.first = TimesliceIndex(7), .computes = computes};
    for (std::uint64_t round = 0; round < 3; ++round) {
      for (std::uint32_t c = 0; c < computes; ++c) {
        const TimesliceIndex t = grid.timeslice(round, c);
        EXPECT_EQ(grid.round_of(t), round) << computes;
        EXPECT_EQ(grid.compute_of(t), c) << computes;
        EXPECT_EQ(grid.round_from(t, c), round) << computes;
        EXPECT_EQ(grid.round_from(t.plus(1), c), round + 1) << computes;
      }
    }
  }
}

TEST(best_effort, starts_every_round_at_compute_node_0) {
  const auto schedule = make_best_effort_input();
  schedule->on_grid(Instant{}, {.first = TimesliceIndex(10), .computes = 3});
  Scripted state;
  EXPECT_EQ(send_all(*schedule, state, 4), (std::vector<std::uint64_t>{10, 11, 12, 13}));
}

TEST(offset, input_i_starts_every_round_at_compute_node_i) {
  const auto schedule = make_offset_input(2);
  schedule->on_grid(Instant{}, {.first = TimesliceIndex(10), .computes = 3});
  Scripted state;
  EXPECT_EQ(send_all(*schedule, state, 6), (std::vector<std::uint64_t>{12, 10, 11, 15, 13, 14}));
}

TEST(offset, in_each_step_every_input_sends_to_another_compute_node) {
  constexpr std::uint32_t n = 5;
  for (std::uint32_t step = 0; step < n; ++step) {
    std::set<std::uint32_t> targets;
    for (std::uint32_t input = 0; input < n; ++input) {
      const auto schedule = make_offset_input(input);
      const RoundGrid grid{.first = TimesliceIndex{}, .computes = n};
      schedule->on_grid(Instant{}, grid);
      Scripted state;
      const auto order = send_all(*schedule, state, static_cast<int>(step) + 1);
      targets.insert(grid.compute_of(TimesliceIndex(order.back())));
    }
    EXPECT_EQ(targets.size(), n) << "step " << step;
  }
}

TEST(offset, passes_over_any_number_of_timeslices_at_once) {
  const auto schedule = make_offset_input(2);
  schedule->on_grid(Instant{}, {.first = TimesliceIndex(10), .computes = 3});
  Scripted state;
  EXPECT_EQ(send_all(*schedule, state, 1), (std::vector<std::uint64_t>{12}));
  const std::uint64_t third = 3 * (std::uint64_t{1} << 40);
  state.all_below = TimesliceIndex(10 + third + 1);
  EXPECT_EQ(
      send_all(*schedule, state, 5),
      (std::vector<std::uint64_t>{third + 12, third + 11, third + 15, third + 13, third + 14}));
}

TEST(offset, waits_for_credit_without_overtaking) {
  const auto schedule = make_offset_input(0);
  schedule->on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  Scripted state;
  state.without_credit.insert(1);
  EXPECT_EQ(send_all(*schedule, state), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(schedule->choose(Instant{}, state).timeslice, TimesliceIndex(1));
}

TEST(offset, sends_what_is_before_the_end_of_the_last_round) {
  const auto schedule = make_offset_input(2);
  schedule->on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 3});
  Scripted state;
  state.end = 5;
  auto order = send_all(*schedule, state);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 0, 1, 3, 4}));
}

}  // namespace
}  // namespace weft::schedule

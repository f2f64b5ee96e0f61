// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/distributed_deterministic_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/rng.hpp"

namespace weft::schedule::dfs {
namespace {

constexpr RoundGrid grid_of(std::uint32_t computes, std::uint64_t first = 0) {
  return {.first = TimesliceIndex(first), .computes = computes};
}

DfsOptions small_options() {
  DfsOptions options;
  options.timeslices_per_interval = 8;
  return options;
}

/// A report without latency: sent at its interval's end.
Report report(std::uint64_t id, std::int64_t start, std::int64_t duration,
              std::int64_t proposed = 0) {
  return {.grid_first = {},
          .interval = IntervalId(id),
          .start = Instant(start),
          .duration = Duration(duration),
          .proposed = Duration(proposed),
          .latency = {},
          .requested = IntervalId(id + 2)};
}

template <class T>
void deliver(DistributedDeterministicEngine& engine, std::uint32_t from, const T& message,
             Instant now) {
  Message m;
  encode(message, m);
  engine.on_message(now, from, {m.bytes.data(), m.size});
}

/// Delivers a report the moment it was sent; the input's clock is `offset` behind the engine's.
void deliver_report(DistributedDeterministicEngine& engine, std::uint32_t from, const Report& r,
                    Duration offset = {}) {
  deliver(engine, from, r, r.start + r.duration + offset);
}

std::map<std::uint32_t, Proposal> proposals(DistributedDeterministicEngine& engine) {
  MessageBox box(1'024);
  engine.write_messages(Instant(0), box);
  std::map<std::uint32_t, Proposal> found;
  for (const Message& m : box.view()) {
    found[m.to] = std::get<Proposal>(decode({m.bytes.data(), m.size}));
  }
  return found;
}

TEST(engine, proposes_when_every_input_has_reported) {
  DistributedDeterministicEngine engine(small_options(), 2, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  deliver_report(engine, 0, report(0, 1'000, 400));
  EXPECT_TRUE(proposals(engine).empty());
  deliver_report(engine, 1, report(0, 1'200, 440));
  const auto sent = proposals(engine);
  ASSERT_EQ(sent.size(), 2u);
  // avg_tm = 1100, med_dur = 420, so tp_2 = (1100 + 420) + (2 − 0 − 1) · 420 = 1940.
  for (const auto& [to, p] : sent) {
    EXPECT_EQ(p.interval, IntervalId(2));
    EXPECT_EQ(p.start, Instant(1'940));
    EXPECT_EQ(p.duration, Duration(420));
    EXPECT_EQ(p.spacing, Duration(420));
    EXPECT_EQ(p.rounds, 2u);
    EXPECT_EQ(p.first_timeslice, TimesliceIndex(16));
  }
  EXPECT_TRUE(proposals(engine).empty());
}

TEST(engine, translates_between_the_clocks_of_inputs) {
  DistributedDeterministicEngine engine(small_options(), 2, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  // Input 1's clock shows 5000 more than the engine's: both started at 1000.
  deliver_report(engine, 0, report(0, 1'000, 400));
  deliver_report(engine, 1, report(0, 6'000, 400), Duration(-5'000));
  const auto sent = proposals(engine);
  EXPECT_EQ(sent.at(0).start, Instant(1'800));
  EXPECT_EQ(sent.at(1).start, Instant(6'800));
}

TEST(engine, answers_for_the_interval_that_was_requested) {
  DistributedDeterministicEngine engine(small_options(), 2, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  Report ahead = report(0, 1'000, 400);
  ahead.requested = IntervalId(5);
  deliver_report(engine, 0, ahead);
  deliver_report(engine, 1, report(0, 1'000, 400));
  const auto sent = proposals(engine);
  EXPECT_EQ(sent.at(0).interval, IntervalId(5));
  EXPECT_EQ(sent.at(0).start, Instant(1'400 + 4 * 400));
  EXPECT_EQ(sent.at(1).interval, IntervalId(2));
  EXPECT_EQ(sent.at(1).start, Instant(1'400 + 400));
}

TEST(engine, shortens_the_duration_when_proposals_are_kept) {
  DistributedDeterministicEngine engine(small_options(), 1, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  for (std::uint64_t j = 0; j < 3; ++j) {
    deliver_report(engine, 0, report(j, 1'000 * static_cast<int>(j), 1'000, j < 2 ? 0 : 990));
  }
  EXPECT_EQ(proposals(engine).at(0).duration, Duration(950));
}

TEST(engine, restarted_engine_is_silent_until_its_history_is_full) {
  DfsOptions options = small_options();
  options.history_length = 4;
  DistributedDeterministicEngine engine(options, 1, true);
  engine.on_grid(Instant(0), grid_of(4), 0);
  for (std::uint64_t j = 7; j < 10; ++j) {
    deliver_report(engine, 0, report(j, 1'000 * static_cast<int>(j), 1'000));
    EXPECT_TRUE(proposals(engine).empty()) << j;
  }
  deliver_report(engine, 0, report(10, 10'000, 1'000));
  EXPECT_EQ(proposals(engine).at(0).interval, IntervalId(12));
}

TEST(engine, goes_on_with_fewer_inputs_when_one_is_gone) {
  DistributedDeterministicEngine engine(small_options(), 3, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  deliver_report(engine, 0, report(0, 1'000, 400));
  deliver_report(engine, 1, report(0, 1'000, 400));
  EXPECT_TRUE(proposals(engine).empty());
  engine.on_input(Instant(1'500), 2, false);
  const auto sent = proposals(engine);
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_FALSE(sent.contains(2));
}

TEST(engine, input_that_comes_back_with_another_clock_is_understood) {
  DistributedDeterministicEngine engine(small_options(), 1, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  deliver_report(engine, 0, report(0, 1'000, 400));
  (void)proposals(engine);
  engine.on_input(Instant(1'500), 0, false);
  engine.on_input(Instant(1'600), 0, true);
  deliver_report(engine, 0, report(1, 91'400, 400), Duration(-90'000));
  EXPECT_EQ(proposals(engine).at(0).start, Instant(91'400 + 800));
}

TEST(engine, takes_over_silently_when_the_grid_makes_it_an_engine) {
  DfsOptions options = small_options();
  options.engines = 1;
  options.history_length = 2;
  DistributedDeterministicEngine engine(options, 1, false);
  engine.on_grid(Instant(0), grid_of(4), 1);
  deliver_report(engine, 0, report(0, 1'000, 400));
  EXPECT_TRUE(proposals(engine).empty());  // it is not an engine
  engine.on_grid(Instant(2'000), grid_of(3, 100), 0);
  Report r = report(100, 2'000, 400);
  r.grid_first = TimesliceIndex(100);
  deliver_report(engine, 0, r);
  EXPECT_TRUE(proposals(engine).empty());
  r = report(101, 2'400, 400);
  r.grid_first = TimesliceIndex(100);
  deliver_report(engine, 0, r);
  EXPECT_EQ(proposals(engine).size(), 1u);
}

TEST(engine, keeps_its_history_across_grids) {
  DistributedDeterministicEngine engine(small_options(), 1, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  for (std::uint64_t j = 0; j < 3; ++j) {
    deliver_report(engine, 0, report(j, 1'000 * static_cast<int>(j), 1'000));
  }
  (void)proposals(engine);
  engine.on_grid(Instant(4'000), grid_of(3, 24), 0);
  Report r = report(24, 4'000, 760);
  r.grid_first = TimesliceIndex(24);
  deliver_report(engine, 0, r);
  // Median of {1000, 1000, 1000, 760}: the old pace is left step by step.
  const auto sent = proposals(engine);
  EXPECT_EQ(sent.at(0).spacing, Duration(1'000));
  EXPECT_EQ(sent.at(0).rounds, 2u);
  EXPECT_EQ(sent.at(0).first_timeslice, TimesliceIndex(24 + 2 * 6));
}

TEST(engine, reports_of_another_grid_complete_nothing) {
  DistributedDeterministicEngine engine(small_options(), 1, false);
  engine.on_grid(Instant(0), grid_of(4, 50), 0);
  deliver_report(engine, 0, report(60, 1'000, 400));
  EXPECT_TRUE(proposals(engine).empty());
}

TEST(engine, hello_gives_the_first_offset_whether_it_comes_before_or_after_the_grid) {
  for (const bool before : {false, true}) {
    DistributedDeterministicEngine engine(small_options(), 2, false);
    const Hello hello{.grid_first = TimesliceIndex(0), .start = Instant(7'000)};
    if (before) deliver(engine, 1, hello, Instant(90));
    engine.on_grid(Instant(100), grid_of(4), 0);
    if (!before) deliver(engine, 1, hello, Instant(110));
    // Input 1 has reported nothing and is taken for gone from this interval on, then comes back;
    // its proposal rests on the barrier: 100 here is 7000 there.
    engine.on_input(Instant(120), 1, false);
    deliver(engine, 1, hello, Instant(125));
    deliver_report(engine, 0, report(0, 1'000, 400));
    engine.on_input(Instant(1'500), 1, true);
    EXPECT_EQ(proposals(engine).size(), 1u);
    deliver_report(engine, 0, report(1, 1'400, 400));
    deliver_report(engine, 1, report(1, 8'300, 400), Duration(-6'900));
    EXPECT_EQ(proposals(engine).at(1).start, Instant(1'800 + 400 + 6'900));
  }
}

TEST(engine, proposals_wait_for_room_in_the_box) {
  DistributedDeterministicEngine engine(small_options(), 5, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  for (std::uint32_t i = 0; i < 5; ++i) deliver_report(engine, i, report(0, 1'000, 400));
  std::vector<std::uint32_t> to;
  for (int n = 0; n < 4; ++n) {
    MessageBox box(2);
    engine.write_messages(Instant(0), box);
    for (const Message& m : box.view()) to.push_back(m.to);
  }
  EXPECT_EQ(to, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

// Known mistake of the public implementations: they poll at full rate.
TEST(engine, wants_no_calls_without_events) {
  DistributedDeterministicEngine engine(small_options(), 1, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  deliver_report(engine, 0, report(0, 1'000, 400));
  EXPECT_EQ(engine.next_deadline(), Instant::never());
}

TEST(engine, malformed_messages_and_unknown_inputs_are_ignored) {
  DistributedDeterministicEngine engine(small_options(), 1, false);
  engine.on_grid(Instant(0), grid_of(4), 0);
  const std::byte junk[] = {std::byte{2}, std::byte{0}};
  engine.on_message(Instant(0), 0, junk);
  deliver_report(engine, 17, report(0, 1'000, 400));
  engine.on_input(Instant(0), 17, true);
  EXPECT_TRUE(proposals(engine).empty());
}

// Known mistake of the public implementations: at most 15 connections, messages of inputs ×
// computes.
TEST(engine, serves_192_inputs_with_one_small_message_each) {
  DistributedDeterministicEngine engine(DfsOptions{}, 192, false);
  engine.on_grid(Instant(0), grid_of(192), 191);
  for (std::uint32_t i = 0; i < 192; ++i) deliver_report(engine, i, report(0, 1'000, 400));
  MessageBox box(1'024);
  engine.write_messages(Instant(0), box);
  ASSERT_EQ(box.size(), 192u);
  for (const Message& m : box.view()) EXPECT_EQ(m.size, Proposal::size);
}

/// One input's report as it reaches a replica.
struct Arrival {
  std::uint32_t input;
  Report report;
};

// Reports of all inputs for `intervals` intervals, each input's in order.
std::vector<std::vector<Report>> random_reports(Rng& rng, std::uint32_t inputs,
                                                std::uint64_t intervals) {
  std::vector<std::vector<Report>> reports(inputs);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    std::int64_t start = static_cast<std::int64_t>(rng.below(1'000'000));
    for (std::uint64_t j = 0; j < intervals; ++j) {
      const auto duration = static_cast<std::int64_t>(1'000'000 + rng.below(300'000));
      const auto proposed = static_cast<std::int64_t>(900'000 + rng.below(100'000));
      reports[i].push_back(report(j, start, duration, j < 2 ? 0 : proposed));
      start += duration + static_cast<std::int64_t>(rng.below(50'000));
    }
  }
  return reports;
}

// A random order in which a replica sees them; no input is more than a few intervals ahead.
std::vector<Arrival> random_order(Rng& rng, const std::vector<std::vector<Report>>& reports) {
  std::vector<std::size_t> next(reports.size());
  std::vector<Arrival> order;
  for (;;) {
    const std::size_t slowest = *std::min_element(next.begin(), next.end());
    if (slowest == reports[0].size()) return order;
    const auto i = static_cast<std::uint32_t>(rng.below(reports.size()));
    if (next[i] == reports[i].size() || next[i] > slowest + 3) continue;
    order.push_back({i, reports[i][next[i]++]});
  }
}

TEST(engine, replicas_send_the_same_bytes_for_the_same_history) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto reports = random_reports(rng, 5, 30);
    DistributedDeterministicEngine a(small_options(), 5, false);
    DistributedDeterministicEngine b(small_options(), 5, false);
    a.on_grid(Instant(0), grid_of(4), 0);
    b.on_grid(Instant(0), grid_of(4), 3);
    for (const Arrival& arrival : random_order(rng, reports)) {
      MessageBox from_a(16);
      MessageBox from_b(16);
      deliver_report(a, arrival.input, arrival.report);
      deliver_report(b, arrival.input, arrival.report);
      a.write_messages(Instant(0), from_a);
      b.write_messages(Instant(0), from_b);
      ASSERT_EQ(from_a.size(), from_b.size());
      for (std::size_t n = 0; n < from_a.size(); ++n) {
        EXPECT_EQ(from_a[n].to, from_b[n].to);
        EXPECT_EQ(from_a[n].bytes, from_b[n].bytes);
      }
    }
  }
}

TEST(engine, replicas_with_other_clocks_and_orders_propose_the_same_durations) {
  using Durations = std::map<std::pair<std::uint32_t, IntervalId>, std::pair<Duration, Duration>>;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto reports = random_reports(rng, 4, 40);
    Durations first;
    for (int replica = 0; replica < 3; ++replica) {
      DistributedDeterministicEngine engine(small_options(), 4, false);
      engine.on_grid(Instant(0), grid_of(4), 0);
      const Duration offset(static_cast<std::int64_t>(rng.below(10'000'000)));
      Durations mine;
      for (const Arrival& arrival : random_order(rng, reports)) {
        const Duration delay(static_cast<std::int64_t>(rng.below(20'000)));
        deliver_report(engine, arrival.input, arrival.report, offset + delay);
        for (const auto& [to, p] : proposals(engine)) {
          mine[{to, p.interval}] = {p.duration, p.spacing};
        }
      }
      EXPECT_EQ(mine.size(), 4u * 40u);
      if (replica == 0) first = mine;
      EXPECT_EQ(mine, first);
    }
  }
}

}  // namespace
}  // namespace weft::schedule::dfs

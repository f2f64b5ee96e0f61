// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace weft::sim {
namespace {

/// Notes the arguments of its calls, and lets the test react.
struct Recorder : EventHandler {
  std::vector<std::pair<std::int64_t, std::uint32_t>> seen;
  std::function<void(const Event&)> react;
  void on_event(const Event& e) override {
    seen.emplace_back(e.time.ticks(), e.target);
    if (react) react(e);
  }
};

using Seen = std::vector<std::pair<std::int64_t, std::uint32_t>>;

TEST(engine, handles_events_in_order_and_stops_before_the_end) {
  Engine engine(2);
  Recorder recorder;
  engine.handle(EventKind::timer, recorder);
  engine.schedule(1, PicoInstant(30), EventKind::timer, 3, 0, 0);
  engine.schedule(0, PicoInstant(10), EventKind::timer, 1, 0, 0);
  engine.schedule(0, PicoInstant(20), EventKind::timer, 2, 0, 0);
  engine.run_until(PicoInstant(30));
  EXPECT_EQ(recorder.seen, (Seen{{10, 1}, {20, 2}}));
  EXPECT_EQ(engine.now(), PicoInstant(30));
  engine.run_until(PicoInstant(31));
  EXPECT_EQ(recorder.seen.size(), 3u);
}

TEST(engine, events_may_cause_others_at_the_same_instant) {
  Engine engine(1);
  Recorder recorder;
  engine.handle(EventKind::timer, recorder);
  recorder.react = [&](const Event& e) {
    if (e.target < 3) engine.schedule(0, e.time, EventKind::timer, e.target + 1, 0, 0);
  };
  engine.schedule(0, PicoInstant(7), EventKind::timer, 1, 0, 0);
  engine.run_until(PicoInstant(8));
  EXPECT_EQ(recorder.seen, (Seen{{7, 1}, {7, 2}, {7, 3}}));
}

TEST(engine, a_wake_up_comes_behind_what_others_caused_for_its_instant) {
  Engine engine(4);
  Recorder recorder;
  engine.handle(EventKind::timer, recorder);
  engine.handle(EventKind::port_wakes, recorder);
  engine.schedule_wake(0, PicoInstant(5), EventKind::port_wakes, 100);
  engine.schedule(3, PicoInstant(5), EventKind::timer, 1, 0, 0);
  engine.run_until(PicoInstant(6));
  EXPECT_EQ(recorder.seen, (Seen{{5, 1}, {5, 100}}));
}

TEST(engine, stops_when_told_and_goes_on_later) {
  Engine engine(1);
  Recorder recorder;
  engine.handle(EventKind::timer, recorder);
  recorder.react = [&](const Event&) { engine.stop(); };
  engine.schedule(0, PicoInstant(1), EventKind::timer, 1, 0, 0);
  engine.schedule(0, PicoInstant(2), EventKind::timer, 2, 0, 0);
  engine.run_until(PicoInstant(10));
  EXPECT_EQ(engine.now(), PicoInstant(1));
  engine.run_until(PicoInstant(10));
  EXPECT_EQ(recorder.seen.size(), 2u);
}

TEST(engine, wake_ups_count_as_events_when_they_were_of_use) {
  Engine engine(1);
  Recorder recorder;
  engine.handle(EventKind::timer, recorder);
  engine.handle(EventKind::port_wakes, recorder);
  recorder.react = [&](const Event& e) {
    if (e.target == 2) engine.count_wake();
  };
  engine.schedule(0, PicoInstant(1), EventKind::timer, 1, 0, 0);
  engine.schedule_wake(0, PicoInstant(2), EventKind::port_wakes, 2);
  engine.schedule_wake(0, PicoInstant(3), EventKind::port_wakes, 3);
  engine.run_until(PicoInstant(10));
  EXPECT_EQ(engine.events(), 2u);
  EXPECT_EQ(engine.handled(), 3u);
}

TEST(engine, a_counted_event_is_the_last_one_when_no_other_follows) {
  Engine engine(1);
  Recorder recorder;
  engine.handle(EventKind::timer, recorder);
  engine.schedule(0, PicoInstant(7), EventKind::timer, 1, 0, 0);
  engine.count(0, PicoInstant(9), EventKind::timer, 2);
  engine.run_until(PicoInstant(8));
  EXPECT_EQ(engine.last_event(), PicoInstant(9));
  EXPECT_EQ(engine.events(), 2u);
}

TEST(engine, a_foreign_event_takes_the_place_that_its_source_gave_it) {
  Engine here(2), there(2);
  Recorder recorder;
  here.handle(EventKind::timer, recorder);
  const Event foreign{.time = PicoInstant(5),
                      .sequence = there.next_sequence(0),
                      .source = 0,
                      .target = 1,
                      .kind = EventKind::timer};
  here.schedule(1, PicoInstant(5), EventKind::timer, 2, 0, 0);
  here.schedule_foreign(foreign);
  here.run_until(PicoInstant(6));
  EXPECT_EQ(recorder.seen, (Seen{{5, 1}, {5, 2}}));
  EXPECT_EQ(there.next_sequence(0), 1u);
}

TEST(engine, shared_timers_come_behind_vertices_and_count_where_they_are_told_to) {
  const auto run = [](bool counts) {
    Engine engine(1);
    engine.count_shared(counts);
    Recorder recorder;
    engine.handle(EventKind::timer, recorder);
    engine.handle(EventKind::shared_timer, recorder);
    engine.schedule_shared(PicoInstant(5), 8, 0, 0);
    engine.schedule_shared(PicoInstant(5), 9, 0, 0);
    engine.schedule(0, PicoInstant(5), EventKind::timer, 1, 0, 0);
    engine.run_until(PicoInstant(6));
    EXPECT_EQ(recorder.seen, (Seen{{5, 1}, {5, 8}, {5, 9}}));
    return std::pair(engine.events(), engine.trace_hash());
  };
  EXPECT_EQ(run(true).first, 3u);
  EXPECT_EQ(run(false).first, 1u);
  EXPECT_NE(run(true).second, run(false).second);
}

/// The hash of a run with two targets, whose events were scheduled in this order of targets.
std::uint64_t hash_of(std::vector<std::uint32_t> targets, std::int64_t at) {
  Engine engine(2);
  Recorder recorder;
  engine.handle(EventKind::timer, recorder);
  for (const std::uint32_t t : targets) {
    engine.schedule(t, PicoInstant(at), EventKind::timer, t, 0, 0);
  }
  engine.run_until(PicoInstant(100));
  return engine.trace_hash();
}

TEST(engine, the_trace_hash_tells_runs_apart_and_ignores_the_order_of_scheduling) {
  EXPECT_EQ(hash_of({0, 1}, 5), hash_of({1, 0}, 5));
  EXPECT_NE(hash_of({0, 1}, 5), hash_of({0, 1}, 6));
  EXPECT_NE(hash_of({0, 1}, 5), hash_of({0}, 5));
}

}  // namespace
}  // namespace weft::sim

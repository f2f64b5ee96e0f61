// SPDX-License-Identifier: Apache-2.0
#include "sim/job/hosted_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace weft::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// Notes when it gets the processor, and keeps it for as long as it is told to.
class Noting final : public HostedProcess {
 public:
  using HostedProcess::HostedProcess;

  void begin() {
    begin_life();
    fabric_ = hub().open(self(), incarnation(), [] {});
    wake_at(now());
  }
  void want(PicoInstant at) { wake_at(at); }
  void keep(PicoDuration time) { takes_ = time; }
  Fabric& fabric() { return *fabric_; }
  /// The peers that completions of that kind are about, since the last call.
  std::vector<std::uint32_t> take(CompletionKind kind) {
    std::vector<Completion> completions(16);
    completions.resize(fabric_->poll(local_now(), completions));
    std::vector<std::uint32_t> peers;
    for (const Completion& c : completions) {
      if (c.kind == kind) peers.push_back(c.peer.value());
    }
    return peers;
  }
  Instant shown() const { return local_now(); }
  std::vector<std::int64_t> take_turns() { return std::exchange(turns_, {}); }

 private:
  bool can_work() const override { return fabric_ != nullptr; }
  void turn() override {
    turns_.push_back((now() - PicoInstant()).ticks() / 1'000);
    work_until(now() + takes_);
  }
  void close() override { fabric_.reset(); }

  std::unique_ptr<Fabric> fabric_;
  PicoDuration takes_{};
  std::vector<std::int64_t> turns_;  // ns
};

class NotingJob final : public HostedJob {
 public:
  NotingJob(World& world, std::vector<std::uint32_t> hosts)
      : HostedJob(world, std::move(hosts), Duration::seconds(1)) {
    for (std::uint32_t n = 0; n < this->hosts().size(); ++n) {
      processes_.push_back(std::make_unique<Noting>(place_of(n, 0)));
    }
  }
  void introduce(std::uint32_t to, std::uint32_t about) {
    const auto added = (*this)[to].fabric().add_peer(NodeId(about), (*this)[about].incarnation(),
                                                     hub().address_of(NodeId(about)));
    EXPECT_TRUE(added.ok());
  }
  Noting& operator[](std::uint32_t n) { return *processes_[n]; }

 private:
  HostedProcess& process(std::uint32_t n) override { return *processes_[n]; }

  std::vector<std::unique_ptr<Noting>> processes_;
};

PicoInstant at_ns(std::int64_t ns) {
  return PicoInstant() + PicoDuration::nanoseconds(ns);
}

std::unique_ptr<World> star(const ClockOptions& clocks = {}) {
  Scenario scenario;
  scenario.topology = "star:4";
  scenario.clocks = clocks;
  auto world = World::make(scenario);
  EXPECT_TRUE(world.ok());
  return std::move(world).value();
}

TEST(hosted_process, is_woken_at_the_earliest_time_that_it_asked_for) {
  const auto world = star();
  NotingJob job(*world, {0, 1});
  job[0].begin();
  world->engine().run_until(at_ns(10));
  EXPECT_THAT(job[0].take_turns(), ElementsAre(0));
  job[0].want(at_ns(300));
  job[0].want(at_ns(200));
  job[0].want(at_ns(400));
  world->engine().run_until(at_ns(1'000));
  EXPECT_THAT(job[0].take_turns(), ElementsAre(200));
  EXPECT_THAT(job[1].take_turns(), ElementsAre());
}

TEST(hosted_process, waits_for_its_processor) {
  const auto world = star();
  NotingJob job(*world, {0});
  job[0].keep(PicoDuration::nanoseconds(500));
  job[0].begin();
  world->engine().run_until(at_ns(10));
  job[0].want(at_ns(100));
  world->engine().run_until(at_ns(1'000));
  EXPECT_THAT(job[0].take_turns(), ElementsAre(0, 500));
}

TEST(hosted_process, does_nothing_while_it_is_paused_or_dead) {
  const auto world = star();
  NotingJob job(*world, {0, 1});
  job[0].begin();
  world->engine().run_until(at_ns(10));
  ASSERT_TRUE(job.stop(0).ok());
  job[0].want(at_ns(20));
  world->engine().run_until(at_ns(100));
  EXPECT_THAT(job[0].take_turns(), ElementsAre(0));
  ASSERT_TRUE(job.resume(0).ok());
  world->engine().run_until(at_ns(200));
  EXPECT_THAT(job[0].take_turns(), ElementsAre(100));
  job[0].want(at_ns(300));
  job[0].kill();
  world->engine().run_until(at_ns(400));
  EXPECT_THAT(job[0].take_turns(), ElementsAre());
  EXPECT_FALSE(job[0].alive());
  EXPECT_THAT(job.stop(0).error().message, HasSubstr("node 0 does not run"));
  EXPECT_THAT(job.resume(1).error().message, HasSubstr("node 1 does not run"));
  job[0].begin();
  EXPECT_EQ(job[0].incarnation(), Incarnation(2));
}

TEST(hosted_job, has_clocks_of_its_seed_that_faults_set) {
  const ClockOptions off{.offset = Duration::milliseconds(1), .drift_per_million = 50};
  const auto world = star(off);
  NotingJob job(*world, {0, 1});
  const auto again = star(off);
  NotingJob same(*again, {0, 1});
  EXPECT_NE(job[0].shown(), job[1].shown());
  EXPECT_EQ(job[0].shown(), same[0].shown());
  ASSERT_TRUE(job.jump_clock(0, Duration::milliseconds(5)).ok());
  EXPECT_EQ(job[0].shown() - same[0].shown(), Duration::milliseconds(5));
}

TEST(hosted_job, cuts_off_all_processes_of_a_host) {
  const auto world = star();
  NotingJob job(*world, {2, 2, 3});
  for (std::uint32_t n = 0; n < 3; ++n) job[n].begin();
  for (std::uint32_t a = 0; a < 3; ++a) {
    for (std::uint32_t b = 0; b < 3; ++b) {
      if (a != b) job.introduce(a, b);
    }
  }
  world->engine().run_until(at_ns(1'000'000));
  EXPECT_THAT(job[2].take(CompletionKind::peer_up), UnorderedElementsAre(0, 1));
  ASSERT_TRUE(job.set_link_up(0, false).ok());
  world->engine().run_until(at_ns(3'000'000'000));
  EXPECT_THAT(job[2].take(CompletionKind::peer_down), UnorderedElementsAre(0, 1));
  ASSERT_TRUE(job.set_link_up(1, true).ok());
  world->engine().run_until(at_ns(4'000'000'000));
  EXPECT_THAT(job[2].take(CompletionKind::peer_up), UnorderedElementsAre(0, 1));
}

}  // namespace
}  // namespace weft::sim

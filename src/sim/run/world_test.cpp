// SPDX-License-Identifier: Apache-2.0
#include "sim/run/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace weft::sim {
namespace {

using testing::HasSubstr;

/// Two hosts on a switch, of which the second one has more to send to the first, at each of two
/// levels, than the link takes. One packet of 1,000 bytes takes 1 us.
Scenario two_levels() {
  Scenario s;
  s.topology = "star:2";
  s.network.mtu = 1000;
  s.network.packet_overhead = 0;
  s.network.buffer_bytes = 100'000;
  for (LinkOptions* link : {&s.network.host_link, &s.network.local_link}) {
    link->rate = Bandwidth::bytes_per_second(1'000'000'000);
  }
  s.network.levels = {{.priority = 0, .weight = 7}, {.priority = 0, .weight = 1}};
  for (std::uint8_t level = 0; level < 2; ++level) {
    s.traffic.push_back({.pattern = TrafficPattern::incast,
                         .load = 4,
                         .message_bytes = 1000,
                         .level = level,
                         .start = {},
                         .seed = 1});
  }
  return s;
}

class Shares {
 public:
  explicit Shares(const Scenario& scenario) : world_(std::move(World::make(scenario)).value()) {}
  /// Packets of each level that arrive from `begin` to `end`.
  std::array<std::uint64_t, 2> between(std::int64_t begin_us, std::int64_t end_us) {
    run_until(begin_us);
    const auto before = counts();
    run_until(end_us);
    const auto after = counts();
    return {after[0] - before[0], after[1] - before[1]};
  }

 private:
  void run_until(std::int64_t us) {
    world_->engine().run_until(PicoInstant() + PicoDuration::microseconds(us));
  }
  std::array<std::uint64_t, 2> counts() const {
    return {world_->traffic()[0]->delivered(), world_->traffic()[1]->delivered()};
  }
  std::unique_ptr<World> world_;
};

TEST(world, traffic_has_random_streams_of_its_own_with_seed_0_too) {
  Scenario s = two_levels();
  s.seed = 0;
  s.traffic.resize(1);
  const auto world = World::make(s).value();
  world->run_until(PicoInstant() + PicoDuration::microseconds(100));
  // The same traffic with the network's seed, whose streams are by host as well.
  TrafficOptions same = s.traffic[0];
  same.seed = 0;
  s.traffic.clear();
  const auto other = World::make(s).value();
  const Traffic traffic(same, {0, 1}, other->network(), other->agents());
  other->run_until(PicoInstant() + PicoDuration::microseconds(100));
  EXPECT_NE(world->engine().trace_hash(), other->engine().trace_hash());
}

TEST(world, a_router_that_can_deadlock_is_refused_with_the_circle_and_the_way_out) {
  const std::string file = testing::TempDir() + "/ring-of-five.toml";
  std::ofstream(file) << R"(hosts = ["h0", "h1", "h2", "h3", "h4"]
switches = ["s0", "s1", "s2", "s3", "s4"]
cables = [["h0", "s0"], ["h1", "s1"], ["h2", "s2"], ["h3", "s3"], ["h4", "s4"],
          ["s0", "s1"], ["s1", "s2"], ["s2", "s3"], ["s3", "s4"], ["s4", "s0"]]
)";
  Scenario s;
  s.topology = "file:" + file;
  s.router = "shortest";
  const auto world = World::make(s);
  ASSERT_FALSE(world.ok());
  EXPECT_EQ(world.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(world.error().message, HasSubstr("router shortest"));
  EXPECT_THAT(world.error().message, HasSubstr("s1, class 0"));
  EXPECT_THAT(world.error().message, HasSubstr("use router updown"));
  s.router = "updown";
  EXPECT_TRUE(World::make(s).ok());
}

TEST(world, weights_of_levels_change_when_the_scenario_says) {
  Scenario s = two_levels();
  s.level_changes = {{.at = Duration::microseconds(1'000), .level = 0, .weight = 1}};
  Shares shares(s);
  // 800 us are 800 packets, 7 of 8 of them of the first level.
  EXPECT_THAT(shares.between(100, 900), testing::ElementsAre(700, 100));
  EXPECT_THAT(shares.between(1'200, 2'000), testing::ElementsAre(400, 400));
}

TEST(world, levels_change_whenever_somebody_says_so) {
  const Scenario s = two_levels();
  auto world = World::make(s).value();
  const LinkId last = world->host_links(0)[1];
  const auto packets_until = [&](std::int64_t us, std::uint8_t level) {
    const LinkCounters before = world->network().counters(last, level);
    world->run_until(PicoInstant() + PicoDuration::microseconds(us));
    return (world->network().counters(last, level) - before).packets;
  };
  packets_until(200, 0);
  EXPECT_NEAR(static_cast<double>(packets_until(1'000, 0)), 700, 15);
  std::vector<LevelOptions> levels(world->levels().begin(), world->levels().end());
  std::swap(levels[0], levels[1]);
  world->set_levels(levels);
  packets_until(1'200, 0);
  EXPECT_NEAR(static_cast<double>(packets_until(2'000, 0)), 100, 15);
  world->set_levels(world->levels());
  EXPECT_NEAR(static_cast<double>(packets_until(2'800, 0)), 100, 15);
}

TEST(world, priorities_of_levels_change_when_the_scenario_says) {
  Scenario s = two_levels();
  s.level_changes = {{.at = Duration::microseconds(1'000), .level = 1, .priority = 3},
                     {.at = Duration::microseconds(2'000), .level = 1, .priority = 0}};
  Shares shares(s);
  EXPECT_THAT(shares.between(100, 900), testing::ElementsAre(700, 100));
  EXPECT_THAT(shares.between(1'200, 1'900), testing::ElementsAre(0, 700));
  EXPECT_THAT(shares.between(2'200, 3'000), testing::ElementsAre(700, 100));
}

TEST(world, only_declared_links_are_lossy) {
  Scenario s = two_levels();
  s.topology = "star:4";
  const auto lossy = [](World& world, std::uint32_t host) {
    return world.are_lossy(world.host_links(host));
  };
  EXPECT_FALSE(lossy(**World::make(s), 2));
  s.lossy = {"host2", "host3--switch0"};
  const auto some = std::move(World::make(s)).value();
  EXPECT_FALSE(lossy(*some, 1));
  EXPECT_TRUE(lossy(*some, 2));
  EXPECT_TRUE(lossy(*some, 3));
  EXPECT_FALSE(some->are_lossy(*some->cables("switch0")));
  s.lossy = {"host4"};
  EXPECT_THAT(World::make(s).error().message, HasSubstr("host0 to host3"));
  s.lossy.clear();
  s.all_lossy = true;
  EXPECT_TRUE(lossy(**World::make(s), 0));
}

TEST(world, cables_between_switches_go_down_and_get_slow) {
  Scenario s = two_levels();
  s.topology = "fat-tree:32,levels=2,radix=16";
  s.traffic.clear();
  const auto world = std::move(World::make(s)).value();
  const auto all = world->cables("switch0--switch4");
  ASSERT_TRUE(all.ok()) << all.error().message;
  const LinkId one = all->front();
  EXPECT_EQ(world->network().rate(one), s.network.local_link.rate);
  world->set_rate(*all, Bandwidth::bytes_per_second(1'000));
  EXPECT_EQ(world->network().rate(one), Bandwidth::bytes_per_second(1'000));
  world->set_rate(*all, Bandwidth{});
  EXPECT_EQ(world->network().rate(one), s.network.local_link.rate);
}

}  // namespace
}  // namespace weft::sim

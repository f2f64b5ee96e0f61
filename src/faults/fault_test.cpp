// SPDX-License-Identifier: Apache-2.0
#include "faults/fault.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::faults {
namespace {

using Kind = Fault::Kind;

Fault parsed(std::string_view text) {
  auto fault = parse_fault(text, 8);
  EXPECT_TRUE(fault.ok()) << (fault.ok() ? "" : fault.error().message);
  return fault.ok() ? *fault : Fault{};
}

TEST(fault, link_down_has_a_host_a_time_and_a_length) {
  const Fault fault = parsed("at=2s link-down host3 for=1.5s");
  EXPECT_EQ(fault.kind, Kind::link_down);
  EXPECT_EQ(fault.host, 3u);
  EXPECT_EQ(fault.at, Duration::seconds(2));
  EXPECT_EQ(fault.lasts, Duration::milliseconds(1500));
}

TEST(fault, times_may_stand_anywhere_and_the_length_may_be_missing) {
  const Fault fault = parsed("stop   host0 at=200ms");
  EXPECT_EQ(fault.kind, Kind::stop);
  EXPECT_EQ(fault.at, Duration::milliseconds(200));
  EXPECT_EQ(fault.lasts, Duration{});
}

TEST(fault, loss_is_a_percentage_and_slow_a_rate) {
  EXPECT_EQ(parsed("at=0 loss host7 0.1%").parts_per_million, 1000u);
  EXPECT_EQ(parsed("at=0 loss host7 100%").parts_per_million, 1'000'000u);
  EXPECT_EQ(parsed("at=0 slow host1 10Mbit").rate, Bandwidth::bits_per_second(10'000'000));
  EXPECT_EQ(parsed("at=0 slow host1 rate=10Mbit").rate, Bandwidth::bits_per_second(10'000'000));
}

TEST(fault, partition_takes_lists_and_ranges) {
  const std::vector<std::vector<std::uint32_t>> expected{{0, 1, 2}, {4, 6}};
  EXPECT_EQ(parsed("at=1s partition host0-2|host4,host6 for=2s").groups, expected);
  EXPECT_EQ(parsed("at=1s partition {host0-host2|host4,host6}").groups, expected);
}

TEST(fault, processes_are_killed_continued_and_restarted) {
  EXPECT_EQ(parsed("at=1s kill host2").kind, Kind::kill);
  EXPECT_EQ(parsed("at=1s cont host2").kind, Kind::resume);
  EXPECT_EQ(parsed("at=1s restart host2").kind, Kind::restart);
}

TEST(fault, clocks_are_set_forward_and_back) {
  EXPECT_EQ(parsed("at=1s clock host2 +5ms").jump, Duration::milliseconds(5));
  const Fault back = parsed("at=1s clock host2 -300us");
  EXPECT_EQ(back.kind, Kind::clock);
  EXPECT_EQ(back.jump, -Duration::microseconds(300));
  EXPECT_EQ(to_text(back), "clock host2 -300us");
  FaultTarget real;
  EXPECT_FALSE(real.jump_clock(2, back.jump).ok());
}

TEST(fault, what_is_wrong_is_named_together_with_an_example) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"link-down host3", "at=TIME"},
           {"at=2s", "no kind"},
           {"at=2s clock host1 5ms", "which way"},
           {"at=2s clock host1 +0", "at most a minute"},
           {"at=2s clock host1 +5ms for=1s", "no for="},
           {"", "at=TIME"},
           {"at=2 link-down host3", "'2'"},
           {"at=2s at=3s link-down host3", "second of its kind"},
           {"at=2s melt host3", "'melt'"},
           {"at=2s link-down", "takes 1 word"},
           {"at=2s link-down host3 host4", "takes 1 word"},
           {"at=2s link-down host8", "host0 to host7"},
           {"at=2s link-down node3", "'node3'"},
           {"at=2s link-down host", "'host'"},
           {"at=2s link-down host-1", "'host-1'"},
           {"at=2s link-down host99999999999", "host99999999999"},
           {"at=2s kill host3 for=1s", "no for="},
           {"at=2s stop host3 for=0s", "no time at all"},
           {"at=2s loss host3 200%", "'200%'"},
           {"at=2s loss host3 1", "'1'"},
           {"at=2s loss host3 nan%", "'nan%'"},
           {"at=2s slow host3 fast", "'fast'"},
           {"at=2s slow host3 1bit", "'1bit'"},
           {"at=2s partition host0,host1", "two groups or more"},
           {"at=2s partition host0,host0|host1", "listed twice"},
           {"at=2s partition host0|host0", "two groups"},
           {"at=2s partition host0|", "''"},
           {"at=2s partition host3-1|host4", "backwards"},
           {"at=20000min kill host1", "more than a week"},
           {"at=2s link-down host3 when=1s", "takes 1 word"},
       }) {
    const auto fault = parse_fault(text, 8);
    ASSERT_FALSE(fault.ok()) << text;
    EXPECT_NE(fault.error().message.find(part), std::string::npos) << fault.error().message;
    EXPECT_NE(fault.error().message.find("an example"), std::string::npos);
    EXPECT_EQ(fault.error().message.find('\n'), std::string::npos);
  }
}

TEST(fault, cables_of_simulated_networks_have_names_where_there_are_such) {
  for (const char* text :
       {"link-down switch0--switch4", "loss leaf.1--top 1%", "slow switch0--switch4 1GB/s"}) {
    const std::string written = std::string("at=1s ") + text;
    EXPECT_FALSE(parse_fault(written, 8).ok()) << text;
    const auto fault = parse_fault(written, 8, FaultPlaces::hosts_and_cables);
    ASSERT_TRUE(fault.ok()) << fault.error().message;
    EXPECT_NE(written.find(" " + fault->cable), std::string::npos);
    EXPECT_NE(to_text(*fault).find(" " + fault->cable), std::string::npos);
  }
  EXPECT_FALSE(parse_fault("at=1s kill a--b", 8, FaultPlaces::hosts_and_cables).ok());
  FaultTarget real;
  EXPECT_FALSE(real.set_cable_up("a--b", false).ok());
  EXPECT_FALSE(real.set_cable_loss("a--b", 1).ok());
  EXPECT_FALSE(real.set_cable_rate("a--b", {}).ok());
}

// Records the calls made to it.
class Recorder final : public FaultTarget {
 public:
  std::vector<std::string> done;
  Result<void> set_link_up(std::uint32_t host, bool up) override {
    return note(fmt::format("link {} {}", host, up));
  }
  Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>& groups) override {
    return note(fmt::format("groups {}", groups.size()));
  }
  Result<void> set_loss(std::uint32_t host, std::uint32_t parts) override {
    return note(fmt::format("loss {} {}", host, parts));
  }
  Result<void> set_rate(std::uint32_t host, Bandwidth rate) override {
    return note(fmt::format("rate {} {}", host, rate.bits_per_second()));
  }
  Result<void> kill(std::uint32_t host) override { return note(fmt::format("kill {}", host)); }
  Result<void> stop(std::uint32_t host) override { return note(fmt::format("stop {}", host)); }
  Result<void> resume(std::uint32_t host) override { return note(fmt::format("cont {}", host)); }

 private:
  Result<void> note(std::string text) {
    done.push_back(std::move(text));
    return {};
  }
};

TEST(fault_player, begins_and_ends_faults_in_order_of_time) {
  const Instant start(1'000'000'000);
  std::vector<Fault> faults;
  for (const char* text : {"at=3s stop host1 for=200ms", "at=1s link-down host0 for=2.1s",
                           "at=1s loss host2 1%", "at=2s partition host0|host1 for=500ms",
                           "at=4s slow host3 8Mbit for=1s", "at=4s kill host1"}) {
    faults.push_back(parsed(text));
  }
  FaultPlayer player(faults, start);
  Recorder target;
  std::vector<FaultPlayer::Played> log;
  EXPECT_EQ(player.next_deadline(), start + Duration::seconds(1));
  player.play(start + Duration::milliseconds(999), target, log);
  EXPECT_TRUE(target.done.empty());
  player.play(start + Duration::milliseconds(3500), target, log);
  EXPECT_EQ(player.missed(start + Duration::milliseconds(3500)),
            "--fault 'slow host3 1 MB/s' and 'kill host1' did not happen: all was over 3.5 s after "
            "the start");
  while (player.next_deadline() != Instant::never()) {
    player.play(player.next_deadline(), target, log);
  }
  EXPECT_EQ(target.done, (std::vector<std::string>{"link 0 false", "loss 2 10000", "groups 2",
                                                   "groups 0", "stop 1", "link 0 true", "cont 1",
                                                   "rate 3 8000000", "kill 1", "rate 3 0"}));
  ASSERT_EQ(log.size(), 10u);
  EXPECT_EQ(player.missed(player.next_deadline()), "");
  EXPECT_EQ(log[5].what, "end of link-down host0");
  EXPECT_EQ(log[5].at, Duration::milliseconds(3100));
}

TEST(fault_player, a_target_without_the_means_reports_it_and_the_rest_goes_on) {
  FaultPlayer player({parsed("at=0 restart host1"), parsed("at=0 kill host1")}, Instant(0));
  EXPECT_TRUE(player.will_restart(1));
  EXPECT_FALSE(player.will_restart(0));
  Recorder target;
  std::vector<FaultPlayer::Played> log;
  player.play(Instant(0), target, log);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_FALSE(log[0].result.ok());
  EXPECT_TRUE(log[1].result.ok());
  EXPECT_FALSE(player.will_restart(1));
}

}  // namespace
}  // namespace weft::faults

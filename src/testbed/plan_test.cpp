// SPDX-License-Identifier: Apache-2.0
#include "testbed/plan.hpp"

#include <gtest/gtest.h>

namespace weft::testbed {
namespace {

TestbedOptions options(std::uint32_t hosts) {
  TestbedOptions o;
  o.hosts = hosts;
  o.link = Bandwidth::bits_per_second(100'000'000);
  return o;
}

TEST(testbed_plan, a_link_is_a_token_bucket_with_the_switchs_queue_at_its_port) {
  EXPECT_EQ(
      host_queue(options(2), options(2).link),
      "qdisc replace dev eth0 root handle 1: tbf rate 12500000bps burst 18028 limit 4194304\n");
  EXPECT_EQ(port_queue(options(2), 1, options(2).link),
            "qdisc replace dev p1 root handle 1: tbf rate 12500000bps burst 18028 limit 131072\n");
}

TEST(testbed_plan, a_fast_link_gets_a_burst_of_100_microseconds) {
  const auto text = port_queue(options(2), 0, Bandwidth::bits_per_second(10'000'000'000));
  EXPECT_NE(text.find("burst 125000 "), std::string::npos) << text;
}

TEST(testbed_plan, levels_are_queues_that_take_turns_by_weight_chosen_by_dscp) {
  auto o = options(2);
  o.mtu = 1486;
  o.levels = {{.dscp = 0, .weight = 2}, {.dscp = 10, .weight = 8}};
  EXPECT_EQ(port_queue(o, 1, o.link),
            "qdisc replace dev p1 root handle 2: bfifo limit 131072\n"
            "qdisc replace dev p1 root handle 1: htb default 10\n"
            "class add dev p1 parent 1: classid 1:1 htb rate 12500000bps ceil 12500000bps burst "
            "3000 cburst 3000 quantum 1500\n"
            "class add dev p1 parent 1:1 classid 1:10 htb rate 8bps ceil 12500000bps burst 1500 "
            "cburst 3000 quantum 3000\n"
            "qdisc add dev p1 parent 1:10 bfifo limit 131072\n"
            "class add dev p1 parent 1:1 classid 1:11 htb rate 8bps ceil 12500000bps burst 1500 "
            "cburst 3000 quantum 12000\n"
            "qdisc add dev p1 parent 1:11 bfifo limit 131072\n"
            "filter add dev p1 parent 1: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid "
            "1:11\n");
  EXPECT_EQ(change_weights(o, std::vector<std::uint8_t>{1, 1}).find("quantum 3000"),
            std::string::npos);
}

TEST(testbed_plan, an_uplink_joins_two_switches_of_half_the_hosts) {
  auto o = options(5);
  EXPECT_EQ(switch_links(o).find("br1"), std::string::npos);
  EXPECT_EQ(uplink_queues(o), "");
  o.uplink = Bandwidth::bits_per_second(10'000'000);
  const auto sw = switch_links(o);
  EXPECT_NE(sw.find("link set p1 master br0 up\n"), std::string::npos) << sw;
  EXPECT_NE(sw.find("link set p2 master br1 up\n"), std::string::npos) << sw;
  EXPECT_NE(sw.find("link set u1 master br1 up\n"), std::string::npos) << sw;
  EXPECT_EQ(uplink_queues(o),
            "qdisc replace dev u0 root handle 1: tbf rate 1250000bps burst 18028 limit 131072\n"
            "qdisc replace dev u1 root handle 1: tbf rate 1250000bps burst 18028 limit 131072\n");
}

TEST(testbed_plan, levels_that_cannot_be_told_apart_are_refused) {
  auto o = options(2);
  o.levels = {{.dscp = 10}, {.dscp = 10}};
  EXPECT_EQ(check(o).error().message, "--levels: DSCP 10: must be 0 to 63, and of one level");
  o.levels = {{.dscp = 10, .weight = 0}};
  EXPECT_EQ(check(o).error().message, "--levels 0: a weight must be 1 to 255");
}

TEST(testbed_plan, an_unlimited_link_has_no_queue) {
  EXPECT_EQ(host_queue(options(2), Bandwidth{}), "");
  EXPECT_EQ(port_queue(options(2), 0, Bandwidth{}), "");
}

TEST(testbed_plan, delay_is_netem_behind_or_instead_of_the_bucket) {
  auto o = options(2);
  o.delay = Duration::microseconds(50);
  EXPECT_NE(host_queue(o, o.link).find("parent 1:1 handle 10: netem delay 50us"),
            std::string::npos);
  EXPECT_EQ(host_queue(o, Bandwidth{}),
            "qdisc replace dev eth0 root handle 10: netem delay 50us limit 100000\n");
}

TEST(testbed_plan, each_host_has_a_port_an_address_and_knows_the_others) {
  const auto sw = switch_links(options(2));
  EXPECT_NE(sw.find("link add p1 mtu 9000 type veth peer name eth0 mtu 9000 address "
                    "02:77:65:66:74:02 netns h1\nlink set p1 master br0 up\n"),
            std::string::npos)
      << sw;
  EXPECT_EQ(host_links(options(2), 1),
            "link set lo up\naddr add 10.77.0.2/24 dev eth0\nlink set eth0 up\n"
            "neigh replace 10.77.0.1 lladdr 02:77:65:66:74:01 nud permanent dev eth0\n");
}

TEST(testbed_plan, drops_are_rules_per_port) {
  Drops drops{.loss = {0, 5000, 0}, .island = {1, 2, 1}};
  const auto rules = drop_rules(drops);
  EXPECT_NE(rules.find("iifname \"p1\" numgen random mod 1000000 < 5000 drop"), std::string::npos);
  EXPECT_NE(rules.find("oifname \"p1\" numgen random mod 1000000 < 5000 drop"), std::string::npos);
  EXPECT_NE(rules.find("iifname { p0, p2 } oifname { p1 } drop"), std::string::npos) << rules;
  EXPECT_NE(rules.find("iifname { p1 } oifname { p0, p2 } drop"), std::string::npos);
}

TEST(testbed_plan, impossible_options_are_refused_by_name) {
  const auto message = [](auto change) {
    auto o = options(4);
    change(o);
    const auto checked = check(o);
    return checked.ok() ? std::string() : checked.error().message;
  };
  EXPECT_EQ(message([](auto&) {}), "");
  EXPECT_EQ(message([](auto& o) { o.hosts = 65; }), "--hosts 65: must be 1 to 64");
  EXPECT_TRUE(message([](auto& o) { o.hosts = 0; }).starts_with("--hosts 0"));
  EXPECT_TRUE(
      message([](auto& o) { o.link = Bandwidth::bits_per_second(8); }).starts_with("--link"));
  EXPECT_TRUE(message([](auto& o) { o.queue = ByteCount(9000); }).starts_with("--queue"));
  EXPECT_TRUE(message([](auto& o) { o.mtu = 100; }).starts_with("--mtu 100"));
  EXPECT_TRUE(message([](auto& o) { o.delay = Duration::seconds(11); }).starts_with("--delay"));
  EXPECT_TRUE(message([](auto& o) { o.lifetime = Duration{}; }).starts_with("--lifetime"));
  EXPECT_TRUE(message([](auto& o) {
                o.congestion_control = "cubic\nlink";
              }).starts_with("--congestion-control"));
}

}  // namespace
}  // namespace weft::testbed

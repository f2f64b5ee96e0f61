// SPDX-License-Identifier: Apache-2.0
// Every time here is worked out by hand: links carry a byte per nanosecond and take 10 ns, switches
// 100 ns, packets have 1,000 bytes and take a microsecond.
#include "sim/network/network.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace weft::sim {
namespace {

constexpr std::int64_t us = 1'000'000;  // ps
constexpr std::int64_t ns = 1'000;

/// A switch whose port i leads to host i.
class StarRouter final : public Router {
 public:
  std::string_view name() const override { return "star"; }
  std::uint8_t channels() const override { return 1; }
  void start(RouteState& state, std::uint32_t source, std::uint32_t destination, std::uint64_t,
             Rng&) const override {
    state.source = source;
    state.destination = destination;
  }
  Hop next(Vertex, PortNumber, RouteState& state, const PortLoad& load, Rng&) const override {
    ahead.push_back(load.ahead(PortNumber(static_cast<std::uint16_t>(state.destination))));
    return {.port = PortNumber(static_cast<std::uint16_t>(state.destination))};
  }
  void choices(Vertex, PortNumber, const RouteState&, std::vector<Choice>&) const override {}
  void starts(std::uint32_t, std::uint32_t, std::vector<RouteState>&) const override {}
  mutable std::vector<std::uint64_t> ahead;  // of each packet at its output
};

NetworkOptions simple() {
  NetworkOptions o;
  const LinkOptions link{.rate = Bandwidth::bytes_per_second(1'000'000'000),
                         .latency = PicoDuration::nanoseconds(10)};
  o.host_link = o.local_link = o.global_link = link;
  o.mtu = 1000;
  o.buffer_bytes = 64'000;
  o.switch_delay = PicoDuration::nanoseconds(100);
  return o;
}

Topology star_of(std::uint32_t hosts) {
  auto t = Topology::make("star", hosts, 1);
  EXPECT_TRUE(t.ok());
  for (std::uint32_t h = 0; h < hosts; ++h) {
    t->connect(t->switch_at(0), t->host(h), CableKind::host);
  }
  EXPECT_TRUE(t->finish().ok());
  return std::move(t).value();
}

struct Arrived {
  std::uint64_t tag;
  std::int64_t at;
  bool operator==(const Arrived&) const = default;
};
void PrintTo(const Arrived& a, std::ostream* out) {
  *out << "message " << a.tag << " at " << a.at << " ps";
}

class Model : public testing::Test, public NetworkUser {
 protected:
  void build(Topology topology, const NetworkOptions& options) {
    topology_ = std::make_unique<Topology>(std::move(topology));
    engine_ = std::make_unique<Engine>(topology_->vertices());
    network_ = std::make_unique<Network>(*topology_, router_, options, *engine_, 1);
    network_->add_user(*this);
  }
  void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t tag,
            std::uint8_t level = 0) {
    network_->send({.source = from, .destination = to, .bytes = bytes, .level = level, .tag = tag});
  }
  void run(std::int64_t until = 1000 * us) { engine_->run_until(PicoInstant(until)); }
  LinkId link_to(std::uint32_t host) const {
    return topology_->link({topology_->switch_at(0), PortNumber(static_cast<std::uint16_t>(host))});
  }
  LinkId from(std::uint32_t host) const {
    return topology_->link({topology_->host(host), PortNumber(0)});
  }
  void on_sent(const Message& m, PicoInstant departure) override {
    sent_.push_back({m.request.tag, departure.ticks()});
  }
  void on_arrived(const Message& m) override {
    arrived_.push_back({m.request.tag, engine_->now().ticks()});
  }

  StarRouter router_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Network> network_;
  std::vector<Arrived> arrived_, sent_;
};

using network = Model;

TEST_F(network, one_packet_over_one_link_takes_its_length_and_the_latency) {
  auto cable = Topology::make("cable", 2, 0);
  cable->connect(Vertex(0), Vertex(1), CableKind::host);
  ASSERT_TRUE(cable->finish().ok());
  build(std::move(cable).value(), simple());
  send(0, 1, 1000, 7);
  run();
  EXPECT_EQ(sent_, (std::vector<Arrived>{{7, 1 * us}}));
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{7, 1 * us + 10 * ns}}));
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network, a_message_in_packets_is_pipelined_over_hops_when_stored_and_forwarded) {
  NetworkOptions o = simple();
  o.cut_through = false;
  build(star_of(2), o);
  send(0, 1, 2500, 1);
  run();
  // The last packet has 500 bytes. The second leaves the switch at 1 + 1 µs + 110 ns + 1 µs; the
  // third is there at 2.61 µs and must wait for it until 3.11 µs.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 3 * us + 610 * ns + 10 * ns}}));
  EXPECT_EQ(network_->packet_hops(), 6u);
}

TEST_F(network, a_message_in_packets_is_cut_through) {
  build(star_of(2), simple());
  send(0, 1, 2500, 1);
  run();
  // Each packet's first byte leaves the switch 110 ns behind its start at the host.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 2 * us + 500 * ns + 110 * ns + 10 * ns}}));
}

TEST_F(network, a_packet_does_not_leave_a_switch_faster_than_it_comes_in) {
  build(star_of(2), simple());
  network_->set_rate(link_to(1), Bandwidth::bytes_per_second(4'000'000'000));
  send(0, 1, 1000, 1);
  run();
  // Its end is at the switch at 1.01 µs, passed on 100 ns later.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 1 * us + 110 * ns + 10 * ns}}));
}

TEST_F(network, a_packet_from_a_slow_link_leaves_a_fast_one_to_others_until_its_end_is_near) {
  build(star_of(3), simple());
  network_->set_rate(from(0), Bandwidth::bytes_per_second(100'000'000));
  send(0, 2, 1000, 1);
  send(1, 2, 9000, 2);
  run();
  // The slow packet's head is at the switch at 110 ns, its end at 10.11 us. The others leave from
  // 110 ns until 9.11 us, when it begins.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{2, 9 * us + 120 * ns}, {1, 10 * us + 120 * ns}}));
  EXPECT_EQ(network_->packet_hops(), 20u);
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network, two_flows_share_a_link_packet_by_packet) {
  build(star_of(3), simple());
  send(0, 2, 2000, 10);
  send(1, 2, 2000, 11);
  run();
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{10, 110 * ns + 3 * us + 10 * ns},
                                            {11, 110 * ns + 4 * us + 10 * ns}}));
}

TEST_F(network, an_incast_is_served_at_the_receivers_rate) {
  build(star_of(5), simple());
  for (std::uint32_t h = 1; h < 5; ++h) send(h, 0, 1000, h);
  run();
  ASSERT_EQ(arrived_.size(), 4u);
  for (std::uint32_t h = 1; h < 5; ++h) {
    EXPECT_EQ(arrived_[h - 1], (Arrived{h, 110 * ns + h * us + 10 * ns}));
  }
}

TEST_F(network, lanes_of_weights_7_2_1_share_a_link_so) {
  NetworkOptions o = simple();
  o.levels = {{.weight = 7}, {.weight = 2}, {.weight = 1}};
  o.interleaved_messages = 1;
  build(star_of(2), o);
  for (std::uint64_t i = 0; i < 14; ++i) {
    for (std::uint8_t level = 0; level < 3; ++level) send(0, 1, 1000, level, level);
  }
  run();
  ASSERT_EQ(arrived_.size(), 42u);
  const std::vector<std::uint64_t> round = {0, 0, 0, 0, 0, 0, 0, 1, 1, 2};
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(arrived_[i].tag, round[i % 10]) << "packet " << i;
    EXPECT_EQ(arrived_[i].at, static_cast<std::int64_t>(i + 1) * us + 120 * ns);
  }
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network, shares_hold_in_bytes_when_packets_are_of_unequal_length) {
  NetworkOptions o = simple();
  o.levels = {{.weight = 1}, {.weight = 1}};
  build(star_of(2), o);
  for (std::uint64_t i = 0; i < 400; ++i) send(0, 1, 250, 0, 0);
  for (std::uint64_t i = 0; i < 100; ++i) send(0, 1, 1000, 1, 1);
  run(101 * us);
  std::uint64_t small = 0, large = 0;
  for (const Arrived& a : arrived_) (a.tag == 0 ? small : large) += a.tag == 0 ? 250 : 1000;
  EXPECT_NEAR(static_cast<double>(small), static_cast<double>(large), 1000);
}

TEST_F(network, a_higher_priority_goes_first_and_leaves_the_shares_of_others_alone) {
  NetworkOptions o = simple();
  o.levels = {{.priority = 0, .weight = 3}, {.priority = 0, .weight = 1}, {.priority = 1}};
  build(star_of(2), o);
  for (std::uint64_t i = 0; i < 12; ++i) {
    for (std::uint8_t level = 0; level < 2; ++level) send(0, 1, 1000, level, level);
  }
  for (std::uint64_t i = 0; i < 4; ++i) send(0, 1, 1000, 2, 2);
  run();
  // The first packet was under way when the urgent ones came.
  const std::vector<std::uint64_t> first = {0, 2, 2, 2, 2, 0, 0, 1, 0, 0, 0, 1};
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(arrived_[i].tag, first[i]) << i;
}

TEST_F(network, a_new_weight_ends_the_turn_that_the_old_one_gave) {
  NetworkOptions o = simple();
  o.levels = {{.weight = 1}, {.weight = 255}};
  build(star_of(2), o);
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint8_t level = 0; level < 2; ++level) send(0, 1, 1000, level, level);
  }
  run(10'500 * ns);
  const std::array<LevelOptions, 2> equal{};
  network_->set_levels(equal);
  arrived_.clear();
  run();
  // Level 1 is in its turn of 255 packets. Packet 10 is on the host's link, which has sent it at
  // 11 us, and is the switch's next but one: both ports alternate from then on.
  ASSERT_GE(arrived_.size(), 22u);
  std::array<int, 2> packets{};
  for (std::size_t i = 2; i < 22; ++i) ++packets[arrived_[i].tag];
  EXPECT_EQ(packets, (std::array<int, 2>{10, 10}));
}

TEST_F(network, without_credits_a_sender_waits_until_the_buffer_is_free) {
  NetworkOptions o = simple();
  o.buffer_bytes = 1000;
  build(star_of(2), o);
  send(0, 1, 2000, 1);
  run();
  // The first packet has left the switch at 1.11 µs, the sender knows at 1.12 µs.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 1120 * ns + 110 * ns + 1 * us + 10 * ns}}));
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network, a_victim_behind_a_congested_head_of_line_waits_in_one_lane) {
  NetworkOptions o = simple();
  o.buffer_bytes = 1000;
  o.interleaved_messages = 1;
  build(star_of(4), o);
  network_->set_up(link_to(2), false);
  send(0, 2, 2000, 2);
  send(0, 3, 1000, 3);
  run(50 * us);
  EXPECT_TRUE(arrived_.empty());
  network_->set_up(link_to(2), true);
  run();
  // From 50 µs: the first packet leaves, the second follows 1.01 µs + 110 ns later, the victim
  // when that has left: the same time later.
  EXPECT_EQ(arrived_,
            (std::vector<Arrived>{{2, 50 * us + 1010 * ns + 110 * ns + 1010 * ns},
                                  {3, 50 * us + 2 * (1010 * ns + 110 * ns) + 1010 * ns}}));
}

TEST_F(network, a_victim_in_a_lane_of_its_own_is_free) {
  NetworkOptions o = simple();
  o.buffer_bytes = 1000;
  o.levels = {{}, {}};
  build(star_of(4), o);
  network_->set_up(link_to(2), false);
  send(0, 2, 2000, 2, 0);
  send(0, 3, 1000, 3, 1);
  run(50 * us);
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{3, 1 * us + 110 * ns + 1010 * ns}}));
}

// Host 0 has three packets at the switch before host 1 has one there.
TEST_F(network, packets_of_a_port_go_in_turn_or_as_they_arrived) {
  for (const bool output_queues : {false, true}) {
    NetworkOptions o = simple();
    o.output_queues = output_queues;
    build(star_of(3), o);
    arrived_.clear();
    network_->set_up(link_to(2), false);
    send(0, 2, 3000, 1);
    run(5 * us);
    send(1, 2, 1000, 2);
    run(10 * us);
    network_->set_up(link_to(2), true);
    run();
    ASSERT_EQ(arrived_.size(), 2u);
    EXPECT_EQ(arrived_[0].tag, output_queues ? 1u : 2u);
  }
}

TEST_F(network, messages_start_no_closer_than_the_injection_gap) {
  NetworkOptions o = simple();
  o.injection_gap = PicoDuration::nanoseconds(3000);
  build(star_of(2), o);
  send(0, 1, 1000, 1);
  send(0, 1, 1000, 2);
  run();
  EXPECT_EQ(arrived_,
            (std::vector<Arrived>{{1, 1 * us + 120 * ns}, {2, 3 * us + 1 * us + 120 * ns}}));
}

TEST_F(network, the_injection_gap_leaves_the_shares_of_levels_alone) {
  NetworkOptions o = simple();
  o.levels = {{.weight = 1}, {.weight = 7}};
  o.injection_gap = PicoDuration::nanoseconds(200);
  build(star_of(2), o);
  for (int i = 0; i < 200; ++i) {
    for (std::uint8_t level = 0; level < 2; ++level) send(0, 1, 1000, level, level);
  }
  run(161 * us);
  std::array<int, 2> packets{};
  for (const Arrived& a : arrived_) ++packets[a.tag];
  EXPECT_EQ(packets, (std::array<int, 2>{20, 140}));
}

TEST_F(network, an_acknowledgement_goes_without_the_injection_gap) {
  NetworkOptions o = simple();
  o.injection_gap = PicoDuration::nanoseconds(3000);
  build(star_of(2), o);
  send(0, 1, 1000, 1);
  network_->send(
      {.source = 0, .destination = 1, .bytes = 1000, .queue = 7, .tag = 2, .skips_gap = true});
  send(0, 1, 1000, 3);
  run();
  EXPECT_EQ(arrived_, (std::vector<Arrived>{
                          {1, 1120 * ns}, {2, 2120 * ns}, {3, 3 * us + 1 * us + 120 * ns}}));
}

TEST_F(network, a_message_may_have_headers_of_its_own) {
  NetworkOptions o = simple();
  o.packet_overhead = 10;
  build(star_of(2), o);
  network_->send({.source = 0, .destination = 1, .bytes = 900, .header = 100, .tag = 1});
  send(0, 1, 900, 2);
  run();
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 1120 * ns}, {2, 1120 * ns + 910 * ns}}));
}

TEST_F(network, queue_pairs_to_one_host_take_turns) {
  build(star_of(2), simple());
  for (std::uint32_t queue = 0; queue < 3; ++queue) {
    network_->send({.source = 0, .destination = 1, .bytes = 2000, .queue = queue, .tag = queue});
  }
  run();
  // Both packets of the first one stand in the round when the others come.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{
                          {0, 2 * us + 120 * ns}, {1, 5 * us + 120 * ns}, {2, 6 * us + 120 * ns}}));
}

TEST_F(network, messages_to_one_host_go_one_after_the_other) {
  build(star_of(2), simple());
  for (std::uint64_t m = 0; m < 3; ++m) send(0, 1, 2000, m);
  send(0, 1, 500, 3);
  run();
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{0, 2 * us + 120 * ns},
                                            {1, 4 * us + 120 * ns},
                                            {2, 6 * us + 120 * ns},
                                            {3, 6500 * ns + 120 * ns}}));
}

TEST_F(network, messages_to_as_many_hosts_as_allowed_take_turns_and_others_wait) {
  NetworkOptions o = simple();
  o.interleaved_messages = 2;
  build(star_of(5), o);
  for (std::uint64_t m = 0; m < 4; ++m) send(0, static_cast<std::uint32_t>(m) + 1, 2000, m);
  run();
  // Message 0 has sent its first packet before there is another one, and so sends its second first.
  // Then 1 and 2 take turns, and 3 follows 1.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{0, 2 * us + 120 * ns},
                                            {1, 5 * us + 120 * ns},
                                            {2, 6 * us + 120 * ns},
                                            {3, 8 * us + 120 * ns}}));
}

TEST_F(network, a_host_with_many_messages_gives_way_to_others_after_each) {
  NetworkOptions o = simple();
  o.interleaved_messages = 1;
  build(star_of(3), o);
  for (std::uint64_t m = 0; m < 3; ++m) send(0, 1, 2000, m);
  send(0, 2, 2000, 3);
  run();
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{0, 2 * us + 120 * ns},
                                            {3, 4 * us + 120 * ns},
                                            {1, 6 * us + 120 * ns},
                                            {2, 8 * us + 120 * ns}}));
}

TEST_F(network, second_turn_probability_let_one_of_two_like_messages_end_earlier) {
  std::vector<std::int64_t> leads;
  for (const double uneven : {0.0, 0.5}) {
    NetworkOptions o = simple();
    o.second_turn_probability = uneven;
    build(star_of(3), o);
    arrived_.clear();
    send(0, 1, 400'000, 1);
    send(0, 2, 400'000, 2);
    run();
    ASSERT_EQ(arrived_.size(), 2u);
    EXPECT_EQ(arrived_[1].at, 800 * us + 120 * ns);  // the link is as busy as before
    leads.push_back(arrived_[1].at - arrived_[0].at);
  }
  EXPECT_EQ(leads[0], 2 * us);
  EXPECT_GT(leads[1], 2 * us);
}

/// Counts a host's packets, and the times at which it went on to another message.
class TurnCounter final : public NetworkObserver {
 public:
  void on_queued(PicoInstant, LinkId, std::uint8_t, std::uint64_t) override {}
  void on_transmit(LinkId, const Packet&, const Message& message, std::uint64_t,
                   const net::Transit&) override {
    ++packets;
    if (message.request.tag != last) ++changes;
    last = message.request.tag;
  }
  void on_delivered(PicoInstant, const Message&) override {}

  std::uint64_t last = 0;
  int packets = 0, changes = 0;
};

TEST_F(network, second_turn_probability_holds_after_each_turn_anew) {
  NetworkOptions o = simple();
  o.second_turn_probability = 0.75;
  auto cable = Topology::make("cable", 2, 0);
  cable->connect(Vertex(0), Vertex(1), CableKind::host);
  ASSERT_TRUE(cable->finish().ok());
  build(std::move(cable).value(), o);
  TurnCounter turns;
  network_->set_observer(&turns);
  for (std::uint32_t queue = 1; queue <= 2; ++queue) {
    network_->send(
        {.source = 0, .destination = 1, .bytes = 20'000'000, .queue = queue, .tag = queue});
  }
  run(20'000 * us);
  // Both have packets all the time: four turns in a row on average.
  EXPECT_NEAR(static_cast<double>(turns.packets) / turns.changes, 4.0, 0.2);
}

TEST_F(network, a_message_of_one_packet_does_not_wait_behind_large_ones_to_other_hosts) {
  NetworkOptions o = simple();
  o.interleaved_messages = 1;
  build(star_of(3), o);
  send(0, 1, 3000, 1);
  send(0, 1, 3000, 2);
  send(0, 2, 500, 3);
  run();
  // The first message's second packet had its place in the round before it.
  EXPECT_EQ(arrived_,
            (std::vector<Arrived>{
                {3, 2500 * ns + 120 * ns}, {1, 3500 * ns + 120 * ns}, {2, 6500 * ns + 120 * ns}}));
}

TEST_F(network, a_router_sees_the_queue_of_the_packets_level_and_the_packet_on_the_wire) {
  NetworkOptions o = simple();
  o.levels = {{}, {}};
  o.cut_through = false;
  build(star_of(4), o);
  send(0, 3, 1000, 0);
  run(500 * ns);
  send(1, 3, 2000, 1);
  run(1 * us);
  send(2, 3, 1000, 2, 1);
  run();
  // There at 1.11 us, 1.61 us, 2.11 us (level 1) and 2.61 us; the output sends from 1.11 us on.
  // The packet of level 1 meets the end of the first one, behind which one of level 0 waits, and
  // has its turn before that: the last one meets both.
  EXPECT_EQ(router_.ahead, (std::vector<std::uint64_t>{0, 500, 0, 1500}));
}

TEST_F(network, a_router_sees_no_more_of_a_packet_that_comes_in_slowly_than_is_still_to_leave) {
  build(star_of(4), simple());
  network_->set_rate(from(0), Bandwidth::bytes_per_second(100'000'000));
  send(0, 3, 1000, 0);
  run(1 * us);
  send(1, 3, 1000, 1);
  run(9'500 * ns);
  send(2, 3, 1000, 2);
  run();
  // The slow packet leaves from 9.11 us on, as its end is there at 10.11 us. The others come at
  // 1.11 us and 9.61 us.
  EXPECT_EQ(router_.ahead, (std::vector<std::uint64_t>{0, 0, 500}));
}

TEST_F(network, a_router_sees_a_packet_at_most_on_a_link_that_waits_for_its_end) {
  build(star_of(3), simple());
  const Bandwidth slow = Bandwidth::bytes_per_second(125'000);
  network_->set_rate(from(0), slow);
  network_->set_rate(link_to(2), slow);
  network_->set_up(link_to(2), false);
  send(0, 2, 1000, 0);
  run(1 * us);
  network_->set_rate(link_to(2), Bandwidth::bytes_per_second(12'500'000'000));
  network_->set_up(link_to(2), true);
  send(1, 2, 1000, 1);
  run(10'000 * us);
  // The first packet's end comes in after 8 ms, in which its link could send 100 MB.
  EXPECT_EQ(router_.ahead, (std::vector<std::uint64_t>{0, 1000}));
}

TEST_F(network, a_change_of_rate_acts_on_the_next_packet) {
  build(star_of(2), simple());
  send(0, 1, 2000, 1);
  run(500 * ns);
  network_->set_rate(link_to(1), Bandwidth::bytes_per_second(500'000'000));
  run();
  // The first packet had begun at 110 ns; half of its remaining bytes take twice as long: the model
  // knows the link as busy until 110 + 390 + 2·610 = 1,720 ns, and then takes 2 µs.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 1720 * ns + 2 * us + 10 * ns}}));
}

TEST_F(network, a_message_is_there_with_its_last_byte_also_when_a_faster_packet_overtakes_it) {
  build(star_of(2), simple());
  network_->set_rate(link_to(1), Bandwidth::bytes_per_second(100'000'000));
  send(0, 1, 2000, 1);
  run(2 * us);
  network_->set_rate(link_to(1), Bandwidth::bytes_per_second(1'000'000'000));
  run();
  // The first packet had begun at 110 ns and arrives after 10 µs as before. The model knows the
  // link as busy until 2,811 ns, so that the second packet is there at 3,821 ns.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 110 * ns + 10 * us + 10 * ns}}));
  EXPECT_EQ(network_->packet_hops(), 4u);
  EXPECT_EQ(network_->packets_delivered(), 2u);
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network, packets_of_a_link_that_becomes_faster_keep_their_order) {
  build(star_of(2), simple());
  network_->set_rate(from(0), Bandwidth::bytes_per_second(100'000'000));
  send(0, 1, 1000, 1);
  send(0, 1, 1000, 2);
  run(2 * us);
  network_->set_rate(from(0), Bandwidth::bytes_per_second(1'000'000'000));
  run();
  // The first packet's end is at the switch at 10.11 us, so that it leaves from 9.11 us on. The
  // link is busy until 2.8 us, and the second packet is there at 2.91 us.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 10'120 * ns}, {2, 11'120 * ns}}));
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network, packets_keep_their_order_also_when_their_output_becomes_faster_meanwhile) {
  build(star_of(3), simple());
  network_->set_rate(from(0), Bandwidth::bytes_per_second(100'000'000));
  network_->set_rate(link_to(1), Bandwidth::bytes_per_second(200'000'000));
  send(0, 1, 1000, 1);
  send(0, 1, 1000, 2);
  send(0, 2, 1000, 3);
  run(2 * us);
  network_->set_rate(from(0), Bandwidth::bytes_per_second(1'000'000'000));
  network_->set_rate(link_to(1), Bandwidth::bytes_per_second(1'000'000'000));
  run();
  // The first packet would have left from 5.11 us on. The two others come at 2.91 and 3.91 us.
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 10'120 * ns}, {3, 10'120 * ns}, {2, 11'120 * ns}}));
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network, a_link_to_a_host_waits_for_credits_only_if_its_buffer_is_short) {
  // Credits are back 20 ns after a packet has left. The second packet of 1,000 bytes waits for that
  // if the buffer has room for one, and not if it has room for what is under way.
  for (const std::uint32_t buffer : {1000u, 64'000u}) {
    NetworkOptions o = simple();
    o.buffer_bytes = buffer;
    build(star_of(3), o);
    arrived_.clear();
    send(0, 2, 1000, 1);
    send(1, 2, 1000, 2);
    run();
    const std::int64_t first = 1 * us + 120 * ns;
    const std::int64_t credit = buffer == 1000 ? 20 * ns : 0;
    EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, first}, {2, first + 1 * us + credit}}));
    EXPECT_TRUE(network_->at_rest());
  }
}

TEST_F(network, packet_headers_take_time_and_room) {
  NetworkOptions o = simple();
  o.packet_overhead = 100;
  o.buffer_bytes = 1100;
  build(star_of(2), o);
  send(0, 1, 1000, 1);
  run();
  EXPECT_EQ(arrived_, (std::vector<Arrived>{{1, 1100 * ns + 120 * ns}}));
  EXPECT_EQ(network_->counters(link_to(1)).bytes, 1100u);
}

}  // namespace
}  // namespace weft::sim

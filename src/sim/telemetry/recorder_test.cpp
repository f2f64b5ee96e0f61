// SPDX-License-Identifier: Apache-2.0
// Every figure here is worked out by hand: links carry a byte per nanosecond and take 10 ns,
// switches 100 ns, packets have 1,000 bytes and take a microsecond.
#include "sim/telemetry/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sim/engine/agent.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"
#include "sim/traffic/traffic.hpp"

namespace weft::sim {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

constexpr std::int64_t us = 1'000'000;  // ps
constexpr std::int64_t ns = 1'000;

NetworkOptions simple() {
  NetworkOptions o;
  const LinkOptions link{.rate = Bandwidth::bytes_per_second(1'000'000'000),
                         .latency = PicoDuration::nanoseconds(10)};
  o.host_link = o.local_link = o.global_link = link;
  o.mtu = 1000;
  o.buffer_bytes = 64'000;
  o.switch_delay = PicoDuration::nanoseconds(100);
  o.cut_through = false;
  return o;
}

/// A star, watched from the beginning.
struct Watched final : NetworkUser {
  Topology topology;
  std::unique_ptr<Router> router;
  Engine engine;
  Network network;
  Recorder recorder;
  std::uint16_t user;

  explicit Watched(std::uint32_t hosts, const NetworkOptions& options = simple())
      : topology(make_topology("star:" + std::to_string(hosts)).value()),
        router(make_router(default_router(topology), topology).value()),
        engine(topology.vertices()),
        network(topology, *router, options, engine, 1),
        recorder(network, "star"),
        user(network.add_user(*this)) {}

  void on_sent(const Message&, PicoInstant) override {}
  void on_arrived(const Message&) override {}
  void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint8_t level = 0) {
    network.send({.source = from, .destination = to, .bytes = bytes, .level = level, .user = user});
  }
  const LinkTelemetry& finish(std::int64_t end_ps) {
    engine.run_until(PicoInstant::never());
    recorder.finish(PicoInstant(end_ps));
    return recorder.links();
  }
  LinkId up(std::uint32_t host) const { return topology.link({Vertex(host), PortNumber(0)}); }
  LinkId down(std::uint32_t host) const { return topology.link(topology.peer(up(host))); }
};

std::vector<double> series(const LinkTelemetry& links, LinkId link, bool queue, std::uint32_t first,
                           std::uint32_t last) {
  std::vector<double> values;
  for (std::uint32_t s = first; s < last; ++s) {
    values.push_back(queue ? links.queue(link, s) : links.utilisation(link, s));
  }
  return values;
}

TEST(recorder, one_packet_keeps_two_links_busy_for_a_microsecond_each) {
  Watched w(2);
  w.send(0, 1, 1000);
  const LinkTelemetry& links = w.finish(4 * us);
  EXPECT_EQ(links.step(), PicoDuration::nanoseconds(100));
  ASSERT_EQ(links.steps(), 40u);
  EXPECT_EQ(links.utilisation(w.up(0)), 0.25);
  EXPECT_EQ(links.totals(w.up(0)).packets, 1u);
  EXPECT_EQ(links.totals(w.up(0)).bytes, 1000u);
  EXPECT_EQ(links.utilisation(w.up(1)), 0);
  // It goes on at 1 us + 10 ns + 100 ns, in the middle of a step.
  EXPECT_EQ(links.totals(w.down(1)).busy, PicoDuration::microseconds(1));
  EXPECT_THAT(series(links, w.up(0), false, 8, 12), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(series(links, w.down(1), false, 10, 13), ElementsAre(0, DoubleEq(0.9), 1));
  EXPECT_THAT(series(links, w.down(1), false, 20, 23), ElementsAre(1, DoubleEq(0.1), 0));
  // Nothing waited anywhere.
  EXPECT_EQ(links.queue(w.up(0)), 0);
  EXPECT_EQ(links.queue(w.down(1)), 0);
  EXPECT_EQ(links.totals(w.down(1)).queue_peak, 0u);
}

TEST(recorder, a_message_waits_at_its_host_while_its_packets_leave) {
  Watched w(2);
  w.send(0, 1, 4000);
  const LinkTelemetry& links = w.finish(8 * us);
  EXPECT_EQ(links.utilisation(w.up(0)), 0.5);
  EXPECT_EQ(links.totals(w.up(0)).queue_peak, 3000u);
  // 3,000 bytes for a microsecond, then 2,000, then 1,000, then none.
  EXPECT_EQ(links.queue(w.up(0)), 6000.0 / 8);
  EXPECT_EQ(links.queue(w.up(0), 0), 3000);
  EXPECT_EQ(links.queue(w.up(0), 15), 2000);
  EXPECT_EQ(links.queue(w.up(0), 29), 1000);
  EXPECT_EQ(links.queue(w.up(0), 30), 0);
}

TEST(recorder, two_flows_on_a_link_fill_it_and_its_queue) {
  Watched w(3);
  w.send(0, 2, 2000);
  w.send(1, 2, 2000);
  const LinkTelemetry& links = w.finish(10 * us);
  // The first packets are at the switch at 1.11 us, the others at 2.11 us: one goes on, one waits;
  // from then on two wait for a microsecond, then one, then none.
  const LinkId down = w.down(2);
  EXPECT_EQ(links.totals(down).busy, PicoDuration::microseconds(4));
  EXPECT_EQ(links.utilisation(down), 0.4);
  EXPECT_EQ(links.totals(down).queue_peak, 2000u);
  EXPECT_DOUBLE_EQ(links.queue(down), (1000.0 + 2000.0 + 1000.0) / 10);
  EXPECT_DOUBLE_EQ(links.queue(down, 11), 900);  // from 1.11 us on
  EXPECT_DOUBLE_EQ(links.queue(down, 15), 1000);
  EXPECT_DOUBLE_EQ(links.queue(down, 21), 1900);  // 1,000 until 2.11 us
  EXPECT_DOUBLE_EQ(links.queue(down, 25), 2000);
  EXPECT_DOUBLE_EQ(links.queue(down, 35), 1000);
  EXPECT_DOUBLE_EQ(links.queue(down, 41), 100);  // until 4.11 us
  EXPECT_DOUBLE_EQ(links.queue(down, 42), 0);
}

NetworkOptions two_levels() {
  NetworkOptions o = simple();
  o.levels = {{}, {}};
  return o;
}

TEST(recorder, links_count_the_bytes_and_waits_of_each_level) {
  Watched w(3, two_levels());
  w.send(0, 2, 2000, 0);
  w.send(1, 2, 2000, 1);
  w.finish(10 * us);
  const LinkId down = w.down(2);
  // At 1.11 us both first packets are at the switch, at 2.11 us the second ones. The levels take
  // turns: level 0's packets go at once and at 3.11 us, level 1's at 2.11 and 4.11 us.
  EXPECT_EQ(w.recorder.counters(down, 0), (LinkCounters{2, 2000, PicoDuration(1 * us)}));
  EXPECT_EQ(w.recorder.counters(down, 1), (LinkCounters{2, 2000, PicoDuration(3 * us)}));
  // A message's second packet leaves its host a microsecond after it was posted.
  EXPECT_EQ(w.recorder.counters(w.up(1), 1), (LinkCounters{2, 2000, PicoDuration(1 * us)}));
  EXPECT_EQ(w.recorder.counters(w.up(1), 0), LinkCounters());
}

TEST(recorder, packets_that_still_wait_count_until_now) {
  Watched w(3, two_levels());
  w.send(0, 2, 1000, 0);
  w.send(1, 2, 1000, 1);
  w.engine.run_until(PicoInstant(1'610 * ns));
  EXPECT_EQ(w.network.counters(w.down(2), 1).waited, PicoDuration(500 * ns));
  EXPECT_EQ(w.network.counters(w.down(2), 1).packets, 0u);
  EXPECT_EQ(w.network.counters(w.down(2)).waited, PicoDuration(500 * ns));
  w.finish(4 * us);
  EXPECT_EQ(w.network.counters(w.down(2), 1), (LinkCounters{1, 1000, PicoDuration(1 * us)}));
}

TEST(recorder, packets_that_wait_for_a_dead_link_count_until_the_end_of_the_recording) {
  Watched w(2);
  w.network.set_up(w.down(1), false);
  w.send(0, 1, 1000);
  w.finish(10 * us);
  // The packet reaches the switch at 1.11 us.
  EXPECT_EQ(w.recorder.counters(w.down(1), 0), (LinkCounters{0, 0, PicoDuration(8'890 * ns)}));
}

TEST(recorder, incast_queues_what_the_last_link_cannot_carry) {
  constexpr std::uint32_t senders = 8;
  Watched w(senders + 1);
  for (std::uint32_t h = 1; h <= senders; ++h) w.send(h, 0, 1000);
  const LinkTelemetry& links = w.finish(20 * us);
  EXPECT_EQ(links.totals(w.down(0)).busy, PicoDuration::microseconds(8));
  EXPECT_EQ(links.totals(w.down(0)).queue_peak, 7000u);
  EXPECT_DOUBLE_EQ(links.queue(w.down(0)), (7 + 6 + 5 + 4 + 3 + 2 + 1) * 1000.0 / 20);
  // Latencies: 1 us + 110 ns to the switch, then one after the other, and 10 ns at the end.
  const FlowFigures* flows = w.recorder.flows().user(w.user);
  ASSERT_NE(flows, nullptr);
  EXPECT_EQ(flows->latencies().count, 8u);
  EXPECT_EQ(flows->bytes(), 8000u);
  EXPECT_EQ(flows->shortest(), PicoDuration(2 * us + 120 * ns));
  EXPECT_EQ(flows->longest(), PicoDuration(9 * us + 120 * ns));
  ASSERT_EQ(flows->samples().size(), 8u);
  EXPECT_EQ(flows->samples()[7].end, PicoInstant(9 * us + 120 * ns));
  EXPECT_EQ(flows->samples()[7].bytes, 1000u);
  ASSERT_NE(flows->of_size(9), nullptr);  // 512 … 1,023 bytes
  EXPECT_EQ(flows->of_size(9)->count, 8u);
  EXPECT_EQ(flows->of_size(10), nullptr);
}

TEST(recorder, what_is_under_way_at_the_end_counts_until_then) {
  Watched w(2);
  w.send(0, 1, 3000);
  w.engine.run_until(PicoInstant(1 * us + 500 * ns));
  w.recorder.finish(PicoInstant(1 * us + 500 * ns));
  const LinkTelemetry& links = w.recorder.links();
  EXPECT_EQ(links.end(), PicoInstant(1 * us + 500 * ns));
  EXPECT_EQ(links.steps(), 15u);
  EXPECT_EQ(links.utilisation(w.up(0)), 1);
  EXPECT_DOUBLE_EQ(links.queue(w.up(0)), (2000 * 1.0 + 1000 * 0.5) / 1.5);
}

TEST(recorder, long_runs_have_as_many_steps_as_short_ones) {
  Watched w(2);
  for (int i = 0; i < 1000; ++i) w.send(0, 1, 1000);
  const LinkTelemetry& links = w.finish(0);
  EXPECT_EQ(links.end(), PicoInstant(1001 * us + 120 * ns));
  EXPECT_LE(links.steps(), LinkTelemetry::most_steps);
  EXPECT_GT(links.steps(), LinkTelemetry::most_steps / 2);
  double busy = 0;
  for (std::uint32_t s = 0; s < links.steps(); ++s) {
    const double length =
        s + 1 < links.steps()
            ? static_cast<double>(links.step().ticks())
            : static_cast<double>((links.end() - PicoInstant()).ticks() - links.step().ticks() * s);
    busy += links.utilisation(w.up(0), s) * length;
  }
  EXPECT_NEAR(busy, 1000.0 * us, 1);
  EXPECT_EQ(links.totals(w.up(0)).busy, PicoDuration::milliseconds(1));
}

TEST(recorder, a_link_that_becomes_faster_is_never_more_than_busy) {
  Watched w(2);
  w.send(0, 1, 2000);
  w.engine.run_until(PicoInstant(us / 2));
  w.network.set_rate(w.up(0), Bandwidth::bytes_per_second(10'000'000'000));
  const LinkTelemetry& links = w.finish(0);
  // 500 bytes at the old rate, 500 and the second packet at the new one.
  EXPECT_EQ(links.totals(w.up(0)).busy, PicoDuration(us / 2 + us / 20 + us / 10));
}

TEST(recorder, lost_packets_wait_again) {
  Watched w(2);
  w.network.set_loss(w.up(0), 500'000);
  for (int i = 0; i < 50; ++i) w.send(0, 1, 2500);
  const LinkTelemetry& links = w.finish(0);
  EXPECT_GT(w.network.packets_lost(), 0u);
  EXPECT_EQ(links.totals(w.up(0)).packets, 150 + w.network.packets_lost());
  EXPECT_EQ(w.recorder.flows().user(w.user)->latencies().count, 50u);
}

struct Outcome {
  std::uint64_t hash, events, handled;
  bool operator==(const Outcome&) const = default;
};
Outcome run_traffic(const char* shape, bool recorded) {
  const Topology topology = make_topology(shape).value();
  const auto router = make_router(default_router(topology), topology).value();
  NetworkOptions like = simple();
  like.levels = {{}, {}};
  Engine engine(topology.vertices());
  Agents agents(engine);
  Network network(topology, *router, like, engine, 7);
  std::optional<Recorder> recorder;
  if (recorded) recorder.emplace(network, "any");
  std::vector<std::uint32_t> hosts(topology.hosts());
  std::iota(hosts.begin(), hosts.end(), 0);
  const Traffic a({.load = 0.4, .end = PicoInstant(200 * us), .seed = 1}, hosts, network, agents);
  const Traffic b({.pattern = TrafficPattern::incast,
                   .load = 0.02,
                   .level = 1,
                   .end = PicoInstant(200 * us),
                   .seed = 2},
                  hosts, network, agents);
  engine.run_until(PicoInstant::never());
  if (recorded) recorder->finish({});
  return {engine.trace_hash(), engine.events(), engine.handled()};
}

TEST(recorder, changes_nothing) {
  for (const char* shape : {"star:8", "fat-tree:64", "dragonfly:72", "torus:4x4"}) {
    EXPECT_EQ(run_traffic(shape, true), run_traffic(shape, false)) << shape;
  }
}

TEST(link_telemetry, the_busiest_and_the_most_awaited_links_are_told_of) {
  Watched w(40);
  for (std::uint32_t h = 1; h < 40; ++h) w.send(h, 0, 1000);
  w.send(5, 6, 20'000);
  const LinkTelemetry& links = w.finish(0);
  const auto chosen = links.most_loaded(w.topology, 3);
  EXPECT_THAT(chosen, testing::UnorderedElementsAre(w.down(0), w.up(5), w.down(6)));
  EXPECT_EQ(links.most_loaded(w.topology, 1000).size(), 80u);
}

TEST(link_telemetry, a_host_where_messages_wait_is_told_of_beside_busier_switches) {
  Watched w(40);
  for (std::uint32_t h = 1; h < 20; ++h) w.send(h, 0, 3000);
  for (std::uint32_t h = 20; h < 39; ++h) w.send(h, 39, 2000);
  w.send(5, 6, 4000);
  w.send(5, 7, 4000);
  const auto chosen = w.finish(0).most_loaded(w.topology, 2);
  EXPECT_THAT(chosen, testing::UnorderedElementsAre(w.down(0), w.up(5)));
}

TEST(link_telemetry, many_links_have_fewer_steps) {
  LinkTelemetry links(200'000);
  links.transmitted(LinkId(199'999), 10, 0, PicoInstant(0), PicoInstant(10 * us));
  links.finish(PicoInstant(10 * us));
  EXPECT_LE(links.steps(), 16u);
  EXPECT_GT(links.steps(), 8u);
  EXPECT_EQ(links.utilisation(LinkId(199'999)), 1);
  EXPECT_EQ(links.utilisation(LinkId(0)), 0);
}

}  // namespace
}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
// Times are worked out by hand: links carry a byte per nanosecond and take 10 ns, the switch 100
// ns, packets have 1,000 bytes, and a lost packet is sent again 5 us after it would have arrived.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/network/network.hpp"

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
  Hop next(Vertex, PortNumber, RouteState& state, const PortLoad&, Rng&) const override {
    return {.port = PortNumber(static_cast<std::uint16_t>(state.destination))};
  }
  void choices(Vertex, PortNumber, const RouteState&, std::vector<Choice>&) const override {}
  void starts(std::uint32_t, std::uint32_t, std::vector<RouteState>&) const override {}
};

class network_loss : public testing::Test, public NetworkUser {
 protected:
  void build(std::uint32_t hosts, std::uint32_t buffer_bytes = 64'000) {
    topology_ = std::make_unique<Topology>(*Topology::make("star", hosts, 1));
    for (std::uint32_t h = 0; h < hosts; ++h) {
      topology_->connect(topology_->switch_at(0), topology_->host(h), CableKind::host);
    }
    ASSERT_TRUE(topology_->finish().ok());
    NetworkOptions o;
    o.host_link = o.local_link =
        o.global_link = {.rate = Bandwidth::bytes_per_second(1'000'000'000),
                         .latency = PicoDuration::nanoseconds(10)};
    o.mtu = 1000;
    o.buffer_bytes = buffer_bytes;
    o.retransmit_after = PicoDuration::microseconds(5);
    engine_ = std::make_unique<Engine>(topology_->vertices());
    network_ = std::make_unique<Network>(*topology_, router_, o, *engine_, 1);
    network_->add_user(*this);
  }
  LinkId from_host(std::uint32_t h) const {
    return topology_->link({topology_->host(h), PortNumber(0)});
  }
  LinkId to_host(std::uint32_t h) const {
    return topology_->link({topology_->switch_at(0), PortNumber(static_cast<std::uint16_t>(h))});
  }
  void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t tag) {
    network_->send({.source = from, .destination = to, .bytes = bytes, .tag = tag});
  }
  void run(std::int64_t until) { engine_->run_until(PicoInstant(until)); }
  void on_sent(const Message& m, PicoInstant departure) override {
    sent_.emplace_back(m.request.tag, departure.ticks());
  }
  void on_lost(const Message& m) override {
    lost_.push_back(m.request.tag);
    if (answers_losses_) send(0, 1, 1000, m.request.tag + 1);
  }
  void on_arrived(const Message& m) override {
    arrived_.emplace_back(m.request.tag, engine_->now().ticks());
  }

  using Times = std::vector<std::pair<std::uint64_t, std::int64_t>>;
  StarRouter router_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Network> network_;
  Times sent_, arrived_;
  std::vector<std::uint64_t> lost_;
  bool answers_losses_ = false;  // with another message
};

TEST_F(network_loss, a_lost_packet_is_sent_again_by_its_host) {
  build(2);
  network_->set_loss(from_host(0), 1'000'000);
  send(0, 1, 1000, 7);
  run(500 * ns);
  network_->set_loss(from_host(0), 0);
  run(100 * us);
  // It would have been at the switch at 1.01 us. Sent again at 6.01 us it is there 1.12 us later.
  EXPECT_EQ(arrived_, (Times{{7, 6010 * ns + 1120 * ns}}));
  EXPECT_EQ(sent_, (Times{{7, 1 * us}})) << "told once";
  EXPECT_EQ(network_->packets_lost(), 1u);
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network_loss, a_message_that_may_be_lost_is_gone_and_its_user_is_told) {
  build(2);
  network_->set_loss(from_host(0), 1'000'000);
  network_->send({.source = 0, .destination = 1, .bytes = 1000, .tag = 7, .may_be_lost = true});
  run(500 * ns);
  network_->set_loss(from_host(0), 0);
  run(100 * us);
  EXPECT_EQ(lost_, std::vector<std::uint64_t>{7});
  EXPECT_TRUE(arrived_.empty());
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network_loss, users_may_post_when_a_message_is_lost_on_the_link_of_its_host) {
  build(2);
  answers_losses_ = true;
  network_->set_loss(from_host(0), 1'000'000);
  network_->send({.source = 0, .destination = 1, .bytes = 1000, .tag = 7, .may_be_lost = true});
  network_->set_loss(from_host(0), 0);
  run(100 * us);
  // Both have left the host: the lost one, and the one that its user posted then.
  EXPECT_EQ(lost_, std::vector<std::uint64_t>{7});
  EXPECT_EQ(sent_, (Times{{7, 1 * us}, {8, 2 * us}}));
  EXPECT_EQ(arrived_, (Times{{8, 2 * us + 120 * ns}}));
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network_loss, a_message_is_complete_when_its_lost_packet_has_come) {
  build(2);
  send(0, 1, 2500, 1);
  run(1 * us);
  network_->set_loss(to_host(1), 1'000'000);
  run(2 * us);
  network_->set_loss(to_host(1), 0);
  run(100 * us);
  // The second packet began to leave the switch at 1.11 us and would have arrived at 2.12 us.
  EXPECT_EQ(arrived_, (Times{{1, 7120 * ns + 1120 * ns}}));
  EXPECT_EQ(sent_, (Times{{1, 2500 * ns}}));
  EXPECT_EQ(network_->packet_hops(), 7u);
  EXPECT_EQ(network_->packets_delivered(), 3u);
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network_loss, the_room_of_a_lost_packet_is_free_again) {
  build(2, 1000);
  network_->set_loss(from_host(0), 1'000'000);
  send(0, 1, 1000, 1);
  send(0, 1, 1000, 2);
  run(500 * ns);
  network_->set_loss(from_host(0), 0);
  run(100 * us);
  // The buffer of one packet is known to be free 10 ns after the first would have come: 1.02 us.
  EXPECT_EQ(arrived_, (Times{{2, 1020 * ns + 1120 * ns}, {1, 6010 * ns + 1120 * ns}}));
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network_loss, losses_are_as_many_as_asked_and_every_message_arrives_once) {
  build(4, 1000);
  for (std::uint32_t h = 0; h < 4; ++h) network_->set_loss(to_host(h), 100'000);
  for (std::uint64_t tag = 0; tag < 2000; ++tag) {
    const auto from = static_cast<std::uint32_t>(tag % 4);
    send(from, (from + 1 + static_cast<std::uint32_t>(tag / 4 % 3)) % 4, 1 + tag * 7 % 3000, tag);
  }
  run(1'000'000 * us);
  std::map<std::uint64_t, int> times;
  for (const auto& [tag, at] : arrived_) ++times[tag];
  EXPECT_EQ(times.size(), 2000u);
  for (const auto& [tag, n] : times) EXPECT_EQ(n, 1) << tag;
  EXPECT_EQ(sent_.size(), 2000u);
  const auto tries = static_cast<double>(network_->packets_lost() + network_->packets_delivered());
  EXPECT_NEAR(static_cast<double>(network_->packets_lost()) / tries, 0.1, 0.02);
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(network_loss, fetching_ahead_changes_nothing) {
  std::array<Times, 2> arrived;
  std::array<std::uint64_t, 2> traces{};
  for (const bool fetches : {false, true}) {
    build(8);
    engine_->fetch_ahead_if(fetches);
    for (std::uint32_t h = 0; h < 8; ++h) network_->set_loss(to_host(h), 100'000);
    for (std::uint32_t i = 0; i < 400; ++i) send(i % 8, (i + 1 + i / 8 % 7) % 8, 1 + i * 10, i);
    run(10'000 * us);
    EXPECT_GT(network_->packets_lost(), 0U);
    arrived[fetches ? 1 : 0] = std::exchange(arrived_, {});
    traces[fetches ? 1 : 0] = engine_->trace_hash();
  }
  EXPECT_EQ(arrived[0].size(), 400U);
  EXPECT_EQ(arrived[0], arrived[1]);
  EXPECT_EQ(traces[0], traces[1]);
}

}  // namespace
}  // namespace weft::sim

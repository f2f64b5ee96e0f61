// SPDX-License-Identifier: Apache-2.0
#include "sim/rc/reliable_connections.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

using net::rc::Verb;

class reliable_connections : public testing::Test, public RcUser {
 protected:
  void build(const RcOptions& options, const NetworkOptions& network = {}) {
    topology_ = std::make_unique<Topology>(*make_topology("star:3"));
    router_ = make_router("d-mod-k", *topology_).value();
    engine_ = std::make_unique<Engine>(topology_->vertices());
    agents_ = std::make_unique<Agents>(*engine_);
    network_ = std::make_unique<Network>(*topology_, *router_, network, *engine_, 1);
    connections_ = std::make_unique<ReliableConnections>(options, *this, *network_, *agents_);
  }
  static RcOptions device(std::string_view name, bool paged = false) {
    RcOptions o;
    o.profile = *net::rc::device_profile(name);
    o.adapter.paged = paged;
    return o;
  }
  void post(std::uint32_t connection, std::uint64_t tag, std::uint32_t bytes,
            std::uint64_t remote = 0) {
    connections_->post(connection, 0,
                       {.verb = remote != 0 ? Verb::write : Verb::send,
                        .remote = remote,
                        .bytes = bytes,
                        .tag = tag,
                        .cookie = tag});
  }
  void run_for(Duration d) { engine_->run_until(engine_->now() + to_pico(d)); }
  void run_until(Duration d) { engine_->run_until(PicoInstant() + to_pico(d)); }

  void on_received(std::uint64_t tag) override { received_.push_back(tag); }
  void on_completed(std::uint32_t, std::uint32_t, std::uint64_t cookie) override {
    completed_.push_back(cookie);
    completed_at_ = engine_->now() - PicoInstant();
  }
  void on_failed(std::uint32_t connection, std::uint32_t) override {
    ++failed_;
    connections_->close(connection);
  }

  using Tags = std::vector<std::uint64_t>;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Agents> agents_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<ReliableConnections> connections_;
  Tags received_, completed_;
  PicoDuration completed_at_{};
  int failed_ = 0;
};

constexpr std::uint32_t many = 1000;

TEST_F(reliable_connections, messages_of_several_packets_arrive_and_complete_in_order) {
  build(device("connectx-6"));
  const std::uint32_t c = connections_->open(0, 1, 0, many);
  for (std::uint64_t tag = 0; tag < 20; ++tag) {
    post(c, tag, static_cast<std::uint32_t>(1 + tag * 3000), tag % 2 == 0 ? 0 : 1U << 20);
  }
  run_for(Duration::milliseconds(1));
  Tags all;
  for (std::uint64_t tag = 0; tag < 20; ++tag) all.push_back(tag);
  EXPECT_EQ(received_, all);
  EXPECT_EQ(completed_, all);
  EXPECT_EQ(connections_->counters().adapters.retransmissions, 0u);
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(reliable_connections, connections_between_two_hosts_take_turns) {
  build(device("connectx-6"));
  const std::uint32_t long_one = connections_->open(0, 1, 0, many);
  const std::uint32_t short_one = connections_->open(0, 1, 0, many);
  post(long_one, 1, 1U << 20);
  post(short_one, 2, 100);
  run_for(Duration::milliseconds(1));
  EXPECT_EQ(received_, (Tags{2, 1})) << "the short message does not wait for the long one";
}

TEST_F(reliable_connections, a_write_to_a_page_that_is_not_there_waits_for_it) {
  build(device("connectx-6", true));
  const std::uint32_t c = connections_->open(0, 1, 0, many);
  const std::uint64_t paged = connections_->add_memory(1, 8192, false);
  const std::uint64_t there = connections_->add_memory(1, 8192, true);
  post(c, 1, 100, there);
  run_for(Duration::microseconds(100));
  EXPECT_EQ(completed_, Tags{1}) << "prefetched";
  post(c, 2, 100, paged);
  run_for(Duration::milliseconds(4));
  EXPECT_EQ(completed_, Tags{1});
  run_for(Duration::milliseconds(2));
  EXPECT_EQ(completed_, (Tags{1, 2})) << "3.5 times 1.28 ms after the RNR NAK";
  EXPECT_EQ(connections_->counters().adapters.rnr_naks, 1u);
  EXPECT_EQ(connections_->counters().page_faults, 1u);
}

TEST_F(reliable_connections, a_sender_waits_once_for_each_page_of_its_ring) {
  RcOptions o = device("ideal", true);
  o.sends_paged = true;
  build(o);
  const std::uint32_t c = connections_->open(0, 1, 0, many);
  const std::uint64_t there = connections_->add_memory(1, send_ring_bytes, true);
  post(c, 1, 100, there);
  run_for(Duration::microseconds(200));
  EXPECT_EQ(completed_, Tags{}) << "a page fault takes 250 us at least";
  run_for(Duration::milliseconds(1));
  EXPECT_EQ(completed_, Tags{1});
  // The rest of the ring, and the beginning again.
  constexpr std::uint32_t length = 1 << 16;
  for (std::uint64_t tag = 2; tag < 34; ++tag) post(c, tag, length, there);
  run_for(Duration::seconds(1));
  EXPECT_EQ(completed_.size(), 33u);
  EXPECT_EQ(connections_->counters().page_faults, send_ring_bytes / net::rc::page_bytes);
  EXPECT_EQ(connections_->counters().adapters.timeouts, 0u);
}

TEST_F(reliable_connections, a_request_that_is_dammed_waits_for_the_timeout_or_for_a_dummy) {
  for (const bool avoids : {false, true}) {
    RcOptions o = device("connectx-4", true);
    if (avoids) o.dummy_after = Duration::microseconds(600);
    build(o);
    received_.clear();
    completed_.clear();
    const std::uint32_t c = connections_->open(0, 1, 0, many);
    const std::uint64_t paged = connections_->add_memory(1, 8192, false);
    post(c, 1, 100, paged);
    run_for(Duration::milliseconds(1));
    post(c, 2, 100, paged);
    run_until(Duration::milliseconds(20));
    EXPECT_EQ(completed_, avoids ? (Tags{1, 2}) : Tags{1});
    run_until(Duration::milliseconds(600));
    EXPECT_EQ(completed_, (Tags{1, 2}));
    EXPECT_EQ(connections_->counters().adapters.dammed, avoids ? 0u : 1u);
    EXPECT_EQ(connections_->counters().dummies > 0, avoids);
  }
}

TEST_F(reliable_connections, lost_packets_are_found_missing_and_sent_again) {
  RcOptions o = device("ideal");
  o.adapter.ack_timeout = 8;
  build(o);
  for (std::uint32_t h = 0; h < 2; ++h) {
    network_->set_loss(topology_->link({topology_->host(h), PortNumber(0)}), 50'000);
  }
  const std::uint32_t c = connections_->open(0, 1, 0, many);
  Tags all;
  for (std::uint64_t tag = 0; tag < 300; ++tag) {
    post(c, tag, static_cast<std::uint32_t>(1 + tag * 71 % 9000), 1U << 20);
    all.push_back(tag);
  }
  run_for(Duration::seconds(2));
  EXPECT_EQ(received_, all);
  EXPECT_EQ(completed_, all);
  EXPECT_GT(connections_->counters().lost, 0u);
  EXPECT_EQ(network_->packets_lost(), connections_->counters().lost);
  EXPECT_TRUE(network_->at_rest());
}

TEST_F(reliable_connections, a_receiver_without_buffers_says_so_until_it_has_some) {
  build(device("ideal"));
  const std::uint32_t c = connections_->open(0, 1, 0, 2);
  for (std::uint64_t tag = 0; tag < 4; ++tag) post(c, tag, 10);
  run_for(Duration::milliseconds(10));
  EXPECT_EQ(received_, (Tags{0, 1}));
  connections_->add_receive(c, 1);
  run_for(Duration::milliseconds(10));
  EXPECT_EQ(received_, (Tags{0, 1, 2}));
  EXPECT_GT(connections_->counters().adapters.rnr_naks, 1u);
}

TEST_F(reliable_connections, a_closed_connection_delivers_nothing_and_its_number_serves_again) {
  build(device("connectx-4"));
  const std::uint32_t first = connections_->open(0, 1, 0, many);
  post(first, 1, 100'000);
  run_for(Duration::microseconds(3));
  Tags undelivered;
  connections_->for_each_undelivered(first, [&](std::uint64_t tag) { undelivered.push_back(tag); });
  EXPECT_EQ(undelivered, Tags{1});
  connections_->close(first);
  const std::uint32_t second = connections_->open(0, 1, 0, many);
  EXPECT_EQ(second, first);
  post(second, 2, 10);
  run_for(Duration::seconds(6));
  EXPECT_EQ(received_, Tags{2}) << "packets of the first one are under way when the second is open";
  EXPECT_EQ(completed_, Tags{2});
  EXPECT_EQ(connections_->counters().adapters.timeouts, 0u);
}

TEST_F(reliable_connections, a_queue_pair_that_serves_again_begins_at_a_fresh_psn) {
  build(device("connectx-6"));
  std::vector<RcTapped> seen;
  connections_->set_tap(0, [&](const RcTapped& tapped) {
    if (tapped.is_request) seen.push_back(tapped);
  });
  Tags all;
  std::uint32_t last = 0;
  for (std::uint64_t use = 0; use < 20; ++use) {
    const std::uint32_t c = connections_->open(0, 1, 0, many);
    seen.clear();
    for (std::uint64_t i = 0; i < 3; ++i) {
      post(c, 3 * use + i, 10'000);
      all.push_back(3 * use + i);
    }
    run_for(Duration::milliseconds(1));
    ASSERT_EQ(seen.size(), 9u);
    EXPECT_EQ(seen[0].responder_queue_pair, 0u) << "the same one each time";
    const std::uint32_t first = seen[0].packet.psn;
    if (use == 0) {
      EXPECT_EQ(first, 0u);
    } else {
      EXPECT_GT(std::abs(wire::psn_distance(first, last)), 1 << 20) << "use " << use;
    }
    last = seen.back().packet.psn;
    connections_->close(c);
  }
  EXPECT_EQ(received_, all);
  EXPECT_EQ(completed_, all);
  EXPECT_EQ(connections_->counters().adapters.retransmissions, 0u);
}

TEST_F(reliable_connections, retries_that_are_exceeded_end_a_connection) {
  RcOptions o = device("ideal");
  o.adapter.ack_timeout = 8;
  o.adapter.retry_count = 2;
  build(o);
  network_->set_loss(topology_->link({topology_->host(0), PortNumber(0)}), 1'000'000);
  const std::uint32_t c = connections_->open(0, 1, 0, many);
  post(c, 1, 100);
  post(c, 2, 100);
  run_for(Duration::seconds(1));
  EXPECT_EQ(failed_, 1) << "told once";
  EXPECT_EQ(completed_, Tags());
  EXPECT_FALSE(connections_->is_open(c));
}

TEST_F(reliable_connections, a_tap_sees_what_leaves_and_what_arrives) {
  build(device("connectx-4", true));
  std::vector<RcTapped> seen;
  connections_->set_tap(0, [&](const RcTapped& tapped) { seen.push_back(tapped); });
  const std::uint32_t c = connections_->open(0, 1, 0, many);
  const std::uint32_t other = connections_->open(1, 2, 0, many);
  post(other, 9, 100);
  post(c, 1, 100, connections_->add_memory(1, 100, false));
  run_for(Duration::milliseconds(10));
  ASSERT_EQ(seen.size(), 4u) << "WRITE, RNR NAK, WRITE, ACK";
  EXPECT_TRUE(seen[0].leaves && seen[0].is_request);
  EXPECT_FALSE(seen[1].leaves || seen[1].is_request);
  EXPECT_TRUE((wire::Aeth{seen[1].packet.syndrome, 0}.is_rnr_nak()));
  EXPECT_EQ(seen[2].packet.psn, seen[0].packet.psn);
  EXPECT_EQ(seen[1].requester_queue_pair, seen[0].requester_queue_pair);
}

}  // namespace
}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/run/stuck.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "sim/network/network.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

using testing::HasSubstr;

class Nobody final : public NetworkUser {
 public:
  void on_sent(const Message&, PicoInstant) override {}
  void on_arrived(const Message&) override {}
};

/// Five switches in a ring, with a host each and room for two packets per port. Each host sends to
/// the one two switches on, so that with router `shortest` the packets of all wait for each other.
class Ring {
 public:
  explicit Ring(const char* router)
      : topology_(make_topology("file:" + description()).value()),
        router_(make_router(router, topology_).value()),
        engine_(topology_.vertices()),
        network_(topology_, *router_, options(), engine_, 1) {
    network_.add_user(nobody_);
    for (std::uint32_t host = 0; host < 5; ++host) {
      network_.send({.source = host, .destination = (host + 2) % 5, .bytes = 100'000});
    }
  }
  Network& network() { return network_; }
  Result<void> check() {
    AloneExchange alone;
    return check_rest(network_, alone,
                      [&](PicoDuration step) { engine_.run_until(engine_.now() + step); });
  }

 private:
  static std::string description() {
    const std::string file = testing::TempDir() + std::to_string(::getpid()) + "-ring.toml";
    std::ofstream(file) << R"(hosts = ["h0", "h1", "h2", "h3", "h4"]
switches = ["s0", "s1", "s2", "s3", "s4"]
cables = [["h0", "s0"], ["h1", "s1"], ["h2", "s2"], ["h3", "s3"], ["h4", "s4"],
          ["s0", "s1"], ["s1", "s2"], ["s2", "s3"], ["s3", "s4"], ["s4", "s0"]]
)";
    return file;
  }
  static NetworkOptions options() {
    NetworkOptions o;
    o.mtu = 1000;
    o.packet_overhead = 0;
    o.buffer_bytes = 2000;
    return o;
  }

  Topology topology_;
  std::unique_ptr<Router> router_;
  Engine engine_;
  Network network_;
  Nobody nobody_;
};

TEST(stuck, packets_that_wait_for_each_other_in_a_ring_are_found) {
  Ring ring("shortest");
  const auto rest = ring.check();
  ASSERT_FALSE(rest.ok());
  EXPECT_EQ(rest.error().code, ErrorCode::unavailable);
  EXPECT_THAT(rest.error().message, HasSubstr("can never move"));
  EXPECT_THAT(rest.error().message, HasSubstr("use another router"));
  const auto standstill = check_standstill(ring.network());
  ASSERT_FALSE(standstill.ok());
  EXPECT_EQ(standstill.error().message, rest.error().message);
}

TEST(stuck, packets_that_arrive_or_wait_for_a_link_are_not) {
  Ring arrives("updown");
  EXPECT_TRUE(arrives.check().ok());
  EXPECT_TRUE(arrives.network().at_rest());
  EXPECT_TRUE(check_standstill(arrives.network()).ok());
  Ring waits("shortest");
  waits.network().set_up(LinkId(0), false);
  EXPECT_TRUE(waits.check().ok());
  EXPECT_TRUE(check_standstill(waits.network()).ok());
}

TEST(stuck, messages_that_never_arrive_are_an_error_unless_a_link_is_down) {
  EXPECT_TRUE(check_arrival(1169, 1169, 0).ok());
  EXPECT_TRUE(check_arrival(1169, 39, 2).ok());
  const auto stuck = check_arrival(1169, 39, 0);
  ASSERT_FALSE(stuck.ok());
  EXPECT_EQ(stuck.error().code, ErrorCode::unavailable);
  EXPECT_THAT(stuck.error().message, HasSubstr("1130 of 1169 messages"));
}

}  // namespace
}  // namespace weft::sim

// SPDX-License-Identifier: Apache-2.0
#include "fabric/hybrid/hybrid.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "fabric/tcp/tcp.hpp"

namespace weft {
namespace {

Instant test_now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}

// An endpoint and its completions. Its clock is the test's: nothing waits for real time.
struct Party {
  // `shm_job` empty: memory cannot be shared.
  Party(NodeId self, std::string shm_job = "job", std::uint32_t number = 1)
      : life(std::make_shared<OwnLife>(OwnLife{Incarnation(number)})) {
    ShmOptions near;
    TcpOptions far;
    near.self = far.self = self;
    near.life = far.life = life;
    near.secret.assign(32, std::byte{7});
    far.secret = near.secret;
    near.job_id = std::move(shm_job);
    far.listen = "127.0.0.1:0";
    auto network = open_tcp(far);
    EXPECT_TRUE(network.ok());
    std::unique_ptr<ShmFabric> memory;
    if (!near.job_id.empty()) {
      auto shared = open_shm(near);
      EXPECT_TRUE(shared.ok());
      memory = std::move(*shared);
    }
    auto opened =
        open_hybrid({self, Duration::seconds(1000)}, std::move(memory), std::move(*network));
    EXPECT_TRUE(opened.ok());
    fabric = std::move(*opened);
  }
  void step(Instant now) {
    std::array<Completion, 8> completions;
    const std::size_t n = fabric->poll(now, completions);
    for (const Completion& c : std::span(completions).first(n)) {
      if (c.kind == CompletionKind::peer_up) {
        is_up = true;
        peers_life = c.incarnation;
      }
      if (c.kind == CompletionKind::peer_down) is_up = false;
      if (c.kind == CompletionKind::received) ++received;
      if (c.kind == CompletionKind::sent) ++sent;
    }
  }
  std::shared_ptr<OwnLife> life;
  std::unique_ptr<Fabric> fabric;
  bool is_up = false;
  Incarnation peers_life{};
  std::size_t received = 0, sent = 0;
};

struct Pair {
  explicit Pair(std::string job_of_a = "job") : a(NodeId(0), std::move(job_of_a)), b(NodeId(1)) {}
  void introduce(const std::string& address_of_a, const std::string& address_of_b) {
    ASSERT_TRUE(a.fabric->add_peer(NodeId(1), Incarnation(1), address_of_b).ok());
    ASSERT_TRUE(b.fabric->add_peer(NodeId(0), Incarnation(1), address_of_a).ok());
  }
  void step(Duration ahead = {}) {
    a.step(test_now() + ahead);
    b.step(test_now() + ahead);
  }
  bool until(const std::function<bool()>& done, Duration ahead = {}) {
    const Instant give_up = test_now() + Duration::seconds(60);
    while (!done() && test_now() < give_up) step(ahead);
    return done();
  }
  bool both_up() const { return a.is_up && b.is_up; }
  Party a, b;
};

// The same address, but of an endpoint on another machine.
std::string elsewhere(std::string address) {
  address[4] = address[4] == '0' ? '1' : '0';
  return address;
}

TEST(hybrid_address, has_both_parts_or_one) {
  Party party(NodeId(0));
  const HybridAddress parts = split_address(party.fabric->address());
  EXPECT_TRUE(parts.near.starts_with("shm:"));
  EXPECT_TRUE(parts.far.starts_with("127.0.0.1:"));
  EXPECT_EQ(split_address("10.0.0.1:99").far, "10.0.0.1:99");
  EXPECT_EQ(split_address("10.0.0.1:99").near, "");
  EXPECT_EQ(split_address(parts.near).near, parts.near);
  EXPECT_EQ(split_address(parts.near).far, "");
}

TEST(hybrid, takes_shared_memory_on_one_host_without_being_told) {
  Pair pair;
  // Nobody listens at these network addresses.
  const auto only_near = [](const Party& party) {
    return split_address(party.fabric->address()).near + "|127.0.0.1:1";
  };
  pair.introduce(only_near(pair.a), only_near(pair.b));
  EXPECT_TRUE(pair.until([&] { return pair.both_up(); }));
}

TEST(hybrid, takes_the_network_at_once_to_another_host) {
  Pair pair;
  pair.introduce(elsewhere(pair.a.fabric->address()), elsewhere(pair.b.fabric->address()));
  EXPECT_TRUE(pair.until([&] { return pair.both_up(); }));
}

TEST(hybrid, takes_the_network_when_shared_memory_does_not_reach_in_time) {
  Pair pair("another job's memory");
  pair.introduce(pair.a.fabric->address(), pair.b.fabric->address());
  for (int i = 0; i < 2000; ++i) pair.step();
  EXPECT_FALSE(pair.a.is_up || pair.b.is_up);
  // After more than the patience, by the clock that it is given.
  EXPECT_TRUE(pair.until([&] { return pair.both_up(); }, Duration::seconds(2000)));
}

TEST(hybrid, takes_the_network_when_the_address_has_nothing_else) {
  Pair pair;
  pair.introduce(split_address(pair.a.fabric->address()).far,
                 split_address(pair.b.fabric->address()).far);
  EXPECT_TRUE(pair.until([&] { return pair.both_up(); }));
}

TEST(hybrid, takes_the_network_at_once_when_one_side_cannot_share_memory) {
  Pair pair("");
  EXPECT_EQ(split_address(pair.a.fabric->address()).near, "");
  pair.introduce(pair.a.fabric->address(), pair.b.fabric->address());
  EXPECT_TRUE(pair.until([&] { return pair.both_up(); }));
}

TEST(hybrid, names_the_fix_when_there_is_no_way_to_a_peer) {
  Pair pair;
  const std::string near = split_address(pair.b.fabric->address()).near;
  const auto added = pair.a.fabric->add_peer(NodeId(1), Incarnation(1), elsewhere(near));
  ASSERT_FALSE(added.ok());
  EXPECT_NE(added.error().message.find("without an address in the network"), std::string::npos);
}

TEST(hybrid, a_process_that_polls_no_more_is_silent_until_it_has_chosen_a_part) {
  for (const bool is_near : {true, false}) {
    Pair pair;
    const auto address = [&](const Party& party) {
      return is_near ? party.fabric->address() : elsewhere(party.fabric->address());
    };
    pair.introduce(address(pair.a), address(pair.b));
    for (int polls = 0; !pair.a.is_up && polls < 100'000; ++polls) {
      for (int i = 0; i < 200; ++i) pair.a.step(test_now());  // what came changes its state first
      const Instant give_up = test_now() + Duration::seconds(60);
      while (!pair.a.is_up && !pair.a.fabric->is_silent(NodeId(1)) && test_now() < give_up) {
        pair.a.step(test_now());
      }
      ASSERT_TRUE(pair.a.is_up || pair.a.fabric->is_silent(NodeId(1)))
          << "after " << polls << " polls of the other";
      pair.b.step(test_now());
    }
    EXPECT_TRUE(pair.a.is_up);
    EXPECT_FALSE(pair.a.fabric->is_silent(NodeId(1)));
  }
}

TEST(hybrid, its_own_notes_are_not_seen_and_do_not_count) {
  Pair pair;
  pair.introduce(pair.a.fabric->address(), pair.b.fabric->address());
  ASSERT_TRUE(pair.until([&] { return pair.both_up(); }));
  const std::array<std::byte, 8> data{};
  TxOp op;
  op.peer = NodeId(1);
  op.segments[0] = data;
  const std::vector<TxOp> batch(pair.a.fabric->limits().max_outstanding, op);
  EXPECT_EQ(pair.a.fabric->post(batch), batch.size());
  EXPECT_EQ(pair.a.fabric->post({&op, 1}), 0u);
  EXPECT_TRUE(pair.until([&] { return pair.b.received == batch.size(); }));
  EXPECT_TRUE(pair.until([&] { return pair.a.sent == batch.size(); }));
  EXPECT_EQ(pair.a.received, 0u);
}

// Node 1 is reached over one part, begins another life with a lower number and is reached over the
// given part then.
class hybrid_lives : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  static std::string only(const Party& party, bool near) {
    const HybridAddress parts = split_address(party.fabric->address());
    return near ? parts.near + "|127.0.0.1:1" : parts.far;
  }
  static bool until_up(Party& a, Party& b) {
    const Instant give_up = test_now() + Duration::seconds(60);
    while (!(a.is_up && b.is_up) && test_now() < give_up) {
      a.step(test_now());
      b.step(test_now());
    }
    return a.is_up && b.is_up;
  }
};
INSTANTIATE_TEST_SUITE_P(over, hybrid_lives, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& info) {
                           const auto part = [](bool near) { return near ? "memory" : "network"; };
                           return std::string(part(std::get<0>(info.param))) + "_then_" +
                                  part(std::get<1>(info.param));
                         });

TEST_P(hybrid_lives, one_with_a_lower_number_than_the_last_takes_the_next) {
  const auto [first, second] = GetParam();
  for (const std::uint32_t victim : {0u, 1u}) {
    const NodeId gone(victim), survives(1 - victim);
    Party survivor(survives, "job", 50);
    {
      Party former(gone, "job", 1000);
      ASSERT_TRUE(survivor.fabric->add_peer(gone, Incarnation(0), only(former, first)).ok());
      ASSERT_TRUE(former.fabric->add_peer(survives, Incarnation(0), only(survivor, first)).ok());
      ASSERT_TRUE(until_up(survivor, former));
    }
    Party next(gone, "job", 3);
    while (survivor.is_up) survivor.step(test_now());
    // As when the next life is at another address: the life that is known stays the last one.
    survivor.fabric->remove_peer(gone);
    ASSERT_TRUE(survivor.fabric->add_peer(gone, Incarnation(1000), only(next, second)).ok());
    ASSERT_TRUE(next.fabric->add_peer(survives, Incarnation(0), only(survivor, second)).ok());
    ASSERT_TRUE(until_up(survivor, next)) << "victim " << victim;
    EXPECT_GT(survivor.peers_life, Incarnation(1000)) << "victim " << victim;
    EXPECT_EQ(survivor.peers_life, next.life->incarnation);
  }
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// A process is a later life than the ones that its peers remember, whatever number its clock gave.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/tcp/tcp_test_support.hpp"

namespace weft::tcp {
namespace {

// A process whose life has a number that its clock gave.
struct Process {
  Process(std::uint32_t self, std::uint32_t number, const std::string& listen = "127.0.0.1:0")
      : life(std::make_shared<OwnLife>(OwnLife{Incarnation(number)})), party([&] {
          TcpOptions options = options_for(self, listen.c_str());
          options.life = life;
          return options;
        }()) {}
  void knows(Process& other) {
    ASSERT_TRUE(party.fabric()
                    .add_peer(other.party.id(), Incarnation(0), other.party.fabric().address())
                    .ok());
  }
  bool is_up(const Process& other) const { return party.is_up(other.party.id()); }
  Incarnation reported_life(NodeId peer) const {
    for (auto event = party.events.rbegin(); event != party.events.rend(); ++event) {
      if (event->peer == peer) return event->incarnation;
    }
    return Incarnation(0);
  }
  std::shared_ptr<OwnLife> life;
  Party party;
};

bool until_up(std::span<Party* const> all, const Process& a, const Process& b) {
  return drive(all, [&] { return a.is_up(b) && b.is_up(a); });
}

// A node of the pair begins a second life with the given number.
struct Restart {
  Restart(std::uint32_t victim, std::uint32_t first, std::uint32_t second)
      : survivor(1 - victim, 50), former(std::make_unique<Process>(victim, first)) {
    const std::string address = former->party.fabric().address();
    survivor.knows(*former);
    former->knows(survivor);
    EXPECT_TRUE(until_up(std::array{&survivor.party, &former->party}, survivor, *former));
    former.reset();
    EXPECT_TRUE(
        drive(std::array{&survivor.party}, [&] { return !survivor.party.is_up(NodeId(victim)); }));
    next = std::make_unique<Process>(victim, second, address);
    next->knows(survivor);
  }
  Process survivor;
  std::unique_ptr<Process> former, next;
};

class lives : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(of_the_node_that, lives, ::testing::Values(0u, 1u), [](const auto& info) {
  return info.param == 0 ? "tries_first" : "waits";
});

TEST_P(lives, one_with_a_lower_number_than_the_last_takes_the_next) {
  Restart r(GetParam(), 1000, 3);
  ASSERT_TRUE(until_up(std::array{&r.survivor.party, &r.next->party}, r.survivor, *r.next));
  EXPECT_EQ(r.next->life->incarnation, Incarnation(1001));
  EXPECT_EQ(r.survivor.reported_life(NodeId(GetParam())), Incarnation(1001));
}

TEST_P(lives, one_with_the_same_number_as_the_last_takes_the_next) {
  Restart r(GetParam(), 1000, 1000);
  ASSERT_TRUE(until_up(std::array{&r.survivor.party, &r.next->party}, r.survivor, *r.next));
  EXPECT_EQ(r.next->life->incarnation, Incarnation(1001));
  EXPECT_EQ(r.survivor.reported_life(NodeId(GetParam())), Incarnation(1001));
}

TEST(lives_of_a_machine, that_know_each_other_only_take_numbers_that_a_third_node_accepts) {
  Process third(0, 50);
  auto a = std::make_unique<Process>(1, 1000), b = std::make_unique<Process>(2, 2000);
  const std::string address_a = a->party.fabric().address(),
                    address_b = b->party.fabric().address();
  for (Process* const other : {a.get(), b.get()}) {
    third.knows(*other);
    other->knows(third);
    ASSERT_TRUE(until_up(std::array{&third.party, &other->party}, third, *other));
  }
  a.reset();
  b.reset();
  ASSERT_TRUE(drive(std::array{&third.party}, [&] {
    return !third.party.is_up(NodeId(1)) && !third.party.is_up(NodeId(2));
  }));
  a = std::make_unique<Process>(1, 3, address_a);
  b = std::make_unique<Process>(2, 3, address_b);
  a->knows(*b);
  b->knows(*a);
  ASSERT_TRUE(until_up(std::array{&a->party, &b->party}, *a, *b));
  a->knows(third);
  b->knows(third);
  const std::array all{&third.party, &a->party, &b->party};
  ASSERT_TRUE(drive(all, [&] {
    return third.is_up(*a) && third.is_up(*b) && a->is_up(third) && b->is_up(third) &&
           a->reported_life(NodeId(2)) == Incarnation(2001) &&
           b->reported_life(NodeId(1)) == Incarnation(1001) && a->is_up(*b) && b->is_up(*a);
  }));
}

TEST(lives_of_a_node, a_process_that_was_replaced_stays_out) {
  Process peer(0, 50), former(1, 3);
  peer.knows(former);
  former.knows(peer);
  ASSERT_TRUE(until_up(std::array{&peer.party, &former.party}, peer, former));
  Process next(1, 1000);
  next.knows(peer);
  const std::array all{&peer.party, &former.party, &next.party};
  ASSERT_TRUE(drive(all, [&] {
    return peer.reported_life(NodeId(1)) == Incarnation(1000) && !former.is_up(peer);
  }));
  drive_for(all, Duration::milliseconds(300));  // for the attempts of the former
  EXPECT_EQ(former.life->incarnation, Incarnation(3));
  EXPECT_FALSE(former.is_up(peer));
  EXPECT_TRUE(next.is_up(peer) && peer.is_up(next));
}

TEST(lives_of_a_node, a_process_that_has_yet_to_answer_is_silent) {
  TcpOptions options = options_for(0);
  options.handshake_timeout = Duration::milliseconds(50);
  Party caller(options);
  {
    Party gone(options_for(2));
    caller.add(gone);
  }
  Party busy(options_for(1));
  introduce(caller, busy);
  const std::array<Party* const, 1> alone{&caller};
  ASSERT_TRUE(drive(alone, [&] { return caller.fabric().is_silent(NodeId(1)); }));
  drive_for(alone, Duration::milliseconds(200));  // for attempts that end
  EXPECT_TRUE(caller.fabric().is_silent(NodeId(1)));
  EXPECT_FALSE(caller.fabric().is_silent(NodeId(2)));
  EXPECT_FALSE(caller.is_up(NodeId(1)));
  const std::array<Party* const, 2> both{&caller, &busy};
  ASSERT_TRUE(drive(both, [&] { return caller.is_up(NodeId(1)); }));
  EXPECT_FALSE(caller.fabric().is_silent(NodeId(1)));
}

/// Returns how many connections wait in the listener's queue.
int accept_all(const Descriptor& listener, std::vector<Descriptor>& into) {
  int count = 0, error = 0;
  for (Descriptor next; (next = accept_from(listener.get(), {}, error)).open(); ++count) {
    into.push_back(std::move(next));
  }
  return count;
}

TEST(lives_of_a_node, one_connection_waits_for_a_silent_process_however_long_it_takes) {
  auto address = parse_address("127.0.0.1:0");
  ASSERT_TRUE(address.ok());
  const auto listener = listen_on(*address, {});
  ASSERT_TRUE(listener.ok());
  TcpOptions options = options_for(0);
  options.handshake_timeout = Duration::milliseconds(20);
  Party caller(options);
  ASSERT_TRUE(caller.fabric().add_peer(NodeId(1), Incarnation(1), to_text(*address)).ok());
  const std::array<Party* const, 1> alone{&caller};
  ASSERT_TRUE(drive(alone, [&] { return caller.fabric().is_silent(NodeId(1)); }));
  drive_for(alone, Duration::milliseconds(200));  // many times the handshake's
  std::vector<Descriptor> taken;
  EXPECT_EQ(accept_all(*listener, taken), 1);
  EXPECT_TRUE(caller.fabric().is_silent(NodeId(1)));
}

}  // namespace
}  // namespace weft::tcp

// SPDX-License-Identifier: Apache-2.0
// Peers that have gone are missed by processes that wait for them, and by no others.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>

#include "mpi/object/world_for_test.hpp"

namespace weft::mpi {
namespace {

using testing::World;
using Missed = std::set<std::uint32_t>;

const Datatype byte_type(Basic::bytes);

/// What rank 0 of four misses when all others have gone.
Missed missed_after(const std::function<void(Transfer&, const Group&)>& act) {
  World world(4);
  world.turn();
  for (std::size_t i = 1; i < world.members.size(); ++i) world.members[i].reset();
  testing::TestWaiter& waiter = world.members[0]->waiter;
  for (int i = 0; i < 10; ++i) world[0].turn();
  // It does not look for those that it waits for in each turn.
  for (int ms = 0; ms < 100; ++ms) waiter.idle({}, *world.members[0]->fabric, {});
  EXPECT_EQ(waiter.missed, Missed());
  act(world[0], world.group(0));
  return waiter.missed;
}

TEST(wanted, a_receive_misses_its_sender) {
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group& group) {
              Request request;
              transfer.receive(group, 2, 5, {nullptr, 0, &byte_type}, request);
              transfer.turn();
              transfer.cancel(request);
            }),
            Missed{2});
}

TEST(wanted, a_receive_of_any_source_misses_all) {
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group& group) {
              Request request;
              transfer.receive(group, match::any_source, 5, {nullptr, 0, &byte_type}, request);
              transfer.turn();
              transfer.cancel(request);
            }),
            (Missed{1, 2, 3}));
}

TEST(wanted, a_probe_misses_those_that_it_asks_for_while_it_asks) {
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group& group) {
              EXPECT_FALSE(transfer.probe(group, 3, match::any_tag).has_value());
            }),
            Missed{3});
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group& group) {
              EXPECT_FALSE(transfer.probe(group, match::any_source, 5).has_value());
            }),
            (Missed{1, 2, 3}));
}

TEST(wanted, messages_of_collectives_miss_their_senders) {
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group& group) {
              std::array<std::byte, 8> into{};
              bool came = false;
              transfer.receive_short(group, 1, into, came);
              transfer.turn();
            }),
            Missed{1});
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group& group) {
              std::array<std::byte, 8> into{};
              bool came = false;
              transfer.receive_plain(group, 3, 1, into, came);
              transfer.turn();
            }),
            Missed{3});
}

TEST(wanted, a_sender_of_more_than_may_wait_misses_its_receiver) {
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group& group) {
              int value = 0;
              const Buffer buffer{&value, sizeof value, &byte_type};
              for (int i = 0; i < 2000; ++i) {
                Request request;
                transfer.send(group, 2, 5, buffer, false, request);
                EXPECT_TRUE(request.done);
              }
              const NodeId to = group.members[2];
              transfer.make_way(to, transfer.last_sent_to(to));
            }),
            Missed{2});
}

TEST(wanted, a_process_that_waits_for_nobody_misses_nobody) {
  EXPECT_EQ(missed_after([](Transfer& transfer, const Group&) { transfer.turn(); }), Missed());
}

}  // namespace
}  // namespace weft::mpi

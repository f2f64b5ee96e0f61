// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/doorbell.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "fabric/libfabric/frame_key.hpp"

namespace weft::ofi {
namespace {

// Names that no other run of the tests uses.
std::string unique_name(std::uint32_t node, std::uint32_t incarnation) {
  static const std::string tag = FrameKey(std::to_string(fresh_key())).tag();
  return shared_name(tag, NodeId(node), Incarnation(incarnation));
}

std::string path(const std::string& name, const char* suffix) {
  return "/dev/shm/" + name + suffix;
}

bool readable(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

TEST(doorbell, is_rung_only_while_its_owner_sleeps) {
  auto mine = Doorbell::open(unique_name(1, 1));
  auto other = Doorbell::open(unique_name(2, 1));
  ASSERT_TRUE(mine.ok() && other.ok());
  auto peer = PeerDoorbell::open(unique_name(1, 1));
  ASSERT_TRUE(peer.ok());
  peer->ring_if_asleep(**other);
  EXPECT_FALSE(readable((*mine)->descriptor()));
  (*mine)->fall_asleep();
  peer->ring_if_asleep(**other);
  peer->ring_if_asleep(**other);
  EXPECT_TRUE(readable((*mine)->descriptor()));
  (*mine)->wake_up();
  EXPECT_FALSE(readable((*mine)->descriptor()));
  peer->ring_if_asleep(**other);
  EXPECT_FALSE(readable((*mine)->descriptor()));
}

TEST(doorbell, of_an_owner_that_never_sleeps_is_never_rung) {
  auto mine = Doorbell::open(unique_name(6, 1), false);
  auto other = Doorbell::open(unique_name(7, 1));
  ASSERT_TRUE(mine.ok() && other.ok());
  auto peer = PeerDoorbell::open(unique_name(6, 1));
  ASSERT_TRUE(peer.ok());
  (*mine)->fall_asleep();
  peer->ring_if_asleep(**other);
  EXPECT_FALSE(readable((*mine)->descriptor()));
}

TEST(doorbell, tells_whether_its_owner_lives) {
  auto mine = Doorbell::open(unique_name(3, 1));
  ASSERT_TRUE(mine.ok());
  auto peer = PeerDoorbell::open(unique_name(3, 1));
  ASSERT_TRUE(peer.ok());
  EXPECT_TRUE(peer->alive());
  mine->reset();
  EXPECT_FALSE(peer->alive());
  EXPECT_FALSE(std::filesystem::exists(path(unique_name(3, 1), ".bell")));
  EXPECT_FALSE(std::filesystem::exists(path(unique_name(3, 1), ".asleep")));
}

TEST(doorbell, refuses_a_name_that_a_living_process_holds) {
  auto first = Doorbell::open(unique_name(4, 1));
  ASSERT_TRUE(first.ok());
  auto second = Doorbell::open(unique_name(4, 1));
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("higher incarnation"), std::string::npos);
}

TEST(doorbell, leftovers_of_a_killed_process_are_removed_and_others_kept) {
  auto living = Doorbell::open(unique_name(5, 2));
  ASSERT_TRUE(living.ok());
  const std::string dead = unique_name(5, 1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto bell = Doorbell::open(dead);
    const int segment = ::open(path(dead, ":0:0").c_str(), O_RDWR | O_CREAT, 0600);
    ::_exit(bell.ok() && segment >= 0 ? 0 : 1);  // as if killed: nothing is unlinked
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(path(dead, ".bell")));
  remove_leftovers();
  for (const char* suffix : {".bell", ".asleep", ":0:0"}) {
    EXPECT_FALSE(std::filesystem::exists(path(dead, suffix))) << suffix;
  }
  EXPECT_TRUE(std::filesystem::exists(path(unique_name(5, 2), ".bell")));
}

}  // namespace
}  // namespace weft::ofi

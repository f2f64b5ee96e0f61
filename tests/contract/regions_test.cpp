// SPDX-License-Identifier: Apache-2.0
// Contract: one-sided writes and the memory they may touch.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/rng.hpp"
#include "cluster.hpp"

namespace weft::contract {
namespace {

const NodeId kA(0);
const NodeId kB(1);
constexpr std::byte kCanary{0xC5};

bool all_canary(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == kCanary; });
}

// Memory with canaries on both sides of the exposed part.
struct Guarded {
  explicit Guarded(std::size_t size) : bytes(size + 2 * kGuard, kCanary) {}
  std::span<std::byte> exposed() {
    return std::span(bytes).subspan(kGuard, bytes.size() - 2 * kGuard);
  }
  bool guards_intact() const {
    const std::span<const std::byte> all(bytes);
    return all_canary(all.first(kGuard)) && all_canary(all.last(kGuard));
  }
  static constexpr std::size_t kGuard = 4096;
  Bytes bytes;
};

TEST_P(FabricContract, writes_of_all_sizes_land_exactly_before_the_message_that_follows) {
  Cluster cluster(factory(), 2);
  constexpr std::size_t kLargest = std::size_t{4} << 20;
  Guarded memory(kLargest + 64);
  const auto region = cluster[1].fabric().expose(memory.exposed());
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(region->remote.length, memory.exposed().size());
  std::uint64_t seed = announced_seed();
  bool checked = false;
  std::size_t offset = 0;
  Bytes expected;
  cluster[1].on_message = [&](NodeId, std::span<const std::byte>) {
    const auto exposed = memory.exposed();
    EXPECT_TRUE(std::ranges::equal(exposed.subspan(offset, expected.size()), expected))
        << expected.size() << " bytes at " << offset;
    EXPECT_TRUE(all_canary(exposed.first(offset)));
    EXPECT_TRUE(all_canary(exposed.subspan(offset + expected.size())));
    checked = true;
  };
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{63}, std::size_t{64},
        std::size_t{4095}, std::size_t{4096}, std::size_t{65537}, std::size_t{1} << 20, kLargest}) {
    if (size > cluster[0].fabric().limits().max_write) continue;
    Rng rng(++seed);
    offset = rng.below(65);
    expected = pattern(size, seed);
    std::ranges::fill(memory.exposed(), kCanary);
    checked = false;
    cluster[0].write(kB, region->remote, offset, expected, rng.below(size + 1));
    cluster[0].send(kB, bytes_of("written"));
    ASSERT_TRUE(cluster.drive([&] { return checked; })) << size;
    ASSERT_TRUE(memory.guards_intact()) << size;
    ASSERT_TRUE(cluster.settle());
  }
}

TEST_P(FabricContract, several_outstanding_writes_are_in_place_before_their_messages) {
  Cluster cluster(factory(), 2);
  constexpr std::size_t kSlots = 48, kSlot = 40'000;
  Guarded memory(kSlots * kSlot);
  const auto region = cluster[1].fabric().expose(memory.exposed());
  ASSERT_TRUE(region.ok());
  Rng rng(announced_seed());
  std::vector<Bytes> contents;
  std::size_t arrived = 0;
  cluster[1].on_message = [&](NodeId, std::span<const std::byte> data) {
    // Message n follows write n: this and every earlier one are in place.
    std::uint64_t n = 0;
    ASSERT_EQ(data.size(), sizeof n);
    std::memcpy(&n, data.data(), sizeof n);
    for (std::size_t i = arrived; i <= n; ++i) {
      EXPECT_TRUE(
          std::ranges::equal(memory.exposed().subspan(i * kSlot, contents[i].size()), contents[i]))
          << i;
    }
    arrived = n + 1;
  };
  for (std::uint64_t i = 0; i < kSlots; ++i) {
    contents.push_back(pattern(rng.below(kSlot + 1), i));
    cluster[0].write(kB, region->remote, i * kSlot, contents[i], rng.below(contents[i].size() + 1));
    if (i % 3 != 0 && i + 1 < kSlots) continue;  // several writes before one message, too
    Bytes number(sizeof i);
    std::memcpy(number.data(), &i, sizeof i);
    cluster[0].send(kB, number);
  }
  ASSERT_TRUE(cluster.drive([&] { return arrived == kSlots; }));
  EXPECT_TRUE(memory.guards_intact());
  ASSERT_TRUE(cluster.settle());
}

TEST_P(FabricContract, later_writes_to_the_same_place_win) {
  Cluster cluster(factory(), 2);
  Guarded memory(8192);
  const auto region = cluster[1].fabric().expose(memory.exposed());
  ASSERT_TRUE(region.ok());
  for (std::uint64_t i = 0; i < 200; ++i) {
    cluster[0].write(kB, region->remote, 0, pattern(i % 2 == 0 ? 8192 : 4096, i));
  }
  cluster[0].send(kB, bytes_of("done"));
  ASSERT_TRUE(cluster.drive([&] { return !cluster[1].messages.empty(); }));
  const Bytes whole = pattern(8192, 198), half = pattern(4096, 199);
  EXPECT_TRUE(std::ranges::equal(memory.exposed().first(4096), half));
  EXPECT_TRUE(std::ranges::equal(memory.exposed().subspan(4096), std::span(whole).subspan(4096)));
}

TEST_P(FabricContract, several_regions_are_kept_apart) {
  Cluster cluster(factory(), 3);
  std::vector<Guarded> memory;
  std::vector<Region> regions;
  for (std::size_t i = 0; i < 8; ++i) memory.emplace_back(1000 + i);
  for (std::size_t i = 0; i < 8; ++i) {
    auto region = cluster[2].fabric().expose(memory[i].exposed());
    ASSERT_TRUE(region.ok());
    regions.push_back(*region);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    cluster[i % 2].write(NodeId(2), regions[i].remote, 0, pattern(1000 + i, i), i);
  }
  cluster[0].send(NodeId(2), bytes_of("done"));
  cluster[1].send(NodeId(2), bytes_of("done"));
  ASSERT_TRUE(cluster.drive([&] { return cluster[2].messages.size() == 2; }));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(std::ranges::equal(memory[i].exposed(), pattern(1000 + i, i))) << i;
    EXPECT_TRUE(memory[i].guards_intact()) << i;
  }
}

class BadWrite {
 public:
  explicit BadWrite(Cluster& cluster) : cluster_(cluster), memory_(4096) {
    auto region = cluster[1].fabric().expose(memory_.exposed());
    EXPECT_TRUE(region.ok());
    region_ = *region;
  }
  Region& region() { return region_; }
  // Posts the write and checks that it harms nothing and takes the connection down.
  void expect_down(const RemoteRegion& remote, std::uint64_t offset, std::size_t size) {
    cluster_[0].events.clear();
    cluster_[0].write(kB, remote, offset, pattern(size, 77), size / 2);
    cluster_[0].send(kB, bytes_of("must not arrive"));
    EXPECT_TRUE(cluster_.drive([&] { return !cluster_[0].events.empty(); }));
    EXPECT_EQ(cluster_[0].events.at(0).kind, CompletionKind::peer_down);
    EXPECT_EQ(cluster_[0].outstanding(), 0u);
    EXPECT_TRUE(all_canary(memory_.bytes));
    EXPECT_TRUE(cluster_[1].messages.empty());
  }
  // The endpoint that was attacked serves others as before, and the offender when it is back.
  void expect_alive(FabricFactory& factory) {
    cluster_[2].send(kB, bytes_of("fine"));
    EXPECT_TRUE(cluster_.drive([&] { return cluster_[1].messages.size() == 1; }));
    if (!factory.reconnects()) return;
    EXPECT_TRUE(cluster_.drive([&] { return cluster_[0].is_up(kB) && cluster_[1].is_up(kA); }));
    cluster_[0].write(kB, region_.remote, 8, pattern(16, 5));
    cluster_[0].send(kB, bytes_of("back"));
    EXPECT_TRUE(cluster_.drive([&] { return cluster_[1].messages.size() == 2; }));
    EXPECT_TRUE(std::ranges::equal(memory_.exposed().subspan(8, 16), pattern(16, 5)));
  }

 private:
  Cluster& cluster_;
  Guarded memory_;
  Region region_;
};

TEST_P(FabricContract, a_write_past_the_end_harms_nothing_and_takes_the_connection_down) {
  Cluster cluster(factory(), 3);
  BadWrite bad(cluster);
  bad.expect_down(bad.region().remote, 4000, 97);
  bad.expect_alive(factory());
}

TEST_P(FabricContract, a_write_past_the_end_with_a_forged_length_is_caught_by_the_receiver) {
  Cluster cluster(factory(), 3);
  BadWrite bad(cluster);
  RemoteRegion forged = bad.region().remote;
  forged.length = std::size_t{1} << 40;
  bad.expect_down(forged, 4096, 1);
  bad.expect_alive(factory());
}

TEST_P(FabricContract, a_write_whose_offset_wraps_around_is_caught) {
  Cluster cluster(factory(), 3);
  BadWrite bad(cluster);
  RemoteRegion forged = bad.region().remote;
  forged.length = std::numeric_limits<std::uint64_t>::max();
  bad.expect_down(forged, std::numeric_limits<std::uint64_t>::max() - 15, 32);
  bad.expect_alive(factory());
}

TEST_P(FabricContract, a_write_to_an_unknown_region_is_caught) {
  Cluster cluster(factory(), 3);
  BadWrite bad(cluster);
  RemoteRegion forged = bad.region().remote;
  forged.key ^= 0x5a5a5a;
  bad.expect_down(forged, 0, 64);
  bad.expect_alive(factory());
}

TEST_P(FabricContract, a_write_to_a_retracted_region_is_caught) {
  Cluster cluster(factory(), 3);
  BadWrite bad(cluster);
  Guarded other(64);
  const auto kept = bad.region();
  cluster[1].fabric().retract(kept);
  // A region that is exposed afterwards does not inherit the right.
  ASSERT_TRUE(cluster[1].fabric().expose(other.exposed()).ok());
  bad.expect_down(kept.remote, 0, 64);
  EXPECT_TRUE(all_canary(other.bytes));
  bad.region() = *cluster[1].fabric().expose(kept.memory);
  bad.expect_alive(factory());
}

}  // namespace
}  // namespace weft::contract

// SPDX-License-Identifier: Apache-2.0
// Contract: random traffic of everybody with everybody, checked by checksum.
#include <algorithm>
#include <cstring>

#include "base/crc32c.hpp"
#include "base/rng.hpp"
#include "cluster.hpp"

namespace weft::contract {
namespace {

constexpr std::size_t kNodes = 8;
constexpr std::size_t kSlots = 4;  // per pair: writes that were not yet acknowledged
constexpr std::size_t kSlotSize = 24'000;
constexpr std::uint64_t kPerPair = 60;  // writes and announcements
constexpr std::size_t kArea = kSlots * kSlotSize;

struct Announcement {
  std::uint64_t number;  // counts up per pair
  std::uint32_t slot;
  std::uint32_t offset;  // in the slot
  std::uint32_t size;
  std::uint32_t checksum;
  std::uint32_t is_acknowledgement;
  std::uint32_t padding_checksum;  // of the bytes that follow, so that messages vary in size
};

// The state of one node about one peer.
struct Channel {
  std::vector<bool> busy = std::vector<bool>(kSlots);
  std::uint64_t next = 0;      // to announce
  std::uint64_t expected = 0;  // from the peer
  std::uint64_t acknowledged = 0;
};

class Traffic {
 public:
  Traffic(FabricFactory& factory, std::uint64_t seed)
      : rng_(seed), cluster_(factory, kNodes), channels_(kNodes, std::vector<Channel>(kNodes)) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      memory_.emplace_back(kNodes * kArea);
      auto region = cluster_[i].fabric().expose(memory_[i]);
      EXPECT_TRUE(region.ok());
      regions_.push_back(region->remote);
      cluster_[i].on_message = [this, i](NodeId from, std::span<const std::byte> data) {
        receive(i, from.value(), data);
      };
    }
  }

  void run(bool sleep) {
    eager_ = sleep;  // a sleeper must not have more to send
    ASSERT_TRUE(cluster_.drive([&] { return advance(); }, sleep));
    ASSERT_TRUE(cluster_.settle());
  }

 private:
  // Announces as many writes as there is room for; true when all were acknowledged.
  bool advance() {
    bool done = true;
    for (std::size_t from = 0; from < kNodes; ++from) {
      for (std::size_t to = 0; to < kNodes; ++to) {
        if (from == to) continue;
        Channel& channel = channels_[from][to];
        done = done && channel.acknowledged == kPerPair;
        if (channel.next < kPerPair && (eager_ || rng_.below(4) != 0)) announce(from, to, channel);
      }
    }
    return done;
  }

  void announce(std::size_t from, std::size_t to, Channel& channel) {
    std::size_t slot = rng_.below(kSlots);
    for (std::size_t i = 0; i < kSlots && channel.busy[slot]; ++i) slot = (slot + 1) % kSlots;
    if (channel.busy[slot]) return;
    channel.busy[slot] = true;
    const std::size_t size = rng_.below(rng_.below(3) == 0 ? kSlotSize + 1 : 600);
    const std::size_t offset = rng_.below(kSlotSize - size + 1);
    Bytes data = pattern(size, rng_.next());
    const Announcement announcement{channel.next++,
                                    static_cast<std::uint32_t>(slot),
                                    static_cast<std::uint32_t>(offset),
                                    static_cast<std::uint32_t>(size),
                                    crc32c(data),
                                    0,
                                    0};
    const NodeId peer(static_cast<std::uint32_t>(to));
    const std::size_t cut = rng_.below(size + 1);
    cluster_[from].write(peer, regions_[to], from * kArea + slot * kSlotSize + offset,
                         std::move(data), cut);
    post(from, peer, announcement, rng_.below(1500));
  }

  void post(std::size_t from, NodeId to, Announcement announcement, std::size_t padding) {
    Bytes message = pattern(sizeof announcement + padding, rng_.next());
    announcement.padding_checksum = crc32c(std::span(message).subspan(sizeof announcement));
    std::memcpy(message.data(), &announcement, sizeof announcement);
    cluster_[from].send(to, std::move(message));
  }

  void receive(std::size_t self, std::size_t from, std::span<const std::byte> data) {
    Announcement announcement;
    ASSERT_GE(data.size(), sizeof announcement);
    std::memcpy(&announcement, data.data(), sizeof announcement);
    ASSERT_EQ(crc32c(data.subspan(sizeof announcement)), announcement.padding_checksum);
    Channel& channel = channels_[self][from];
    if (announcement.is_acknowledgement != 0) {
      ASSERT_TRUE(channel.busy[announcement.slot]);
      channel.busy[announcement.slot] = false;
      ++channel.acknowledged;
      return;
    }
    ASSERT_EQ(announcement.number, channel.expected) << from << " to " << self;
    ++channel.expected;
    const std::size_t start = from * kArea + announcement.slot * kSlotSize + announcement.offset;
    ASSERT_EQ(crc32c(std::span(memory_[self]).subspan(start, announcement.size)),
              announcement.checksum)
        << "write " << announcement.number << " from " << from << " to " << self;
    announcement.is_acknowledgement = 1;
    post(self, NodeId(static_cast<std::uint32_t>(from)), announcement, 0);
  }

  Rng rng_;
  bool eager_ = false;
  std::vector<Bytes> memory_;
  Cluster cluster_;
  std::vector<std::vector<Channel>> channels_;
  std::vector<RemoteRegion> regions_;
};

TEST_P(FabricContract, random_traffic_of_all_with_all_arrives_intact) {
  Traffic traffic(factory(), announced_seed());
  traffic.run(false);
}

TEST_P(FabricContract, random_traffic_of_all_with_all_arrives_intact_when_drivers_sleep) {
  Traffic traffic(factory(), announced_seed());
  traffic.run(true);
}

}  // namespace
}  // namespace weft::contract

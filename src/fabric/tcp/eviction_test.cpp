// SPDX-License-Identifier: Apache-2.0
// More peers than connections: some are closed and made again, and nobody notices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/crc32c.hpp"
#include "base/rng.hpp"
#include "fabric/tcp/tcp_test_support.hpp"

namespace weft::tcp {
namespace {

constexpr std::uint32_t kSpokes = 8;
constexpr std::size_t kWrite = 100'000;

std::size_t open_descriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::string crc_text(std::span<const std::byte> data) {
  const std::uint32_t crc = crc32c(data);
  return {reinterpret_cast<const char*>(&crc), sizeof crc};
}

// A hub that may keep two connections, and eight spokes.
class Eviction : public ::testing::Test {
 protected:
  Eviction() : descriptors_before_(open_descriptors()), hub_(limited(kSpokes)) {
    all_.push_back(&hub_);
    for (std::uint32_t i = 0; i < kSpokes; ++i) {
      spokes_.push_back(std::make_unique<Party>(options_for(i)));
      all_.push_back(spokes_.back().get());
      memory_.emplace_back(kWrite);
      regions_.push_back(spokes_.back()->fabric().expose(memory_.back())->remote);
      introduce(hub_, *spokes_.back());
    }
    EXPECT_TRUE(drive(all_, [&] {
      return std::ranges::all_of(
          spokes_, [&](auto& s) { return hub_.is_up(s->id()) && s->is_up(hub_.id()); });
    }));
  }
  static TcpOptions limited(std::uint32_t self) {
    TcpOptions options = options_for(self);
    options.max_connections = 2;
    return options;
  }
  void expect_nobody_went_down() {
    for (Party* party : all_) EXPECT_EQ(party->count(CompletionKind::peer_down), 0u);
  }

  std::size_t descriptors_before_;
  Party hub_;
  std::vector<std::unique_ptr<Party>> spokes_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<RemoteRegion> regions_;
  std::vector<Party*> all_;
};

TEST_F(Eviction, section_4_2_2_all_data_arrives_in_order_with_more_peers_than_connections) {
  constexpr std::size_t kRounds = 30;
  Rng rng(1);
  std::vector<std::byte> data(kWrite);
  std::array<std::size_t, kSpokes> checked{};
  for (std::uint32_t i = 0; i < kSpokes; ++i) {
    spokes_[i]->on_message = [this, i, &checked](NodeId, std::string_view text) {
      EXPECT_EQ(text, crc_text(memory_[i])) << "spoke " << i;
      ++checked[i];
      EXPECT_TRUE(spokes_[i]->send(hub_.id(), text));
    };
  }
  for (std::size_t round = 1; round <= kRounds; ++round) {
    for (auto& byte : data) byte = static_cast<std::byte>(rng.next());
    for (std::uint32_t i = 0; i < kSpokes; ++i) {
      ASSERT_TRUE(hub_.write(NodeId(i), regions_[i], 0, data));
      ASSERT_TRUE(hub_.send(NodeId(i), crc_text(data)));
    }
    ASSERT_TRUE(drive(all_, [&] { return hub_.messages.size() == round * kSpokes; }));
  }
  EXPECT_TRUE(std::ranges::all_of(checked, [](std::size_t n) { return n == kRounds; }));
  expect_nobody_went_down();
}

TEST_F(Eviction, everybody_sending_at_once_gets_through) {
  static constexpr std::uint32_t kEach = 2000;
  std::array<std::uint32_t, kSpokes> sent{}, received{};
  hub_.on_message = [&](NodeId from, std::string_view text) {
    std::uint32_t number = 0;
    ASSERT_EQ(text.size(), 700u);
    std::memcpy(&number, text.data(), sizeof number);
    ASSERT_EQ(number, received[from.value()]++);
  };
  EXPECT_TRUE(drive(all_, [&] {
    for (std::uint32_t i = 0; i < kSpokes; ++i) {
      std::string text(700, 'x');
      std::memcpy(text.data(), &sent[i], sizeof sent[i]);
      while (sent[i] < kEach && spokes_[i]->send(hub_.id(), text)) {
        ++sent[i];
        std::memcpy(text.data(), &sent[i], sizeof sent[i]);
      }
    }
    return std::ranges::all_of(received, [](std::uint32_t n) { return n == kEach; });
  }));
  expect_nobody_went_down();
}

TEST_F(Eviction, connections_beyond_the_limit_are_closed_when_it_is_calm) {
  // Each endpoint has a listener and an epoll instance, each connection two ends.
  const std::size_t endpoints = 2 * (kSpokes + 1);
  EXPECT_TRUE(drive(all_, [&] {
    return open_descriptors() <= descriptors_before_ + endpoints + 2 * 2;
  })) << open_descriptors() - descriptors_before_ - endpoints;
  expect_nobody_went_down();
}

TEST_F(Eviction, a_peer_that_dies_without_a_connection_is_noticed) {
  std::erase(all_, spokes_[3].get());
  spokes_[3].reset();
  EXPECT_TRUE(drive(all_, [&] { return !hub_.is_up(NodeId(3)); }));
  EXPECT_EQ(hub_.count(CompletionKind::peer_down), 1u);
}

/// Returns the numbers of the spokes that have a TCP connection. Only the hub can make one, so each
/// connection has a spoke's own port at one end. Connections being closed do not count.
std::vector<std::uint32_t> connected(std::span<Party* const> spokes) {
  std::vector<std::uint32_t> numbers;
  std::ifstream table("/proc/self/net/tcp");
  std::vector<std::string> lines;
  for (std::string line; std::getline(table, line);) lines.push_back(line);
  for (Party* spoke : spokes) {
    const std::string address = spoke->fabric().address();
    const auto port = static_cast<unsigned>(std::stoul(address.substr(address.rfind(':') + 1)));
    for (const std::string& line : lines) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      if (state != "01" || local != fmt::format("0100007F:{:04X}", port)) continue;
      numbers.push_back(spoke->id().value());
    }
  }
  return numbers;
}

TEST(challenges, section_4_2_2_the_connection_that_was_used_least_recently_gives_way) {
  const auto patient = [](std::uint32_t self) {
    TcpOptions options = options_for(self);
    options.peer_timeout = Duration::seconds(60);  // spokes do not look for the hub
    options.max_connections = self == 0 ? 2 : options.max_connections;
    return options;
  };
  Party hub(patient(0)), a(patient(1)), b(patient(2)), c(patient(3));
  Party nobody(patient(4));  // does nothing, so that knocking there comes to nothing
  const std::array<Party*, 3> spokes = {&a, &b, &c};
  const std::array<Party*, 4> all = {&hub, &a, &b, &c};
  const auto introduce_one_way = [&](Party& spoke) {
    hub.add(spoke);
    ASSERT_TRUE(
        spoke.fabric().add_peer(hub.id(), hub.incarnation(), nobody.fabric().address()).ok());
  };
  const auto use = [&](Party& spoke) {
    const std::size_t before = spoke.messages.size();
    hub.step();  // uses count from its last look at the clock
    ASSERT_TRUE(hub.send(spoke.id(), "here"));
    ASSERT_TRUE(drive(all, [&] { return spoke.messages.size() > before; }));
  };
  const auto expect_connected = [&](const std::vector<std::uint32_t>& numbers) {
    EXPECT_TRUE(drive(all, [&] { return connected(spokes) == numbers; }))
        << testing::PrintToString(connected(spokes));
  };
  introduce_one_way(a);
  introduce_one_way(b);
  ASSERT_TRUE(drive(all, [&] { return hub.is_up(a.id()) && hub.is_up(b.id()); }));
  use(b);
  use(a);
  expect_connected({1, 2});

  introduce_one_way(c);
  ASSERT_TRUE(drive(all, [&] { return hub.is_up(c.id()); }));
  expect_connected({1, 3});
  use(a);
  use(b);
  expect_connected({1, 2});
  use(c);
  expect_connected({2, 3});
  EXPECT_EQ(hub.count(CompletionKind::peer_down), 0u);
}

// Accepting and reading from connected peers take turns: neither is put off for ever.
TEST(challenges, section_4_2_3_a_newcomer_is_heard_although_another_never_stops_sending) {
  Party hub(options_for(2)), noisy(options_for(0)), newcomer(options_for(1));
  const std::array<Party*, 3> all = {&hub, &noisy, &newcomer};
  introduce(hub, noisy);
  ASSERT_TRUE(drive(all, [&] { return noisy.is_up(hub.id()); }));
  bool heard = false;
  std::size_t noise = 0;
  hub.on_message = [&](NodeId from, std::string_view) {
    heard = heard || from == newcomer.id();
    noise += from == noisy.id() ? 1 : 0;
  };
  const std::string text(30'000, 'x');
  const auto shout = [&] {
    while (noisy.send(hub.id(), text)) {
    }
  };
  ASSERT_TRUE(drive(all, [&] { return shout(), noise > 100; }));
  introduce(hub, newcomer);
  bool said = false;
  EXPECT_TRUE(drive(all, [&] {
    shout();
    said = said || (newcomer.is_up(hub.id()) && newcomer.send(hub.id(), "here"));
    return heard;
  }));
  EXPECT_GT(noise, 100u);
}

}  // namespace
}  // namespace weft::tcp

// SPDX-License-Identifier: Apache-2.0
// Rendezvous over real sockets of this process.
#include "stream/cluster/rendezvous.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "fabric/tcp/tcp.hpp"
#include "runtime/clock.hpp"
#include "runtime/sleeper.hpp"

namespace weft::stream {
namespace {

std::unique_ptr<Fabric> open_endpoint(std::uint32_t self, std::uint32_t incarnation,
                                      const std::string& listen = "127.0.0.1:0") {
  TcpOptions options;
  options.self = NodeId(self);
  options.incarnation = Incarnation(incarnation);
  options.listen = listen;
  options.job_id = "rendezvous test";
  options.secret.assign(16, std::byte{7});
  options.max_message = largest_rendezvous_message;
  auto fabric = open_tcp(options);
  EXPECT_TRUE(fabric.ok());
  return std::move(fabric).value();
}

// Some nodes, each with its own end; a node can be lost and started anew.
class Party {
 public:
  explicit Party(std::uint32_t nodes) {
    std::vector<std::unique_ptr<Fabric>> fabrics;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      fabrics.push_back(open_endpoint(i, 1));
      addresses_.push_back(fabrics.back()->address());
    }
    for (std::uint32_t i = 0; i < nodes; ++i) ends_.push_back(join(i, std::move(fabrics[i])));
  }
  Rendezvous& operator[](std::uint32_t i) { return *ends_[i]; }
  void lose(std::uint32_t i) { ends_[i].reset(); }
  void start(std::uint32_t i, std::uint32_t incarnation) {
    ends_[i] = join(i, open_endpoint(i, incarnation, addresses_[i]));
  }
  // Turns everybody until `done`; gives up after a minute.
  bool until(const std::function<bool()>& done) {
    const Instant patience = monotonic_now() + Duration::seconds(60);
    while (!done()) {
      if (monotonic_now() > patience) return false;
      for (auto& end : ends_) {
        if (end) end->turn(monotonic_now());
      }
    }
    return true;
  }
  bool until_all_heard() {
    return until([&] {
      for (auto& end : ends_) {
        if (end->heard() + 1 < end->nodes()) return false;
      }
      return true;
    });
  }

 private:
  std::unique_ptr<Rendezvous> join(std::uint32_t self, std::unique_ptr<Fabric> fabric) {
    for (std::uint32_t i = 0; i < addresses_.size(); ++i) {
      if (i != self) {
        EXPECT_TRUE(fabric->add_peer(NodeId(i), Incarnation(0), addresses_[i]));
      }
    }
    return std::make_unique<Rendezvous>(
        std::move(fabric), NodeId(self), static_cast<std::uint32_t>(addresses_.size()),
        RendezvousHello{.machine = "here", .options = {}, .address = fmt::format("main-{}", self)});
  }
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Rendezvous>> ends_;
};

TEST(rendezvous, everybody_learns_where_everybodys_fabric_is) {
  Party party(3);
  ASSERT_TRUE(party.until_all_heard());
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::vector<std::string> news;
    party[i].take_news([&](NodeId, const Rendezvous::Peer& peer) {
      news.push_back(peer.hello->address);
      EXPECT_FALSE(peer.hello->begun);
    });
    EXPECT_EQ(news.size(), 2u);
    EXPECT_EQ(party[i].peer(NodeId((i + 1) % 3)).hello->address,
              fmt::format("main-{}", (i + 1) % 3));
    party[i].take_news([](NodeId, const Rendezvous::Peer&) { ADD_FAILURE() << "news twice"; });
  }
}

TEST(rendezvous, a_new_life_is_announced_and_learns_that_the_stream_has_begun) {
  Party party(2);
  ASSERT_TRUE(party.until_all_heard());
  party[0].set_begun();
  party[0].take_news([](NodeId, const Rendezvous::Peer&) {});
  party.lose(1);
  ASSERT_TRUE(party.until([&] { return !party[0].peer(NodeId(1)).up; }));
  party.start(1, 2);
  ASSERT_TRUE(party.until([&] { return party[1].heard() == 1 && party[0].peer(NodeId(1)).hello; }));
  EXPECT_TRUE(party[1].peer(NodeId(0)).hello->begun);
  int news = 0;
  party[0].take_news([&](NodeId node, const Rendezvous::Peer& peer) {
    ++news;
    EXPECT_EQ(node, NodeId(1));
    EXPECT_EQ(peer.incarnation, Incarnation(2));
  });
  EXPECT_EQ(news, 1);
}

TEST(rendezvous, a_report_of_many_messages_arrives_whole) {
  Party party(2);
  ASSERT_TRUE(party.until_all_heard());
  std::string report(3'000'001, '\0');
  for (std::size_t i = 0; i < report.size(); ++i) report[i] = static_cast<char>(i * 31 >> 3);
  party[1].send_report(report);
  ASSERT_TRUE(party.until([&] { return party[0].peer(NodeId(1)).report.has_value(); }));
  EXPECT_TRUE(*party[0].peer(NodeId(1)).report == report);
  ASSERT_TRUE(party.until([&] { return party[1].flushed(); }));
  EXPECT_TRUE(party[1].report_left());
}

TEST(rendezvous, a_report_is_given_again_to_a_node_0_that_comes_back) {
  Party party(2);
  ASSERT_TRUE(party.until_all_heard());
  party[1].send_report("what I saw");
  ASSERT_TRUE(party.until([&] { return party[0].peer(NodeId(1)).report.has_value(); }));
  party.lose(0);
  ASSERT_TRUE(party.until([&] { return !party[1].peer(NodeId(0)).up; }));
  party.start(0, 2);
  ASSERT_TRUE(party.until([&] { return party[0].peer(NodeId(1)).report.has_value(); }));
  EXPECT_EQ(*party[0].peer(NodeId(1)).report, "what I saw");
}

TEST(rendezvous, a_stop_reaches_all_also_those_who_come_later) {
  Party party(3);
  ASSERT_TRUE(party.until_all_heard());
  party[2].tell_stop();
  ASSERT_TRUE(party.until([&] { return party[0].stop_told() && party[1].stop_told(); }));
  EXPECT_FALSE(party[2].stop_told());
  party.lose(1);
  party.start(1, 2);
  ASSERT_TRUE(party.until([&] { return party[1].stop_told(); }));
}

TEST(rendezvous, only_node_0_lets_others_go) {
  Party party(3);
  ASSERT_TRUE(party.until_all_heard());
  party[1].tell_leave();
  party[1].send_report("after the word to leave");
  ASSERT_TRUE(party.until([&] { return party[0].peer(NodeId(1)).report.has_value(); }));
  EXPECT_FALSE(party[0].leave_told());
  party[0].tell_leave();
  ASSERT_TRUE(party.until([&] { return party[1].leave_told() && party[2].leave_told(); }));
}

TEST(rendezvous, progress_reaches_node_0) {
  Party party(2);
  ASSERT_TRUE(party.until_all_heard());
  const auto& seen = party[0].peer(NodeId(1)).progress;
  party[1].tell_progress({.timeslices = 42});
  ASSERT_TRUE(party.until([&] { return seen.figures.timeslices == 42; }));
  EXPECT_FALSE(seen.begun);
  party[1].set_begun();
  ASSERT_TRUE(party.until([&] { return seen.begun; }));
  EXPECT_EQ(seen.figures.timeslices, 42u);
}

TEST(rendezvous, measures_a_clock_that_is_the_same_as_almost_the_same) {
  Party party(2);
  ASSERT_TRUE(party.until_all_heard());
  EXPECT_FALSE(party[1].clock_offset());
  const Instant begin = monotonic_now();
  party[1].measure_clock(begin);
  ASSERT_TRUE(party.until([&] { return party[1].clock_offset().has_value(); }));
  const Duration took = monotonic_now() - begin;
  EXPECT_LE(std::abs(party[1].clock_offset()->ahead().ticks()), took.ticks());
}

}  // namespace
}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// SimHub: fabric endpoints of one job on hosts of a simulated network. Operations become messages
// of the network; its deliveries become completions. Keeps every promise of weft/fabric.hpp, with
// simulated time in place of the system's.
//
// In a divided simulation each part has a hub with the endpoints of its own hosts. All of them know
// which processes live and reach each other; they exchange the rest, and so late that the same
// happens at the same time as in an undivided simulation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/job_levels.hpp"
#include "net/link_model.hpp"
#include "sim/engine/agent.hpp"
#include "sim/fabric/flight.hpp"
#include "sim/network/network.hpp"
#include "sim/rc/reliable_connections.hpp"
#include "weft/fabric.hpp"

namespace weft::sim {

struct SimFabricOptions {
  std::size_t max_message = 64 * 1024;
  std::size_t max_write = std::size_t{1} << 32;
  std::size_t max_outstanding = 4096;  ///< per endpoint; also unread messages per pair
  /// The bytes that an operation adds to its own on the network, and those of a greeting.
  std::uint32_t header_bytes = 32;
  /// Bytes of each write that are really copied, from its beginning. Contents make most of a
  /// simulation's cost in memory and time: where nobody reads them, descriptions will do.
  std::size_t copied_bytes = ~std::size_t{0};
  /// From arrival to completion; also from the end of a connection at one end to that at the other.
  /// In a divided simulation no action of one endpoint affects another earlier: not zero.
  PicoDuration acknowledgement = PicoDuration::microseconds(1);
  PicoDuration death_notice = PicoDuration::milliseconds(1);  ///< until peers see a killed endpoint
  /// Operations between hosts go over reliable connections with modelled adapters; none: every
  /// message arrives, and is acknowledged after `acknowledgement`. Not in a divided simulation.
  std::optional<RcOptions> rc;
  bool prefetch = false;  ///< with `rc` and paged memory: pages are there when it is exposed
  /// A peer that cannot be reached for so long is reported down.
  PicoDuration peer_timeout = PicoDuration::seconds(10);
  /// Each process learns of another one's death or outage up to so much later: always the same part
  /// of it, and the other one another.
  PicoDuration notice_spread{};
};

class SimEndpoint;

/// One thread drives engine, hub and endpoints. Network and agents outlive it; endpoints must not.
class SimHub final : public NetworkUser, public Agent, private RcUser {
 public:
  /// Node n of the job runs on host `hosts[n]`; several may share one. A divided network has its
  /// border already.
  SimHub(const SimFabricOptions& options, std::vector<std::uint32_t> hosts, Network& network,
         Agents& agents);
  ~SimHub() override;

  /// Returns whether this part has the node's host.
  bool is_here(NodeId node) const { return here_[node.value()]; }
  /// An endpoint without peers, of a node that is here. Destroying it acts like killing a process.
  /// `on_ready` is called, during events, whenever `poll` would yield something that it would not
  /// have before.
  std::unique_ptr<Fabric> open(NodeId self, Incarnation incarnation,
                               std::function<void()> on_ready);
  /// A node that is not here begins a life, or its last one ends: now, as all parts say.
  void begin_elsewhere(NodeId node, Incarnation incarnation);
  void end_elsewhere(NodeId node);
  /// Returns the incarnation of the node's latest life, of which there must be one.
  Incarnation incarnation_of(NodeId node) const;
  /// Returns the address of the node's latest life, as its endpoint reports it.
  std::string address_of(NodeId node) const;

  /// A node that does not run (stopped), or whose host has no link: reported down to its peers, and
  /// they to it, when it stays so for the peer timeout; connected again afterwards. In all parts.
  void set_reachable(NodeId node, bool reachable);
  /// Nodes of different groups do not reach each other until the next call; nodes that are not
  /// named are a group of their own. Messages on their way arrive. In all parts.
  void set_partition(const std::vector<std::vector<std::uint32_t>>& groups);

  /// Levels of messages from now on, in place of those that operations ask for. In all parts.
  net::JobLevels& levels() { return levels_; }

  const SimFabricOptions& options() const { return options_; }
  PicoInstant now() const { return agents_.engine().now(); }

  /// Null without `SimFabricOptions::rc`.
  const ReliableConnections* reliable() const { return rc_ ? &*rc_ : nullptr; }
  ReliableConnections* reliable() { return rc_ ? &*rc_ : nullptr; }

  // For NetworkUser and Agent.
  void on_sent(const Message& message, PicoInstant departure) override;
  void on_arrived(const Message& message) override;
  void on_told(std::span<const std::byte> word) override;
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

 private:
  friend class SimEndpoint;
  enum Timer : std::uint16_t { local_arrival, death, unreachable, quit };
  struct Life {
    Incarnation incarnation{};
    bool runs = true;
    SimEndpoint* endpoint = nullptr;  // null: elsewhere, or gone
  };
  /// Announces the end of a process, or of its side of a connection.
  struct Notice {
    Process to{};
    Process about{};
    std::uint32_t attempt = 0;
    std::uint32_t next = kNone;
  };

  const Life* life_of(Process process) const;
  SimEndpoint* find(Process process) const;
  bool runs(Process process) const;
  template <class F>
  void for_each_endpoint(F&& f);
  void end_life(Process process);
  bool blocked(NodeId a, NodeId b) const { return blocked_since(a, b) != PicoInstant::never(); }
  PicoInstant blocked_since(NodeId a, NodeId b) const;
  /// Blocked for the peer timeout, and for as long as `a` takes to notice.
  bool given_up(NodeId a, NodeId b) const;
  /// How much later than others `a` notices that `b` is gone.
  PicoDuration lateness(NodeId a, NodeId b) const;
  void expect_unreachable();
  /// Returns whether it is in the network now; if not, its host's memory or a blockade has it.
  bool launch(std::uint32_t flight, std::uint8_t level);
  void arrive(std::uint32_t flight);
  void relaunch_parked();
  void set_timer(NodeId node, PicoInstant at, Timer timer, std::uint64_t payload);
  std::uint32_t make_notice(Process to, Process about, std::uint32_t attempt);
  /// The receiver has taken the flight.
  void acknowledge(std::uint32_t flight);
  /// Announces that `from` ended its connections with `to` up to that attempt.
  void notify_quit(Process from, Process to, std::uint32_t attempt);
  // sim_hub_rc.cpp: reliable connections
  struct EndOfLink {
    Process process{};
    std::uint32_t attempt = 0;

    bool operator==(const EndOfLink&) const = default;
    auto key() const { return std::tuple(process.node, process.life, attempt); }
    bool operator<(const EndOfLink& other) const { return key() < other.key(); }
  };
  /// A connection of two endpoints: the end with the lower node first.
  using LinkKey = std::pair<EndOfLink, EndOfLink>;
  struct RcLink {
    LinkKey key;
    std::map<std::uint8_t, std::uint32_t> connections;  // by level
    struct Completed {
      std::uint32_t next = 0;         // sequence of the oldest that is not completed
      std::set<std::uint32_t> early;  // completed on their levels, ahead of others
    };
    std::array<Completed, 2> completed;
  };
  static LinkKey link_key(EndOfLink a, EndOfLink b) {
    return a < b ? LinkKey(a, b) : LinkKey(b, a);
  }
  std::uint32_t connection_of(const LinkKey& key, std::uint8_t level);
  void add_receive(const Flight& flight);
  void launch_reliably(std::uint32_t flight);
  /// The connection is over for one of its ends, and with it for both.
  void disconnect(EndOfLink a, EndOfLink b);
  void disconnect_all(Process process);
  void close_link(std::map<LinkKey, RcLink>::iterator link);
  std::uint64_t add_memory(NodeId node, std::uint64_t bytes);
  void on_received(std::uint64_t tag) override;
  void on_completed(std::uint32_t connection, std::uint32_t end, std::uint64_t cookie) override;
  void on_failed(std::uint32_t connection, std::uint32_t end) override;
  // sim_hub_border.cpp: other parts
  std::uint64_t hand_over(std::uint32_t flight);
  void hand_over_acknowledgement(Process from, Process to, std::uint64_t link, PicoInstant at);
  void hand_over_quit(Process from, Process to, std::uint32_t attempt, PicoInstant at);
  std::uint32_t take_foreign(std::uint64_t tag);

  SimFabricOptions options_;
  std::vector<std::uint32_t> hosts_;
  net::JobLevels levels_;
  Network& network_;
  Agents& agents_;
  std::uint32_t agent_;
  std::uint16_t user_;
  std::vector<bool> here_;                    // by node
  std::vector<std::vector<Life>> lives_;      // by node and life − 1
  std::vector<net::LinkModel> memory_links_;  // by node: to the nodes of its host
  Pool<Flight> flights_;
  std::optional<ReliableConnections> rc_;
  std::map<LinkKey, RcLink> rc_links_;
  std::vector<RcLink*> links_of_;                               // by connection of rc_
  std::vector<std::pair<std::uint32_t, std::uint8_t>> parked_;  // blocked flights and their levels
  std::vector<std::uint32_t> group_;                            // by node; empty: no partition
  PicoInstant partitioned_since_{};
  std::vector<PicoInstant> unreachable_since_;  // by node; never: reachable
  Pool<Notice> notices_;
  // State shared with other parts. Messages to them have tags with this bit, which are no indices
  // of `flights_`.
  static constexpr std::uint64_t foreign_tag = std::uint64_t{1} << 63;
  std::uint64_t next_tag_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> foreign_;  // flights from there, by their tag
  std::unordered_map<std::uint64_t, Process> leading_on_;     // greetings to there, by their tag
};

}  // namespace weft::sim

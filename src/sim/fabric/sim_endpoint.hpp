// SPDX-License-Identifier: Apache-2.0
// SimEndpoint: one node's fabric in the simulation.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sim/fabric/sim_hub.hpp"
#include "sim/network/pool.hpp"
#include "weft/fabric.hpp"

namespace weft::sim {

class SimEndpoint final : public Fabric {
 public:
  struct Acknowledgement {
    PicoInstant at{};
    NodeId peer{};
    std::uint64_t link = 0;
  };

  SimEndpoint(SimHub& hub, Process process, std::function<void()> on_ready);
  ~SimEndpoint() override;

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "sim"; }
  std::string address() const override { return address_of(process_); }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId peer) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

  static std::string address_of(Process process);
  NodeId self() const { return process_.node; }
  Process process() const { return process_; }
  /// When `poll` will have something, as far as is known; never: nothing is on its way to it.
  PicoInstant ready_at() const;

  // For the hub.
  void connect_all();
  /// Ends every connection that has been blocked for the peer timeout. The other end does so too.
  void drop_unreachable();
  bool is_connecting_to(Process peer) const;
  /// Returns whether the flight is of a connection, or an attempt at one, that there is.
  bool is_current(const Flight& flight) const;
  void peer_died(Process peer);
  /// Connections with the peer up to its attempt of that number are over.
  void peer_quit(Process peer, std::uint32_t attempt);
  /// The peer has taken the oldest operation of that connection that it had not; it completes at
  /// its time, which is not before now.
  void acknowledged(const Acknowledgement& acknowledgement);
  /// The target of a peer's write in this host's memory, as its adapter sees it.
  std::uint64_t address_in(const RemoteRegion& region, std::uint64_t offset) const;
  /// The adapter has given up on the connection with a peer.
  void connection_failed(NodeId peer);
  /// One of the greetings has left the host.
  void greeting_left();
  /// Takes a flight that the network brought; out of order it waits for those before it.
  void take(std::uint32_t flight);

 private:
  struct Posted {
    std::uint64_t context = 0;
    OpKind kind = OpKind::send;
    std::uint32_t flight = kNone;  // it may have come and gone
    std::uint32_t sequence = 0;    // of the flight
    std::uint32_t next = kNone;    // to the same peer
  };
  /// Each end numbers its attempts to be connected with the other, and greets it with the number. A
  /// connection is a pair of attempts, each known to the other end. The end that ends it tells the
  /// other one, and begins a new attempt if it has reason to. The other end keeps its own: hearing
  /// of a later one, or anything sent with it, is to hear that the former one is over. So ends that
  /// take turns in ending and beginning agree when they have heard of each other's last attempts.
  ///
  /// The user learns of connections' making and breaking by events that queue behind everything
  /// that happened before. There is one of these for each pair of nodes, most of which never send
  /// anything: messages on their way lie in pools and lists.
  struct Peer {
    std::uint32_t life = 0;           // at the other end; 0: unknown
    std::uint32_t mine = 0;           // this end's attempt; 0: none
    std::uint32_t theirs = 0;         // the other end's, once its greeting has come
    std::uint32_t last_mine = 0;      // attempts so far
    std::uint32_t heard_life = 0;     // the latest life of which anything was heard, and of that
    std::uint32_t heard = 0;          // … an attempt for which there was no use; 0: none
    std::uint32_t over = 0;           // … attempts up to that one are over
    std::uint32_t next_sequence = 0;  // to send
    std::uint32_t expected = 0;       // to receive
    std::uint64_t reported_link = 0;  // its peer_up was reported and its peer_down was not
    Incarnation incarnation{};
    Incarnation reported_incarnation{};
    std::uint32_t oldest_posted = kNone;  // not acknowledged, a list in posted_
    std::uint32_t newest_posted = kNone;
    std::uint32_t first_early = kNone;  // flights from `expected` on, a list by sequence
    std::uint32_t last_early = kNone;
    std::uint32_t unread = 0;
    bool removed = false;

    /// The connection as this end numbers it; 0: none.
    std::uint64_t link() const { return theirs == 0 ? 0 : std::uint64_t{mine} << 32 | theirs; }
  };
  struct Queued {
    Completion completion;
    std::uint64_t link = 0;
    std::vector<std::byte> data;
  };

  Peer& peer(NodeId id);
  Process process_at(NodeId id, const Peer& peer) const { return {id, peer.life}; }
  void try_to_connect(NodeId id);
  static void hear(Peer& peer, std::uint32_t life);
  void meet(NodeId id, Peer& peer, std::uint32_t theirs);
  void meet_anew(NodeId id, Peer& peer, std::uint32_t theirs);
  void send_greetings();
  void quit(NodeId id, Peer& peer);
  void end_link(NodeId id, Peer& peer);
  void detach_writes(NodeId id, const Peer& peer);
  void keep_early(Peer& peer, std::uint32_t flight);
  std::uint32_t take_early(Peer& peer);
  void drop_early(Peer& peer);
  void take_in_order(NodeId id, Peer& peer);
  bool process(NodeId id, Peer& peer, std::uint32_t flight);
  bool write_into(const Flight& flight);
  void complete_one(NodeId id, Peer& peer);
  Posted& add_posted(Peer& peer, const TxOp& op);
  Posted take_posted(Peer& peer);
  void push(CompletionKind kind, NodeId peer, std::uint64_t context, std::uint64_t link);
  void yield_front(Completion& out);
  std::span<std::byte> region_of(std::uint64_t key) const;
  std::vector<std::byte> buffer();

  SimHub& hub_;
  Process process_;
  std::function<void()> on_ready_;
  FabricLimits limits_;
  std::size_t outstanding_ = 0;
  struct Greeting {
    std::uint32_t attempt = 0;
    NodeId to{};
  };
  std::deque<Greeting> greetings_;  // to be sent: thousands of peers may come up at once
  std::size_t greetings_out_ = 0;   // on their way out of the host
  std::vector<Peer> peers_;         // by node
  Pool<Posted> posted_;
  std::vector<std::span<std::byte>> regions_;     // by key; of retracted ones: empty
  std::vector<std::uint64_t> addresses_;          // of regions, as the adapter sees them
  std::deque<Acknowledgement> acknowledgements_;  // by time and peer
  std::deque<Queued> queue_;
  std::vector<Queued> shown_;  // the last poll handed out their data
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace weft::sim

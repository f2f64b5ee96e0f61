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
  SimEndpoint(SimHub& hub, std::uint64_t serial, NodeId self, Incarnation incarnation,
              std::function<void()> on_ready);
  ~SimEndpoint() override;

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "sim"; }
  std::string address() const override;
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId peer) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

  NodeId self() const { return self_; }
  std::uint64_t serial() const { return serial_; }
  /// When `poll` will have something, as far as is known; never: nothing is on its way to it.
  PicoInstant ready_at() const;

  // For the hub.
  void connect_all();
  /// Ends every connection that has been blocked for the peer timeout, at both ends.
  void drop_unreachable();
  /// Ends the connection with that number, if it is still there.
  void link_ended(NodeId peer, std::uint64_t link);
  /// One of the greetings has left the host.
  void greeting_left();
  /// Takes a flight that the network brought; out of order it waits for those before it.
  void take(std::uint32_t flight);

 private:
  struct Posted {
    std::uint64_t context = 0;
    OpKind kind = OpKind::send;
    std::uint32_t next = kNone;  // to the same peer
  };
  /// A connection is a number that both ends know. The user learns of its making and breaking by
  /// events that queue behind everything that happened before.
  /// There is one of these for each pair of nodes, most of which never say a word: what is on its
  /// way lies in pools and lists.
  struct Peer {
    std::uint64_t serial = 0;         // of the endpoint at the other end; 0: unknown
    std::uint64_t link = 0;           // 0: not connected
    std::uint64_t reported_link = 0;  // whose peer_up was reported and whose peer_down was not
    std::uint64_t next_sequence = 0;  // to send
    std::uint64_t expected = 0;       // to receive
    Incarnation incarnation{};
    Incarnation reported_incarnation{};
    std::uint32_t oldest_posted = kNone;  // not acknowledged, a list in posted_
    std::uint32_t newest_posted = kNone;
    std::uint32_t first_early = kNone;  // flights from `expected` on, a list by sequence
    std::uint32_t last_early = kNone;
    std::uint32_t unread = 0;
    bool welcome = false;  // of this link: the other end's greeting has come
    bool removed = false;
  };
  struct Queued {
    Completion completion;
    std::uint64_t link = 0;
    std::vector<std::byte> data;
  };
  struct Acknowledgement {
    PicoInstant at{};
    NodeId peer{};
    std::uint64_t link = 0;
  };

  Peer& peer(NodeId id);
  void try_to_connect(NodeId id);
  void connect(NodeId id, Peer& mine, SimEndpoint& other, Peer& theirs);
  void greet(NodeId id, const Peer& peer);
  void send_greetings();
  void break_link(NodeId id);
  void end_link(NodeId id, Peer& peer);
  void keep_early(Peer& peer, std::uint32_t flight);
  std::uint32_t take_early(Peer& peer);
  void drop_early(Peer& peer);
  void take_in_order(NodeId id, Peer& peer);
  bool process(NodeId id, Peer& peer, std::uint32_t flight);
  bool write_into(const Flight& flight);
  void acknowledge(const Peer& peer);
  void complete_one(NodeId id, Peer& peer);
  void add_posted(Peer& peer, const TxOp& op);
  Posted take_posted(Peer& peer);
  void push(CompletionKind kind, NodeId peer, std::uint64_t context, std::uint64_t link);
  void yield_front(Completion& out);
  std::span<std::byte> region_of(std::uint64_t key) const;
  std::vector<std::byte> buffer();

  SimHub& hub_;
  std::uint64_t serial_;
  NodeId self_;
  Incarnation incarnation_;
  std::function<void()> on_ready_;
  FabricLimits limits_;
  std::size_t outstanding_ = 0;
  struct Greeting {
    std::uint64_t link = 0;
    NodeId to{};
  };
  std::deque<Greeting> greetings_;  // to be sent: thousands of peers may come up at once
  std::size_t greetings_out_ = 0;   // on their way out of the host
  std::vector<Peer> peers_;         // by node
  Pool<Posted> posted_;
  std::vector<std::span<std::byte>> regions_;     // by key; of what was retracted: empty
  std::deque<Acknowledgement> acknowledgements_;  // in order of their time
  std::deque<Queued> queue_;
  std::vector<Queued> shown_;  // whose data the last poll handed out
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace weft::sim

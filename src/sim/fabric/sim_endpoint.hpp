// SPDX-License-Identifier: Apache-2.0
// SimEndpoint: one node's fabric in the simulation.
#pragma once

#include <deque>
#include <functional>
#include <map>
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
    Incarnation incarnation{};
    std::uint64_t serial = 0;         // of the endpoint at the other end; 0: unknown
    std::uint64_t link = 0;           // 0: not connected
    bool welcome = false;             // of this link: the other end's greeting has come
    std::uint64_t reported_link = 0;  // whose peer_up was reported and whose peer_down was not
    Incarnation reported_incarnation{};
    bool removed = false;
    std::uint32_t oldest_posted = kNone;  // not acknowledged, a list in posted_
    std::uint32_t newest_posted = kNone;
    std::uint64_t next_sequence = 0;               // to send
    std::uint64_t expected = 0;                    // to receive
    std::map<std::uint64_t, std::uint32_t> early;  // flights by sequence, ahead of `expected`
    std::size_t unread = 0;
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
  void break_link(NodeId id);
  void end_link(NodeId id, Peer& peer);
  void take_in_order(NodeId id, Peer& peer);
  bool process(NodeId id, Peer& peer, std::uint32_t flight);
  bool write_into(const Flight& flight);
  void acknowledge(const Peer& peer);
  void complete_one(NodeId id, Peer& peer);
  void add_posted(Peer& peer, const TxOp& op);
  Posted take_posted(Peer& peer);
  void push(CompletionKind kind, NodeId peer, std::uint64_t context, std::uint64_t link);
  void yield_front(Completion& out);
  std::vector<std::byte> buffer();

  SimHub& hub_;
  std::uint64_t serial_;
  NodeId self_;
  Incarnation incarnation_;
  std::function<void()> on_ready_;
  FabricLimits limits_;
  std::uint64_t next_key_ = 1;
  std::size_t outstanding_ = 0;
  std::vector<Peer> peers_;  // by node
  Pool<Posted> posted_;
  std::map<std::uint64_t, std::span<std::byte>> regions_;
  std::deque<Acknowledgement> acknowledgements_;  // in order of their time
  std::deque<Queued> queue_;
  std::vector<Queued> shown_;  // whose data the last poll handed out
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace weft::sim

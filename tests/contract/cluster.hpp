// SPDX-License-Identifier: Apache-2.0
// Drives several endpoints from one thread and checks the invariants at every completion.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric_contract.hpp"

namespace weft::contract {

using Bytes = std::vector<std::byte>;

/// `size` bytes that depend on `seed` and on their position.
Bytes pattern(std::size_t size, std::uint64_t seed);
Bytes bytes_of(std::string_view text);
/// A seed from WEFT_TEST_SEED, or a fresh one; printed so that a failure can be run again.
std::uint64_t announced_seed();

struct Message {
  NodeId from;
  Bytes data;
};

struct PeerEvent {
  CompletionKind kind;  ///< peer_up or peer_down
  NodeId peer;
  Incarnation incarnation;
};

/// One endpoint and everything it reported. Fails the running test when a completion breaks an
/// invariant: an unknown or repeated context, the wrong kind for its operation, up and down out of
/// turn, a message from a peer that is not up, or an operation that outlives its peer_down.
class Node {
 public:
  Node(NodeId id, Incarnation incarnation, std::unique_ptr<Fabric> fabric)
      : id_(id), incarnation_(incarnation), fabric_(std::move(fabric)) {}

  NodeId id() const { return id_; }
  Incarnation incarnation() const { return incarnation_; }
  Fabric& fabric() { return *fabric_; }
  bool alive() const { return fabric_ != nullptr; }
  std::unique_ptr<Fabric> take() { return std::move(fabric_); }
  /// Called for each message before its data becomes invalid.
  std::function<void(NodeId, std::span<const std::byte>)> on_message;

  /// Queues a message of `data`, cut in two segments at `cut`; returns its context. Goes out when
  /// the fabric takes it.
  std::uint64_t send(NodeId peer, Bytes data, std::size_t cut = 0);
  /// Queues a write of `data`, cut in two segments at `cut`.
  std::uint64_t write(NodeId peer, const RemoteRegion& region, std::uint64_t offset, Bytes data,
                      std::size_t cut = 0);
  /// Offers queued operations, then polls once. Returns whether anything happened.
  bool step(Instant now);
  /// Operations that post took and that have not completed.
  std::size_t outstanding() const { return outstanding_.size(); }
  std::size_t queued() const { return queue_.size(); }
  std::size_t offer();

  bool is_up(NodeId peer) const { return up_.contains(peer); }
  std::vector<Message> messages;
  std::vector<PeerEvent> events;
  std::map<std::uint64_t, CompletionKind> completed;
  std::size_t most_outstanding = 0;
  std::size_t completions_per_poll = 64;

 private:
  struct Operation {
    NodeId peer;
    OpKind kind;
    Bytes data;
  };
  void enqueue(TxOp op, Bytes data, std::size_t cut);
  void take(const Completion& completion);
  void take_end_of_operation(const Completion& completion);
  void take_peer_event(const Completion& completion);

  NodeId id_;
  Incarnation incarnation_;
  std::unique_ptr<Fabric> fabric_;
  std::uint64_t next_context_ = 1;
  std::deque<TxOp> queue_;
  std::map<std::uint64_t, Operation> operations_;  // data that must stay valid
  std::map<std::uint64_t, NodeId> outstanding_;
  std::map<NodeId, Incarnation> up_;
};

/// Fully connected nodes 0 … n−1.
class Cluster {
 public:
  Cluster(FabricFactory& factory, std::size_t nodes);

  Node& operator[](std::size_t i) { return *nodes_[i]; }
  std::size_t size() const { return nodes_.size(); }

  /// Steps every living node until `done`; fails the test after a generous limit. With `sleep` it
  /// sleeps as the nodes' WaitHints allow.
  ::testing::AssertionResult drive(const std::function<bool()>& done, bool sleep = false);
  /// Until every operation of every living node has completed.
  ::testing::AssertionResult settle();

  void kill(std::size_t i);
  /// A new endpoint for node i, with its next incarnation; both sides add each other.
  void revive(std::size_t i);
  /// An endpoint that claims to be node i with an incarnation of the past, and knows all peers.
  std::unique_ptr<Node> impostor(std::size_t i, Incarnation incarnation);

  static Instant now();
  /// Sleeps until one of `nodes` has something to do, at most `limit`. Returns false on the limit.
  static bool sleep(std::span<Node* const> nodes, Duration limit);

 private:
  void introduce(Node& a, Node& b);

  FabricFactory& factory_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Node>> graveyard_;  // their buffers may still be read
};

}  // namespace weft::contract

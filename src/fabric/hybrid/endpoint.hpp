// SPDX-License-Identifier: Apache-2.0
// The hybrid fabric's endpoint.
//
// A pair of nodes has up to two links, one per part. The lower node, the decider, proposes the
// first that is up; the other agrees as soon as it has nothing else in use; from then on, until the
// link goes down, all operations take it and the peer is up. "Propose" and "agree" are the first
// message of a link in either direction, so that data never come before both sides know. The part
// that was not chosen forgets the peer.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/polling_pace.hpp"
#include "fabric/hybrid/hybrid.hpp"
#include "fabric/tcp/socket.hpp"

namespace weft::hybrid {

inline constexpr std::size_t kNear = 0, kFar = 1, kNone = 2;

/// The state of a peer at one part.
struct Link {
  bool is_added = false;      ///< the part knows the peer
  bool is_up = false;         ///< the part said so
  bool is_proposed = false;   ///< by the side that decides
  bool owes_note = false;     ///< our note's completion is still to come
  bool is_lossless = false;   ///< the part said so
  Incarnation incarnation{};  ///< of this session
};

/// A peer with a link at each part, one of which carries its operations.
struct SplitPeer {
  NodeId id{};
  Incarnation incarnation{};  ///< the highest known
  HybridAddress address;
  bool is_known = false;  ///< added and not removed
  std::array<Link, 2> links;
  std::size_t chosen = kNone;         ///< the part that carries the operations: the peer is up
  Instant far_at = Instant::never();  ///< the network is tried then
  bool needs_attention = false;       ///< in the endpoint's list
};

class Endpoint final : public Fabric {
 public:
  Endpoint(const HybridOptions& options, std::unique_ptr<ShmFabric> near,
           std::unique_ptr<Fabric> far, Descriptor epoll);

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return name_; }
  std::string address() const override;
  Result<void> add_peer(NodeId id, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId id) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  SendLane* lane(NodeId to) override {
    const std::size_t k = part_of(to);
    return k != kNone ? part(k).lane(to) : nullptr;
  }
  bool is_silent(NodeId id) const override;
  std::optional<Companion> take_companion(std::uint64_t bytes) override {
    return near_->take_companion(bytes);
  }
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

 private:
  SplitPeer* find_peer(NodeId id) const {
    return id.value() < peers_.size() ? peers_[id.value()].get() : nullptr;
  }
  Fabric& part(std::size_t k) { return k == kNear ? *near_ : *far_; }
  bool decides(const SplitPeer& peer) const { return self_ < peer.id; }
  std::size_t part_of(NodeId id) {
    const SplitPeer* const peer = find_peer(id);
    return peer == nullptr ? kNone : peer->chosen;
  }

  // Peers.
  Result<void> add_to(SplitPeer& peer, std::size_t k);
  void remove_from(SplitPeer& peer, std::size_t k);
  void try_far_later(SplitPeer& peer);
  void run_timers();
  void need_attention(SplitPeer& peer);
  std::size_t attend_all(std::span<Completion> room);
  bool propose(SplitPeer& peer);
  bool agree(SplitPeer& peer, std::size_t k);
  void choose(SplitPeer& peer, std::size_t k);
  bool tell(SplitPeer& peer, std::size_t k, std::uint64_t what);

  // Completions. Translates a part's completion into the user's, in place; false: there is none.
  std::size_t poll_all(std::span<Completion> completions);
  std::size_t translate_all(std::size_t k, std::span<Completion> completions);
  std::size_t poll_part(std::size_t k, std::span<Completion> room);
  bool translate(std::size_t k, Completion& completion);
  bool on_received(SplitPeer& peer, std::size_t k, Completion& completion);
  bool on_ended(SplitPeer& peer, std::size_t k, const Completion& completion);
  void on_up(SplitPeer& peer, std::size_t k, const Completion& up);
  static void report_up(const SplitPeer& peer, std::size_t k, Completion& completion);
  bool on_down(SplitPeer& peer, std::size_t k, Completion& completion);
  bool is_far_due() const;
  std::size_t yield_failed(std::span<Completion> room);
  void watch(std::size_t k, int descriptor);

  NodeId self_;
  Duration patience_;
  std::unique_ptr<ShmFabric> near_;
  std::unique_ptr<Fabric> far_;
  Descriptor epoll_;
  std::array<int, 2> watched_ = {-1, -1};
  FabricLimits limits_;
  std::string name_;

  std::vector<std::unique_ptr<SplitPeer>> peers_;  // by node id
  std::vector<SplitPeer*> attention_, attention_now_;
  std::size_t outstanding_ = 0;
  std::vector<Completion> failed_;  // of peers that are not up; at most max_outstanding
  std::size_t failed_first_ = 0;

  Instant now_{};
  Instant next_timer_ = Instant::never();
  PollingPace far_pace_;
  std::uint32_t polls_without_far_ = 0;
  std::size_t far_links_ = 0;
  bool far_first_ = false;
};

}  // namespace weft::hybrid

// SPDX-License-Identifier: Apache-2.0
// PairIn: what this process receives from one other: the inbox of the paper (4.3), one per peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/growing_ring.hpp"
#include "core/message/body_pool.hpp"
#include "core/message/frames.hpp"
#include "core/message/history.hpp"
#include "core/message/operations.hpp"
#include "core/message/options.hpp"
#include "core/transmit/transmit_queue.hpp"

namespace weft::message {

/// A message that arrives before it is wanted waits in the inbox, within the credit that the sender
/// was given. One that is wanted and might not come by itself is asked for, once.
class PairIn {
 public:
  /// `window`: bytes of credit.
  PairIn(const MessageOptions& options, NodeId peer, std::uint64_t window, BodyPool& bodies,
         Operations& operations)
      : options_(options), peer_(peer), window_(window), bodies_(bodies), operations_(operations) {}
  PairIn(const PairIn&) = delete;
  PairIn& operator=(const PairIn&) = delete;

  /// `region`: `into`, opened to the fabric; needed for more than the eager limit.
  Operation receive(const FlowKey& key, std::span<std::byte> into, const RemoteRegion& region);

  /// A connection begins: what a hello shall grant.
  std::uint64_t begin();
  /// The peer has said hello. `pull`: what it sent to earlier lives comes only when asked for.
  void connected(bool pull);
  void disconnected() { up_ = false; }

  /// False: the peer says what cannot be.
  bool on_eager(const EagerFrame& frame);
  bool on_announce(const Frame& frame);
  bool on_written(const Frame& frame);
  void on_gone(const Frame& frame);
  void on_too_long(const Frame& frame);
  /// A message of this process to itself.
  void deliver(const FlowKey& key, Serial serial, std::span<const std::byte> body);

  /// This process's place in each flow.
  void store(StoredPair& into) const;
  /// As if all before that had been received by this process.
  void go_on(const StoredPair& from);
  /// A message has come that nobody has received yet.
  bool holds_any() const;

  /// Puts into the queue what there is to say and room for. False when room was short.
  bool pump(TransmitQueue& out);
  /// Whether there is anything to say.
  bool has_word() const { return owes_credit_ || !asks_.empty() || !haves_.empty(); }
  void fail_all(Failure failure);
  bool waits() const { return posted_ > 0; }

 private:
  enum class State : std::uint8_t { posted, arrived, announced };
  struct Slot {
    Serial serial = 0;
    State state = State::posted;
    bool asked = false;
    Operation operation{};
    std::span<std::byte> into;
    RemoteRegion region;
    Body body;
    std::uint64_t credit = 0;  // to give back when it is taken
  };
  struct Flow {
    FlowKey key;
    Serial next = 0;               // of the receive to come
    std::uint32_t connection = 0;  // that `pushed_from` speaks of
    Serial pushed_from = 0;        // from here on messages come by themselves
    GrowingRing<Slot> slots;       // few, in the order of their serials
  };
  struct Place {
    Flow* flow = nullptr;
    Serial serial = 0;
  };

  Flow& flow(const FlowKey& key) {
    return latest_ != nullptr && latest_->key == key ? *latest_ : look_up(key);
  }
  Flow& look_up(const FlowKey& key);
  Slot* find(Flow& flow, Serial serial);
  Slot& insert(Flow& flow, Serial serial);
  void erase(Flow& flow, const Slot& slot);
  Serial pushed_from(Flow& flow);
  void note_pushed(Flow& flow, Serial serial);
  void ask_if_needed(Flow& flow, Slot& slot);
  void ask(Flow& flow, Slot& slot);
  void ask_for_all();
  bool spend(std::uint64_t cost);
  void give_back(std::uint64_t cost);
  void fill(Flow& flow, Slot& slot, std::span<const std::byte> body);
  void finish(Flow& flow, Slot& slot, std::uint64_t size, Failure failure);
  void check_credit();

  const MessageOptions& options_;
  NodeId peer_;
  std::uint64_t window_;
  BodyPool& bodies_;
  Operations& operations_;
  std::unordered_map<FlowKey, Flow, FlowKeyHash> flows_;
  Flow* latest_ = nullptr;    // most look-ups are for the same one
  GrowingRing<Place> asks_;   // to be sent
  GrowingRing<Place> haves_;  // likewise
  std::size_t posted_ = 0;
  std::size_t unasked_ = 0;  // of the posted
  std::uint64_t spent_ = 0;  // by the peer, in this connection
  std::uint64_t freed_ = 0;
  std::uint64_t base_ = 0;     // granted when the connection began
  std::uint64_t granted_ = 0;  // as the peer was told
  std::uint64_t received_ = 0;
  std::uint64_t received_told_ = 0;
  std::uint64_t held_ = 0;  // credit's worth of what is in the inbox, of all connections
  std::uint32_t connection_ = 0;
  bool up_ = false;
  bool pull_ = false;
  bool owes_credit_ = false;
};

}  // namespace weft::message

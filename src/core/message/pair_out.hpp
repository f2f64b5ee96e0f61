// SPDX-License-Identifier: Apache-2.0
// PairOut: what this process sends to one other: the outbox of the paper (4.3, 4.4), one per peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/growing_ring.hpp"
#include "core/message/body_pool.hpp"
#include "core/message/frames.hpp"
#include "core/message/history.hpp"
#include "core/message/operations.hpp"
#include "core/message/options.hpp"
#include "core/transmit/transmit_queue.hpp"

namespace weft::message {

/// In the context of the fabric's operations: it is a write; the rest is its slot.
inline constexpr std::uint64_t write_context = std::uint64_t{1} << 63;

/// Messages leave in the order sent, as far as the receiver's credit goes; those that it asks for
/// leave at once. A message is kept until it is known to have arrived, with
/// MessageOptions::retain until `trim`.
class PairOut {
 public:
  PairOut(const MessageOptions& options, NodeId peer, BodyPool& bodies, Operations& operations)
      : options_(options), peer_(peer), bodies_(bodies), operations_(operations) {}
  PairOut(const PairOut&) = delete;
  PairOut& operator=(const PairOut&) = delete;

  Operation send(const FlowKey& key, std::span<const std::byte> bytes);
  /// As `send`, of a message that leaves before anything else and will be kept.
  /// `post(std::span<const std::byte> header)` hands it to the fabric, and says whether that took
  /// it. None: nothing has happened.
  template <class Post>
  std::optional<Operation> send_at_once(const FlowKey& key, std::span<const std::byte> bytes,
                                        Post&& post) {
    if (!can_leave_at_once(bytes.size())) return std::nullopt;
    Flow& to = flow(key);
    const FrameHeader header = header_of(
        {.kind = FrameKind::eager, .flow = key, .serial = to.next(), .size = bytes.size()});
    if (!to.asked.empty() || !post(std::as_bytes(std::span(header)))) return std::nullopt;
    left(to, bytes);
    return Operations::done(bytes.size());
  }
  /// The next message of a flow goes another way: its serial.
  Serial skip(const FlowKey& key);

  /// A connection is there and the peer has said hello. What is unsure to have arrived is sent
  /// again; to a new life of the peer, only what it asks for.
  void connected(std::uint64_t granted, bool new_life);
  void disconnected();

  /// False: the peer says what cannot be.
  bool on_get(const Frame& get);
  bool on_credit(const Frame& credit);
  void on_have(const Frame& have);
  /// A write of this peer's is over, carried out or not.
  void on_write_over(std::uint64_t slot);

  /// Puts into the queue what there is to send and room for. False when room was short.
  bool pump(TransmitQueue& out);
  /// Whether there is anything to send, if there is credit for it.
  bool has_work() const { return !answers_.empty() || !pushes_.empty(); }
  /// What was sent before `order` was received, and no life of the peer asks for it.
  void trim(std::uint64_t order);
  /// Of the next message that is sent.
  std::uint64_t next_order() const { return next_order_; }
  /// What is kept, in its place. It refers to memory of this.
  void store(StoredPair& into) const;
  /// As if all that had been sent by this process. Errors: something was sent already; the outbox
  /// is full.
  Result<void> go_on(const StoredPair& from);
  /// Operations that are not done fail.
  void fail_all(Failure failure);
  /// Somebody waits for one of its operations.
  bool waits() const { return pending_ > 0; }

 private:
  struct Kept {
    std::span<const std::byte> bytes;
    Body body;              // empty: the caller's bytes, until `operation` is done
    Operation operation{};  // 0: was done when it was copied
    std::uint64_t order = 0;
    std::uint32_t sent_in = 0;      // connection in which it was pushed; 0: none
    std::uint32_t answered_in = 0;  // in which the peer's asking was answered
    std::uint32_t writes_out = 0;
    bool arrived = false;
    bool trimmed = false;
  };
  struct Asked {
    Serial serial = 0;
    RemoteRegion region;
  };
  struct Flow {
    FlowKey key;
    Serial first = 0;  // of `kept`
    GrowingRing<Kept> kept;
    std::vector<Asked> asked;  // for messages that do not exist yet
    Serial next() const { return first + kept.size(); }
    Kept* find(Serial serial) {
      return serial < first || serial >= next() ? nullptr : &kept[serial - first];
    }
  };
  struct Place {
    Flow* flow = nullptr;
    Serial serial = 0;
  };
  struct Answer {
    Place place;
    RemoteRegion region;
    bool gone = false;
    std::uint64_t offset = 0;  // written so far
  };
  struct Unheard {
    Place place;
    bool delivers = false;  // it brings the message, not only word of it
  };
  struct Write {
    Place place;
    std::uint32_t next_free = 0;
  };

  bool can_leave_at_once(std::size_t bytes) const {
    return up_ && !has_work() && bytes <= options_.eager_limit &&
           spent_ + credit_cost(bytes) <= granted_ && bodies_.has_block(bytes);
  }
  void left(Flow& to, std::span<const std::byte> bytes);
  Kept copy_of(std::span<const std::byte> bytes);
  bool is_large(const Kept& kept) const { return kept.bytes.size() > options_.eager_limit; }
  Flow& flow(const FlowKey& key) {
    return latest_ != nullptr && latest_->key == key ? *latest_ : look_up(key);
  }
  Flow& look_up(const FlowKey& key);
  void answer(Flow& flow, Serial serial, const RemoteRegion& region);
  bool pump_answer(Answer& answer, TransmitQueue& out);
  bool pump_writes(Answer& answer, const Kept& kept, TransmitQueue& out);
  bool pump_push(const Place& place, TransmitQueue& out);
  void send_body(Flow& flow, Serial serial, Kept& kept, bool asked, TransmitQueue& out);
  void send_about(FrameKind kind, const Flow& flow, Serial serial, std::uint64_t size, bool urgent,
                  TransmitQueue& out);
  std::uint32_t take_write(const Place& place);
  void arrived(const Place& place);
  void finish(Kept& kept, Failure failure);
  void settle(Flow& flow, Kept& kept);
  void drop_front(Flow& flow);
  Result<void> go_on(const StoredSends& from);
  bool is_gone(const Kept& kept) const {
    return kept.arrived && (!options_.retain || kept.trimmed);
  }
  void push_unarrived_again();

  const MessageOptions& options_;
  NodeId peer_;
  BodyPool& bodies_;
  Operations& operations_;
  std::unordered_map<FlowKey, Flow, FlowKeyHash> flows_;
  Flow* latest_ = nullptr;  // most look-ups are for the same one
  GrowingRing<Place> pushes_;
  GrowingRing<Answer> answers_;
  GrowingRing<Unheard> unheard_;  // in the order of their frames: what a credit's count speaks of
  std::vector<Write> writes_;
  std::uint32_t free_write_ = 0xffff'ffff;
  std::uint64_t next_order_ = 1;
  std::uint64_t granted_ = 0;  // of this connection
  std::uint64_t spent_ = 0;
  std::uint64_t heard_ = 0;       // frames that the peer has counted
  std::size_t pending_ = 0;       // operations
  std::uint32_t connection_ = 0;  // counts them; 0 before the first
  std::size_t writes_out_ = 0;
  bool up_ = false;
};

}  // namespace weft::message

// SPDX-License-Identifier: Apache-2.0
// PairOut: the messages that this process sends to one peer: the outbox of paper 4 (4.3, 4.4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/copy.hpp"
#include "base/growing_ring.hpp"
#include "core/message/archive.hpp"
#include "core/message/body_pool.hpp"
#include "core/message/digest.hpp"
#include "core/message/flow_table.hpp"
#include "core/message/frames.hpp"
#include "core/message/history.hpp"
#include "core/message/operations.hpp"
#include "core/message/options.hpp"
#include "core/message/write_window.hpp"
#include "core/transmit/transmit_queue.hpp"

namespace weft::message {

/// The most bytes that a caller may put in front of a message.
inline constexpr std::size_t longest_head = 32;
/// Marks the context of a write among the fabric's operations; the other bits are its slot.
inline constexpr std::uint64_t write_context = std::uint64_t{1} << 63;

/// Messages leave in the order sent, as far as the receiver's credit goes; those that it asks for
/// leave at once. A PairOut keeps a message until it is known to have arrived, with
/// MessageOptions::retain until its receiver forgets it. No I/O, one thread.
class PairOut {
 public:
  /// Options, bodies and operations outlive it.
  PairOut(const MessageOptions& options, NodeId peer, BodyPool& bodies, Operations& operations)
      : options_(options), peer_(peer), bodies_(bodies), operations_(operations) {}
  PairOut(const PairOut&) = delete;
  PairOut& operator=(const PairOut&) = delete;

  /// Starts to send the flow's next message. `bytes` stay as they are until the operation is done.
  Operation send(const FlowKey& key, std::span<const std::byte> bytes);
  /// As `send`, of a message that can leave before anything else: `head`, at most `longest_head`
  /// bytes, and `bytes` behind it. `post(std::span<const std::byte> header)` hands the header,
  /// which includes `head`, and `bytes` to the fabric, and says whether that took them. None:
  /// nothing has happened.
  template <class Post>
  std::optional<Operation> send_at_once(const FlowKey& key, std::span<const std::byte> head,
                                        std::span<const std::byte> bytes, Post&& post) {
    WEFT_CHECK(head.size() <= longest_head);
    Flow* const to = flow_to_leave_from(key, head.size() + bytes.size());
    if (to == nullptr) return std::nullopt;
    const std::uint64_t digest = digest_with(*to, head, bytes);
    std::array<std::byte, header_bytes + longest_head> all;
    const std::size_t header = begins_with(*to);
    put_header(all.data(), header, *to, told(digest));
    copy_bytes(all.data() + header, head.data(), head.size());
    if (!post(std::span<const std::byte>(all.data(), header + head.size()))) return std::nullopt;
    left(*to, head, bytes, digest);
    return Operations::done(head.size() + bytes.size());
  }
  /// The same, written straight to where the fabric takes it. False: nothing has happened.
  bool send_in(SendLane& lane, const FlowKey& key, std::span<const std::byte> head,
               std::span<const std::byte> bytes) {
    Flow* const to = flow_to_leave_from(key, head.size() + bytes.size());
    if (to == nullptr) return false;
    const std::uint64_t digest = digest_with(*to, head, bytes);
    const std::size_t header = begins_with(*to);
    std::byte* place = lane.reserve(header + head.size() + bytes.size());
    if (place == nullptr) return false;
    put_header(place, header, *to, told(digest));
    place += header;
    copy_bytes(place, head.data(), head.size());
    copy_bytes(place + head.size(), bytes.data(), bytes.size());
    lane.send();
    left(*to, head, bytes, digest);
    return true;
  }
  /// Returns the serial of the flow's next message, which does not go through this object.
  Serial skip(const FlowKey& key);

  struct Connection {
    std::uint64_t granted = 0;  ///< bytes of credit, by the peer's hello
    bool pull = false;          ///< messages that may not have arrived are sent when asked for
    bool is_lossless = false;   ///< Completion::is_lossless
    bool is_to_newest = true;   ///< no life of the peer is known that came later
  };
  /// A connection is there and the peer has said hello. Messages that may not have arrived are sent
  /// again.
  void connected(const Connection& connection);
  void disconnected();

  /// False: the peer sent something impossible.
  bool on_get(const Frame& get);
  bool on_credit(const Frame& credit);
  /// A have or a had frame.
  void on_have(const Frame& frame);
  void on_forget(const Frame& forget);
  /// A write to this peer is over, carried out or not. `slot`: its context without `write_context`.
  void on_write_over(Instant now, std::uint64_t slot);

  /// Puts frames to send into the queue while there is room. False when room was short.
  bool pump(TransmitQueue& out);
  /// Returns whether there is anything to send, if there is credit for it.
  bool has_work() const { return !answers_.empty() || !writing_.empty() || !pushes_.empty(); }
  /// No later life of any peer will ask for what is sent from now on: those that arrive are
  /// dropped. `may_ask`: a later life of this one may still ask for what was sent before.
  /// `is_to_newest`: the connection is to the peer's last life; what another one has does not
  /// count. To be called before MessageOptions::retain is taken back.
  void stop_keeping(bool may_ask, bool is_to_newest);
  /// Adds the kept messages and the places of flows. They refer to memory of this object.
  void store(StoredPair& into);
  /// Goes on as if this process had sent all that. Errors: it has sent something already; there is
  /// no memory.
  Result<void> resume(const StoredPair& from);
  /// Some answer waits until writes are over, or for room in the queue.
  bool is_writing() const { return !writing_.empty(); }
  /// Lets all operations that are not done fail.
  void fail_all(Failure failure);
  /// Some of its operations are not done.
  bool waits() const { return pending_ > 0; }
  /// A connection that should have lost nothing ended, and the peer lives: messages that were on it
  /// are lost.
  bool has_lost() const { return has_lost_; }
  /// This process has sent something.
  bool has_begun() const { return next_order_ > 1; }
  /// Returns the number of messages so far, in all flows.
  std::uint64_t started() const;
  /// The first message found in which this process differs from its earlier life. Nothing is sent
  /// to the peer from then on.
  const std::optional<Name>& diverged() const { return diverged_; }
  /// Returns how many messages wait here until the peer has read on, or the fabric has room.
  std::size_t queued() const { return queued_; }
  /// The last one that `send` took, and whether one is among those.
  Name last() const { return last_; }
  bool is_queued(const Name& message);
  /// Messages wait for room in the outbox.
  bool waits_for_room() const { return !uncopied_.empty(); }
  /// Returns the bytes of the outbox that are kept for the peer. It looks at all flows.
  ByteCount kept() const;
  /// Copies messages that wait for room, since there may be some, or ignoring the limit. False:
  /// there was not enough for all.
  bool copy_waiting(bool ignores_limit = false);
  std::size_t active_flows() const { return flows_.active(); }

 private:
  struct Kept {
    std::span<const std::byte> bytes;
    Body body;              // empty: the caller's bytes, until `operation` is done
    Operation operation{};  // 0: was done when it was copied
    std::uint64_t order = 0;
    std::uint64_t digest = 0;       // of the flow up to it
    std::uint32_t sent_in = 0;      // connection in which it was pushed; 0: none
    std::uint32_t answered_in = 0;  // in which the peer's asking was answered
    std::uint32_t writes_out = 0;
    bool arrived = false;
    bool was_asked = false;  // before it existed
    bool is_queued = false;  // counts as such
    bool is_lost = false;    // its operation failed, and the caller's bytes are its own again
  };
  struct Asked {
    Serial serial = 0;
    RemoteRegion region;
  };
  struct Had {
    Serial serial = 0;
    ToldDigest digest = 0;  // 0: unknown
  };
  struct Flow {
    Flow(const FlowKey& k, const FlowPlace& from)
        : key(k),
          first(from.next),
          digest(from.next == 0 ? first_digest : from.digest),
          archived_digest(digest),
          forgotten(from.forgotten) {}
    Serial next() const { return first + kept.size(); }
    Kept* find(Serial serial) {
      return serial < first || serial >= next() ? nullptr : &kept[serial - first];
    }
    bool is_idle() const {
      return kept.empty() && asked.empty() && archive.empty() && had_some <= first;
    }
    FlowPlace place() const { return {.next = first, .digest = digest, .forgotten = forgotten}; }
    void shrink() {
      if (kept.empty()) kept = GrowingRing<Kept>();
      if (asked.empty()) asked = GrowingRing<Asked>();
    }
    /// None: the peer has not said that it has that message.
    std::optional<ToldDigest> had_at(Serial serial) {
      if (serial < had.serial) return serial + 1 == had.serial ? had.digest : 0;
      while (!had_behind.empty() && had_behind.front().serial < serial) had_behind.pop_front();
      if (had_behind.empty() || had_behind.front().serial != serial) return std::nullopt;
      return had_behind.front().digest;
    }

    FlowKey key;
    Serial first = 0;     // of `kept`; those before are in the archive, or forgotten
    Serial had_some = 0;  // the peer has none from here on; here since each message looks at it
    GrowingRing<Kept> kept;
    GrowingRing<Asked> asked;           // for messages that do not exist yet, by their serials
    std::uint64_t digest = 0;           // of all messages
    std::uint64_t archived_digest = 0;  // of those before `first`
    Serial forgotten = 0;               // by the peer: messages before this
    Serial needed_until = 0;      // those before this are kept, though others are not any more
    Had had;                      // the peer has all before it, as it said in this connection
    GrowingRing<Had> had_behind;  // and these messages
    Archive archive;
    bool in_use = false;  // FlowTable
  };
  struct Place {
    Flow* flow = nullptr;
    Serial serial = 0;
  };
  struct Push {
    Place place;
    std::uint64_t cost = 0;  // credit
  };
  struct Answer {
    Place place;
    RemoteRegion region;
    std::uint64_t offset = 0;  // written so far
  };
  struct Unheard {
    Place place;
    bool delivers = false;     // it brings the message, not only word of it
    std::uint32_t unkept = 0;  // it stands for so many, each a message that was not kept
  };
  struct Write {
    Place place;  // no flow: the slot is free
    std::uint32_t next_free = 0;
    std::uint64_t bytes = 0;
  };
  enum class Pumped : std::uint8_t {
    all,
    waits,    // until writes are over: what else there is may go meanwhile
    no_room,  // in the queue of the fabric
  };

  /// A peer asks once for each receive that it has posted; beyond that it is not one of ours.
  static constexpr std::size_t most_asked = 1 << 20;
  /// Messages that the peer has, and that are not in the archive yet, as long as nobody waits.
  static constexpr std::uint64_t most_unsettled = 256;
  static constexpr std::uint64_t settled_at_once = 8;

  /// Null: the flow's next message cannot leave before anything else.
  Flow* flow_to_leave_from(const FlowKey& key, std::size_t size) {
    const bool has_way = up_ && !has_work() && size <= options_.eager_limit &&
                         spent_ + credit_cost(size) <= granted_;
    if (!has_way) return nullptr;
    Flow& to = flow(key);
    if (!keeps_ && !to.kept.empty()) let_go(to);
    if (!to.asked.empty() || to.next() < to.had_some) return nullptr;
    if (keeps(to) && !bodies_.has_block(size)) return nullptr;
    return &to;
  }
  void let_go(Flow& flow);
  /// Returns how long the header of the flow's next message is, which would leave now.
  std::size_t begins_with(const Flow& to) const {
    const bool is_known = &to == named_ && to.next() == named_next_;
    return is_known ? next_header_bytes : header_bytes;
  }
  static void put_header(std::byte* place, std::size_t length, const Flow& to, ToldDigest digest) {
    // Word by word from registers: loads of what was just stored in other pieces would wait.
    const auto put = [&place](std::uint64_t word) {
      asm("" : "+r"(word));  // else the compiler joins it with its neighbour
      std::memcpy(place, &word, sizeof word);
      place += sizeof word;
    };
    if (length == next_header_bytes) return put(next_header(to.next(), digest));
    for (const std::uint64_t word : eager_header(to.key, to.next(), digest)) put(word);
  }
  /// The peer takes a `next` frame for the message after that one.
  void named(const Flow& flow, Serial serial) {
    named_ = &flow;
    named_next_ = serial + 1;
  }
  bool keeps(const Flow& flow) const { return keeps_ || !flow.kept.empty(); }
  void left(Flow& to, std::span<const std::byte> head, std::span<const std::byte> bytes,
            std::uint64_t digest) {
    spent_ += credit_cost(head.size() + bytes.size());
    named(to, to.next());
    if (keeps(to)) return keep_what_left(to, head, bytes, digest);
    ++next_order_;
    ++to.first;
    expect_word_of_unkept();
  }
  std::uint64_t digest_with(const Flow& flow, std::span<const std::byte> head,
                            std::span<const std::byte> bytes) const {
    // Only a message sent again can differ.
    if (!options_.retain || flow.digest == 0) return 0;
    return digest_after(flow.digest, flow.next(), head, bytes);
  }
  void expect_word(const Place& place, bool delivers) {
    unheard_.emplace_back(place, delivers);
    ++frames_out_;
  }
  void expect_word_of_unkept() {
    if (unheard_.empty() || unheard_[unheard_.size() - 1].unkept == 0) {
      unheard_.emplace_back(Place{}, true);
    }
    ++unheard_[unheard_.size() - 1].unkept;
    ++frames_out_;
  }
  void keep_what_left(Flow& to, std::span<const std::byte> head, std::span<const std::byte> bytes,
                      std::uint64_t digest);
  bool is_large(std::span<const std::byte> bytes) const {
    return bytes.size() > options_.eager_limit;
  }
  Flow& flow(const FlowKey& key) {
    if (Flow* const same = flows_.latest(key)) return *same;
    if (flows_.is_crowded()) rest_idle_flows();
    return flows_.at(key);
  }
  void rest_idle_flows();
  void answer(Flow& flow, Serial serial, const RemoteRegion& region);
  void answer_what_was_asked(Flow& flow);
  bool comes_by_itself(std::span<const std::byte> bytes) const;
  std::uint64_t cost_of_push(std::span<const std::byte> bytes) const {
    return credit_cost(is_large(bytes) ? 0 : bytes.size());
  }
  void queue_push(const Place& place);
  void leave_queue(Kept& kept) {
    if (std::exchange(kept.is_queued, false)) --queued_;
  }
  void drop_unneeded_pushes();
  void on_had(Flow& of, const Had& had);
  void note_had(Flow& flow, Serial serial);
  void forget_had();
  void compare(const Name& message, std::uint64_t digest, ToldDigest had);
  bool is_needed_push(const Kept* kept) const {
    return kept != nullptr && !kept->arrived && kept->sent_in != connection_ &&
           kept->answered_in != connection_;
  }
  std::optional<std::span<const std::byte>> bytes_of(const Place& place);
  bool pump_answer(const Answer& answer, TransmitQueue& out);
  bool pump_small(const Place& place, TransmitQueue& out);
  Pumped pump_writing(TransmitQueue& out);
  Pumped pump_written(Answer& answer, std::span<const std::byte> bytes, TransmitQueue& out);
  Pumped pump_writes(Answer& answer, std::span<const std::byte> bytes, TransmitQueue& out);
  bool pump_push(const Place& place, TransmitQueue& out);
  void send_body(Flow& flow, Serial serial, Kept& kept, bool asked, TransmitQueue& out);
  static std::uint64_t digest_of(const Place& place);
  void send_about(FrameKind kind, const Place& place, std::uint64_t size, ToldDigest digest,
                  TransmitQueue& out);
  std::uint32_t take_write(const Place& place, std::uint64_t bytes);
  /// Deals with messages that the peer is known to have, until at most `left_over` are left: they
  /// go to the archive. It takes as long as to send them, and no receive should wait for it.
  void settle(std::uint64_t left_over);
  void arrived(const Place& place);
  void finish(Kept& kept, Failure failure);
  bool may_be_reused(const Flow& flow, Serial serial, const Kept& kept) const;
  void release(const Flow& flow, Serial serial, Kept& kept);
  void drop_front(Flow& flow);
  void lose_uncopied();
  Result<void> resume(const StoredSends& from);
  bool keep_stored(Flow& flow, std::span<const std::byte> bytes, std::uint64_t before,
                   std::uint64_t after);
  bool is_needed(const Flow& flow, Serial serial) const {
    return serial >= flow.forgotten && (options_.retain || serial < flow.needed_until);
  }
  void push_again(bool all);

  const MessageOptions& options_;
  NodeId peer_;
  BodyPool& bodies_;
  Operations& operations_;
  FlowTable<Flow> flows_;
  GrowingRing<Push> pushes_;
  std::uint64_t pushes_cost_ = 0;  // of all of them
  std::size_t queued_ = 0;
  Name last_;
  std::optional<Name> diverged_;
  GrowingRing<Answer> answers_;
  GrowingRing<Answer> writing_;   // those of `answers_` that take writes
  GrowingRing<Unheard> unheard_;  // in the order of their frames, which a credit counts
  GrowingRing<Place> uncopied_;   // for which the outbox has no room
  std::vector<Body> dying_;       // until the queue of the fabric is empty
  std::vector<Write> writes_;
  std::uint32_t free_write_ = 0xffff'ffff;
  WriteWindow window_;
  const Flow* named_ =
      nullptr;             // of the last eager frame of this connection; null: none, or at rest
  Serial named_next_ = 0;  // and the serial after its
  std::uint64_t next_order_ = 1;
  std::uint64_t granted_ = 0;  // of this connection
  std::uint64_t spent_ = 0;
  std::uint64_t heard_ = 0;       // frames that the peer has counted
  std::uint64_t settled_ = 0;     // those of them that `settle` has dealt with
  std::uint64_t frames_out_ = 0;  // that it has not counted
  std::size_t pending_ = 0;       // operations
  std::uint32_t connection_ = 0;  // counts them; 0 before the first
  bool up_ = false;
  bool is_lossless_ = false;  // the connection
  bool keeps_ = true;         // copies of messages that left
  bool hears_had_ = true;     // what the peer has; false: another life of it has begun
  std::uint64_t let_go_ = 0;  // up to this frame of the connection, messages may have no copy
  bool has_unkept_ = false;   // messages without a copy were on a connection when it ended
  bool has_lost_ = false;
  bool loses_uncopied_ = false;  // nothing is kept any more, and there was no memory for copies
};

}  // namespace weft::message

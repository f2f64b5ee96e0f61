// SPDX-License-Identifier: Apache-2.0
// PairIn: the messages that this process receives from one other: the inbox of paper 4 (4.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/growing_ring.hpp"
#include "core/message/body_pool.hpp"
#include "core/message/flow_table.hpp"
#include "core/message/frames.hpp"
#include "core/message/history.hpp"
#include "core/message/operations.hpp"
#include "core/message/options.hpp"
#include "core/message/sink.hpp"
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

  /// All messages of the flow from now on go to `sink`, which outlives this. Nothing is received
  /// from it otherwise.
  void listen(const FlowKey& key, Sink& sink, bool is_awaited);

  /// A connection to that life of the peer begins; returns the credit that a hello shall grant.
  std::uint64_t begin(Incarnation life);
  /// The peer has said hello. `pull`: its messages from before this connection come only when asked
  /// for.
  void connected(bool pull);
  /// The same from now on, within the connection.
  void pull();
  void disconnected() { up_ = false; }

  /// As `on_eager`, of the next message for the sink that had the last one, where nothing else is
  /// to be done about it. False: nothing has happened.
  bool take_next(std::span<const std::byte> frame) {
    if (hot_ == nullptr) return false;
    Flow& from = *hot_;
    const Serial serial = from.next - 1;
    const auto header = header_of_next(frame, serial);
    if (!header) return false;
    const std::uint64_t cost = credit_cost(frame.size() - header->bytes);
    // A receive is posted, and its message was not requested.
    const bool is_next = from.connection == connection_ && serial >= from.pushed_from &&
                         from.has_unasked && !from.posted.front().asked && from.early.empty() &&
                         spent_ + cost <= granted_ && has_said(from, serial, header->digest);
    if (!is_next) return false;
    if (!is_hot_named_) name(from);
    named_next_ = serial + 1;
    ++received_;
    spent_ += cost;
    freed_ += cost;
    ++from.next;
    from.sink->take(frame.subspan(header->bytes));
    check_credit();
    return true;
  }
  /// False: the peer sent something impossible.
  bool on_eager(const EagerFrame& frame);
  bool on_next(const NextFrame& frame);
  bool on_announce(const Frame& frame);
  bool on_written(const Frame& frame);
  void on_gone(const Frame& frame);
  void on_too_long(const Frame& frame);
  /// A message of this process to itself.
  void deliver(const FlowKey& key, Serial serial, std::span<const std::byte> body);

  /// This process's place in each flow.
  void store(StoredPair& into);
  /// As if all before that had been received by this process, which has received nothing.
  void resume(const StoredPair& from);
  /// Later lives go on from there: the peer need not keep messages before that.
  void forget(std::span<const StoredReceives> before);
  /// A message has come that nobody has received yet.
  bool holds_any() const;
  /// This process has started to receive something.
  /// Receives so far, in all flows.
  std::uint64_t started() const;
  bool has_begun() const { return has_begun_; }

  /// Puts frames into the queue while there is room. False when room was short.
  bool pump(TransmitQueue& out);
  /// Returns whether there is anything to say.
  bool has_word() const {
    return owes_credit_ || !pending_gets_.empty() || !pending_acks_.empty() ||
           !pending_forgets_.empty() || !pending_had_.empty() || owes_diverged_;
  }
  void fail_all(Failure failure);
  /// Operations wait for the peer.
  bool waits() const { return posted_ > sinks_; }
  /// Sinks that are awaited do.
  bool listens() const { return awaited_sinks_ > 0; }
  /// Returns how many messages were looked at to find others: nearly none.
  std::uint64_t looks() const { return looks_; }
  std::size_t active_flows() const { return flows_.active(); }

 private:
  /// The sender keeps track of so many frames before it must be told that they came.
  static constexpr std::uint64_t most_untold = 256;
  /// Messages that a sink asks for at a time, where each has to be asked for and many come.
  static constexpr Serial most_ahead = 64;
  /// No message has so high a number: the connection has had no eager frame.
  static constexpr Serial nowhere = ~Serial{0};

  /// A receive that was started. They are for consecutive messages, so that the place in the flow's
  /// ring follows from the serial; a finished one leaves when all before it have.
  struct Posted {
    Operation operation{};  // none: it is over
    std::span<std::byte> into;
    RemoteRegion region;
    bool asked = false;
  };
  /// A message that came, or was announced, before it was wanted.
  struct Early {
    Serial serial = 0;
    std::uint64_t credit = 0;  // to give back; 0: announced on an earlier connection
    Body body;
    bool is_announced = false;
  };
  struct Flow {
    Flow(const FlowKey& k, const FlowPlace& from)
        : key(k),
          next(from.next),
          digest_of(from.next),
          digest(static_cast<ToldDigest>(from.digest)),
          before_of(from.next),
          before(digest),
          forgotten(from.forgotten) {}
    bool is_idle() const { return posted.empty() && early.empty(); }
    FlowPlace place() const {
      // A sink waits for the next one all the time.
      const Serial to_come = next - (sink != nullptr ? posted.size() : 0);
      return {.next = to_come, .digest = digest_of == to_come ? digest : 0, .forgotten = forgotten};
    }
    void shrink() {
      if (posted.empty()) posted = GrowingRing<Posted>();
      if (early.empty()) early = GrowingRing<Early>();
    }

    FlowKey key;
    Serial next = 0;               // of the receive to come
    std::uint32_t connection = 0;  // that `pushed_from` speaks of
    bool has_unasked = false;      // in `unasked_flows_`
    bool in_use = false;           // FlowTable
    Serial pushed_from = 0;        // from here on messages come by themselves
    Serial unasked_from = 0;       // with `has_unasked`: those before have been asked for
    Serial digest_of = 0;          // messages before this one
    ToldDigest digest = 0;         // as their sender said; 0: unknown
    Serial before_of = 0;          // the same when the peer's present life began, or the flow
    ToldDigest before = 0;         //   was last at rest: a later message may come first
    Serial forgotten = 0;          // as last reported to the peer
    Sink* sink = nullptr;          // with it, one is posted, again and again
    Serial asked_until = 0;        // with a sink: those before were, in this connection
    Serial ahead = 1;              // with a sink: how many it asks for at a time
    bool asks_singly = false;      // with a sink: what it asked for ahead did not come
    bool is_awaited = false;       // with a sink: see `listens`
    GrowingRing<Posted> posted;    // those before `next`; the first is not over
    GrowingRing<Early> early;      // from `next` on, by their serials
  };
  struct Place {
    Flow* flow = nullptr;
    Serial serial = 0;
  };

  /// All messages of the flow before that one have come.
  struct Had {
    FlowKey key;
    Serial serial = 0;
    ToldDigest digest = 0;  // of those; 0: unknown
  };

  Flow& flow(const FlowKey& key) {
    if (Flow* const same = flows_.latest(key)) return *same;
    if (flows_.is_crowded()) rest_idle_flows();
    return flows_.at(key);
  }
  struct KnownHeader {
    std::size_t bytes = 0;
    ToldDigest digest = 0;
  };
  /// None: it is not that of the hot flow's message `serial`.
  std::optional<KnownHeader> header_of_next(std::span<const std::byte> frame, Serial serial) const {
    std::uint64_t start = 0;
    if (frame.size() < sizeof start) return std::nullopt;
    std::memcpy(&start, frame.data(), sizeof start);
    if (static_cast<std::uint32_t>(start) == next_start(serial) && is_hot_named_ &&
        named_next_ == serial) {
      return KnownHeader{sizeof start, static_cast<ToldDigest>(start >> 32)};
    }
    FrameHeader header;
    if (start != hot_start_ || frame.size() < sizeof header) return std::nullopt;
    std::memcpy(header.data(), frame.data(), sizeof header);
    if (header[1] != hot_->key.generation.value() || header[2] != serial) return std::nullopt;
    if (header[3] >> 32 != 0) return std::nullopt;
    return KnownHeader{sizeof header, static_cast<ToldDigest>(header[3])};
  }
  /// The last eager frame was of that flow.
  void name(const Flow& flow) {
    named_ = flow.key;
    is_hot_named_ = &flow == hot_;
  }
  void rest_idle_flows();
  Posted* find_posted(Flow& flow, Serial serial);
  std::size_t place_of_early(Flow& flow, Serial serial);
  Early* find_early(Flow& flow, Serial serial);
  void free_announced();
  Early& insert_early(Flow& flow, Serial serial);
  void take_early(Flow& flow, Serial serial, Posted& posted);
  Serial pushed_from(Flow& flow);
  void note_pushed(Flow& flow, Serial serial);
  /// False: the peer's present life says something else there than an earlier one did.
  bool has_said(Flow& flow, Serial serial, ToldDigest digest) {
    if (diverged_) return false;
    if (digest == 0) return true;
    if (serial < flow.digest_of) return has_repeated(flow, serial, digest);
    flow.digest_of = serial + 1;
    flow.digest = digest;
    return true;
  }
  bool has_repeated(Flow& flow, Serial serial, ToldDigest digest);
  void ask_if_needed(Flow& flow, Serial serial, Posted& posted);
  void ask(Flow& flow, Serial serial, Posted& posted);
  void ask_for_sink(Flow& flow, Serial serial);
  void miss_ahead(Flow& flow, Serial serial);
  void ask_for_all();
  void tell_what_came();
  void tell_what_came(Flow& flow);
  bool spend(std::uint64_t cost);
  void give_back(std::uint64_t cost);
  void fill(Flow& flow, Posted& posted, std::span<const std::byte> body);
  void finish(Flow& flow, Posted& posted, std::uint64_t size, Failure failure);
  void pour(Flow& flow, Posted& posted, std::span<const std::byte> body);
  void pour_early(Flow& flow);
  void tell_early(const Flow& flow, std::uint64_t bytes);
  void come(const Posted& posted);
  void check_credit() {
    if (!up_) return;
    const std::uint64_t most = credit_cost(options_.eager_limit);
    const std::uint64_t granted_now = base_ + freed_;
    if (granted_now - granted_ >= window_ / 4 || received_ - received_told_ >= most_untold) {
      owes_credit_ = true;
    }
    if (granted_ - spent_ < most) check_short_credit(granted_now);
  }
  void check_short_credit(std::uint64_t granted_now);
  bool pump_gets(TransmitQueue& out);
  bool say(const Frame& frame, TransmitQueue& out);

  const MessageOptions& options_;
  NodeId peer_;
  std::uint64_t window_;
  BodyPool& bodies_;
  Operations& operations_;
  FlowTable<Flow> flows_;
  Flow* hot_ = nullptr;                // its sink had the last message, and waits for another
  std::uint64_t hot_start_ = 0;        // the first word of the header of its messages
  FlowKey named_;                      // of the last eager frame of this connection
  Serial named_next_ = nowhere;        // and the serial after its
  bool is_hot_named_ = false;          // `named_` is the hot flow's
  std::vector<Flow*> unasked_flows_;   // with receives whose messages were not requested
  GrowingRing<Place> pending_gets_;    // to be sent
  GrowingRing<Place> pending_acks_;    // likewise
  GrowingRing<Name> pending_forgets_;  // likewise
  GrowingRing<Had> pending_had_;       // likewise
  std::uint64_t looks_ = 0;
  std::size_t posted_ = 0;
  std::size_t sinks_ = 0;  // of the posted
  std::size_t awaited_sinks_ = 0;
  std::size_t unasked_ = 0;  // of the posted
  std::uint64_t spent_ = 0;  // by the peer, in this connection
  std::uint64_t freed_ = 0;
  std::uint64_t base_ = 0;     // granted when the connection began
  std::uint64_t granted_ = 0;  // as last reported to the peer
  std::uint64_t received_ = 0;
  std::uint64_t received_told_ = 0;
  std::uint64_t held_ = 0;  // credit's worth of the messages in the inbox, of all connections
  std::uint32_t connection_ = 0;
  bool up_ = false;
  bool pull_ = false;
  bool owes_credit_ = false;
  bool owes_diverged_ = false;
  bool has_begun_ = false;
  bool tells_ = false;  // the peer's present life what it has received, on each connection
  Incarnation life_{};  // of the peer
  /// The first message that differs from the one an earlier life of the peer sent; the pair then
  /// ignores the peer.
  std::optional<Name> diverged_;
};

}  // namespace weft::message

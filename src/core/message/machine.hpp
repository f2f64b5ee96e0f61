// SPDX-License-Identifier: Apache-2.0
// MessageMachine: one process's message layer (paper 4, chapter 4), over any fabric. Names
// messages, keeps and repeats them, survives that peers die and come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "core/message/body_pool.hpp"
#include "core/message/departure.hpp"
#include "core/message/history.hpp"
#include "core/message/operations.hpp"
#include "core/message/options.hpp"
#include "core/message/outstanding.hpp"
#include "core/message/pair_in.hpp"
#include "core/message/pair_out.hpp"
#include "core/transmit/transmit_queue.hpp"

namespace weft::message {

/// The memory in which the driver keeps a machine's sent messages.
struct OutboxRoom {
  ByteCount limit = ByteCount(std::uint64_t{1} << 60);
  BodyMemory* memory = nullptr;  ///< outlives the machine; null: the heap
};

/// The driver gives it completions of the fabric and the time, calls `pump` and posts the
/// operations that it puts into the queue. One thread.
class MessageMachine {
 public:
  /// The fabric and the inbox may lower `options.eager_limit`.
  MessageMachine(const MessageOptions& options, Instant now, const OutboxRoom& outbox = {});
  MessageMachine(const MessageMachine&) = delete;
  MessageMachine& operator=(const MessageMachine&) = delete;

  /// Starts to send the flow's next message. `bytes` stay as they are until it is done.
  Operation send(NodeId to, const FlowKey& flow, std::span<const std::byte> bytes);
  /// As `send`, of a small message that nothing delays: `head`, at most `longest_head` bytes, and
  /// `bytes` behind it. `post(std::span<const std::byte> header)` hands the header, which includes
  /// `head`, and `bytes` to the fabric, and says whether the fabric took them; the rest of the work
  /// is done while they are on their way. The driver's queue is empty. None: nothing has happened,
  /// and the caller uses `send`.
  template <class Post>
  std::optional<Operation> send_at_once(NodeId to, const FlowKey& flow,
                                        std::span<const std::byte> head,
                                        std::span<const std::byte> bytes, Post&& post) {
    PairOut* const out = idle_pair(to);
    Peer& peer = peers_[to.value()];
    if (out == nullptr || outstanding_.room(peer.outstanding) == 0) return std::nullopt;
    auto operation = out->send_at_once(flow, head, bytes, std::forward<Post>(post));
    if (operation) begin_operations(peer, 1);
    return operation;
  }
  /// The same by a lane of the fabric to that peer. False: nothing has happened.
  bool send_in(SendLane& lane, NodeId to, const FlowKey& flow, std::span<const std::byte> head,
               std::span<const std::byte> bytes) {
    PairOut* const out = idle_pair(to);
    return out != nullptr && out->send_in(lane, flow, head, bytes);
  }
  /// Returns the service level of operations to that peer.
  ServiceLevel level_to(NodeId peer) const { return options_.level_to(peer); }
  /// From now on the flow's messages, all of at most `eager_limit` bytes, go to `sink` as they
  /// come: nothing else receives from the flow. `sink` outlives this. `is_awaited`: a peer that was
  /// here and stays away fails it in time, as it does receives. A peer that never came does not.
  void listen(NodeId from, const FlowKey& flow, Sink& sink, bool is_awaited = false);
  /// From now on `watch` hears of messages that nothing receives yet. It outlives this, or the call
  /// with null.
  void watch_early(EarlyWatch* watch) { options_.early_watch = watch; }
  /// Some peer to which this process listens has no connection.
  bool misses_listened() const { return listened_down_ > 0; }
  /// Starts to receive the flow's next message. For more than `eager_limit` bytes `region` is
  /// `into`, opened to the fabric; it stays so until it is done.
  Operation receive(NodeId from, const FlowKey& flow, std::span<std::byte> into,
                    const RemoteRegion& region = {});
  /// See MessageOptions::copies_long; of messages sent from now on.
  void copy_long(bool copies) { options_.copies_long = copies; }
  bool is_done(Operation operation) const { return operations_.is_done(operation); }
  /// Returns the size of the message that was too long for a finished receive; else nothing.
  std::optional<std::uint64_t> excess(Operation operation) const {
    return operations_.excess(operation);
  }
  /// Returns what is known of an operation under way; null when it completed at its start. Valid
  /// until another one is started or taken.
  const OperationState* find(Operation operation) const { return operations_.find(operation); }
  /// The result of a finished operation. It is forgotten when another one is started or taken.
  const OperationState& take(Operation operation) { return operations_.take(operation); }

  void on_completion(Instant now, const Completion& completion, TransmitQueue& out) {
    const NodeId id = completion.peer;
    if (id.value() >= peers_.size()) return;
    if (completion.kind == CompletionKind::received) {
      Pair* const p = peers_[id.value()].pair.get();
      if (p != nullptr && p->greeted && p->in.take_next(completion.data)) return on_heard(id, *p);
    }
    on_other_completion(now, completion, out);
  }
  /// Puts frames to send into the queue. False when room was short: call it again when the fabric
  /// has taken some.
  bool pump(TransmitQueue& out);
  /// Parts of large messages wait until others of them are over.
  bool is_writing() const { return writing_ > 0; }
  /// Operations that are not done fail: nothing writes into receive buffers any more.
  void cancel_all();
  /// Operations that have waited for too long for the peer of the next deadline fail, and so do
  /// sinks. Other peers' deadlines may have passed, too: the caller may excuse each.
  void on_deadline(Instant now);
  Instant next_deadline();
  /// Returns the peer whose deadline has passed, which `on_deadline` would call gone.
  std::optional<NodeId> overdue(Instant now);
  /// A peer without a connection is known to live: it is not gone for longer than from `now` on.
  void excuse(Instant now, NodeId peer);
  /// Service levels of the job's processes from now on, by their numbers; none: a process has none
  /// of its own. Operations handed to the fabric later use the level that JobLevels gives.
  void set_levels(std::span<const std::optional<std::uint8_t>> of_processes);
  /// With MessageOptions::retain: messages are not kept any more, since whenever a process dies all
  /// are started anew from now on. `newest_life`: of each peer, whether this process has met it or
  /// not. Messages that were kept are dropped, except those for later lives, which may not have
  /// asked for all yet.
  void stop_keeping(const std::function<Incarnation(NodeId)>& newest_life);
  /// Returns how many peers were looked at for deadlines so far.
  std::uint64_t deadline_looks() const { return deadline_looks_; }
  /// And how many messages, to find those that came or are wanted.
  std::uint64_t looks() const;
  /// Flows that are not at rest.
  std::size_t active_flows() const;

  /// The state that `resume` needs in a later life. Errors: operations under way; messages to
  /// itself that were not received.
  Result<std::vector<std::byte>> store();
  /// Something was sent or received.
  bool has_begun() const;
  const std::string& run() const { return options_.run; }
  /// Returns how many sends and receives were started, those before the place that it went on from
  /// included.
  std::uint64_t place() const;
  /// An earlier life of this process stored that in this run of the job.
  bool knows(std::span<const std::byte> stored) const;
  /// Before anything else in a later life: it goes on from where an earlier one was stored. Errors:
  /// it is another's or another run's (not_found), damaged, too late, or there is no memory for its
  /// kept messages, which are restored even beyond the limit of the outbox.
  Result<void> resume(std::span<const std::byte> stored);
  /// The last state from `store` outlives this process: its later lives go on from there, so that
  /// the others need not keep messages received by then.
  void commit();
  /// Not node 0, before its program begins: asks node 0 whether all programs are over, since
  /// earlier lives of this process may have got through.
  void ask_to_begin();
  /// It was told to, or all programs are over.
  bool may_begin() const { return departure_.answered(); }
  /// This process's program is over. It goes on being turned until `may_leave`.
  void finish();
  /// Node 0, when all programs are over: the others may hear of it.
  void let_go();
  /// All programs are over.
  bool all_finished() const { return departure_.decided(); }
  /// And every process that has to know it does.
  bool may_leave() const { return departure_.over(); }
  /// A peer that is gone for good, without which this process would wait for ever to leave.
  std::optional<NodeId> missed() const { return missed_; }

  std::size_t eager_limit() const { return options_.eager_limit; }
  /// Messages to that process that wait here, since it reads more slowly than this one sends.
  std::size_t queued_to(NodeId id) const {
    const Peer& peer = peers_[id.value()];
    return peer.pair != nullptr ? peer.pair->out.queued() : 0;
  }
  /// The last message that `send` took for that process, and whether one is among those.
  Name last_sent_to(NodeId id) const {
    const Peer& peer = peers_[id.value()];
    return peer.pair != nullptr ? peer.pair->out.last() : Name{};
  }
  bool is_queued(NodeId id, const Name& message) const {
    return queued_to(id) > 0 && peers_[id.value()].pair->out.is_queued(message);
  }
  /// Bytes of messages that are kept for others, and that wait to be received.
  ByteCount outbox_bytes() const { return sent_bodies_.in_use(); }
  ByteCount inbox_bytes() const { return received_bodies_.in_use(); }
  /// A message for which the outbox has no room: its receiver, and the peer for which most bytes
  /// are kept: its checkpoints make room soonest.
  struct FullOutbox {
    NodeId receiver{};
    NodeId most_kept_for{};
    ByteCount kept_for_it;
    ByteCount limit;
  };
  bool waits_for_room() const { return !waiting_for_room_.empty(); }
  /// One of those that wait. It looks at all that is kept. `waits_for_room` holds.
  FullOutbox full_outbox() const;
  /// Frames that could not be: their connections were ended.
  std::uint64_t refused_frames() const { return refused_; }
  /// Peers whose connection shall be ended, since they sent something impossible:
  /// Fabric::remove_peer.
  std::span<const NodeId> offenders() const { return offenders_; }
  /// The message in which this process differs from its earlier life: the job cannot go on.
  struct Divergence {
    NodeId receiver{};
    FlowKey flow;
    Serial serial = 0;
  };
  const std::optional<Divergence>& divergence() const { return divergence_; }
  /// A living peer, messages to which are lost since a connection ended that should not have: the
  /// job cannot go on.
  std::optional<NodeId> lost_link() const { return lost_link_; }
  bool is_up(NodeId peer) const { return peers_[peer.value()].up; }
  /// A process that joins the job only now: it is not gone for longer than from `now` on.
  void expect(Instant now, NodeId peer) {
    Peer& p = peers_[peer.value()];
    if (!p.up && !p.missing) p.down_since = now;
  }
  NodeId self() const { return options_.self; }
  std::uint32_t nodes() const { return options_.nodes; }

 private:
  struct Pair {
    Pair(const MessageOptions& options, NodeId id, std::uint64_t window, BodyPool& sent,
         BodyPool& received, Operations& operations)
        : out(options, id, sent, operations), in(options, id, window, received, operations) {}
    PairOut out;
    PairIn in;
    bool greeted = false;  // the peer said hello
    bool owes_hello = false;
    std::uint64_t granted = 0;  // to say in it
    bool owes_pull = false;
    bool is_writing = false;  // counted in `writing_`
    // Earlier messages come only when the peer asks for it: it has another
    // life than the one that was heard first, or this process went on from where it was stored.
    bool pulls = false;
    bool went_on = false;
    // The life that heard this process's hello first: it said something behind its own. A
    // connection that the peer never saw, or both lost at once, changes nothing.
    std::optional<Incarnation> heard;
    bool waits_for_room = false;
  };
  /// Most pairs of a large job never exchange a message: their state is created by the first one.
  struct Peer {
    std::unique_ptr<Pair> pair;
    Incarnation incarnation{};
    Incarnation newest{};  // there is that life of it, which may be another one than `incarnation`
    Instant down_since{};
    bool up = false;
    bool has_been_up = false;
    bool dirty = false;
    bool missing = false;  // since `down_since`, and in `missing_`
    bool listened = false;
    bool lossless = false;        // its connection
    bool stalled = false;         // until some of its operations complete
    std::size_t outstanding = 0;  // operations of the fabric
  };
  /// A peer without a connection that something waits for.
  struct Missing {
    Instant since{};
    NodeId id{};
  };
  struct IsLater {
    bool operator()(const Missing& a, const Missing& b) const {
      return a.since != b.since ? a.since > b.since : a.id > b.id;
    }
  };

  Pair& pair(NodeId id);
  /// One to which nothing is to be said; else null.
  PairOut* idle_pair(NodeId id) {
    WEFT_CHECK(id.value() < options_.nodes, "node {} of {}", id.value(), options_.nodes);
    const Peer& peer = peers_[id.value()];
    const bool idle =
        peer.up && !peer.dirty && !peer.stalled && peer.pair != nullptr && peer.pair->greeted;
    return idle ? &peer.pair->out : nullptr;
  }
  void touch(NodeId id) {
    if (!std::exchange(peers_[id.value()].dirty, true)) dirty_.push_back(id);
  }
  void begin_connection(NodeId id, Pair& pair);
  void on_up(const Completion& up);
  void on_down(Instant now, NodeId id, TransmitQueue& out);
  void refuse(NodeId id);
  void on_operation_over(Instant now, const Completion& completion);
  void on_other_completion(Instant now, const Completion& completion, TransmitQueue& out);
  bool on_bytes(NodeId from, std::span<const std::byte> bytes);
  bool on_frame(NodeId from, const Frame& frame);
  void on_heard(NodeId from, Pair& pair) {
    if (!pair.heard) pair.heard = peers_[from.value()].incarnation;
    if (pair.in.has_word() || pair.out.has_work()) touch(from);
  }
  void note_writing(Pair& pair);
  void note_divergence(NodeId receiver, const Pair& pair) {
    const std::optional<Name>& found = pair.out.diverged();
    if (found && !divergence_) divergence_ = Divergence{receiver, found->flow, found->serial};
  }
  bool on_hello(NodeId from, const Frame& hello);
  bool on_message_frame(NodeId from, Pair& pair, const Frame& frame);
  void use_room();
  bool is_ours(const History& history) const;
  bool on_departure_frame(NodeId from, FrameKind kind);
  void begin_operations(Peer& peer, std::size_t operations) {
    peer.outstanding += operations;
    outstanding_.begin(operations);
  }
  void end_operations(Peer& peer, std::size_t operations) {
    peer.outstanding -= operations;
    outstanding_.end(operations);
  }
  bool pump_within_share(NodeId id, TransmitQueue& out);
  bool pump_peer(NodeId id, TransmitQueue& out);
  bool pump_departure(NodeId id, TransmitQueue& out);
  bool say(NodeId to, const Frame& frame, std::uint64_t context, TransmitQueue& out);
  bool is_waited_for(NodeId id) const;
  void miss(NodeId id);
  void miss_all();
  void drop_found();
  Duration patience() const;

  MessageOptions options_;
  BodyPool sent_bodies_, received_bodies_;
  Operations operations_;
  std::vector<Peer> peers_;
  OutstandingOperations outstanding_;
  Departure departure_;
  std::vector<std::pair<NodeId, std::vector<StoredReceives>>> stored_;  // last, not committed yet
  std::vector<NodeId> waiting_for_room_;
  std::optional<Divergence> divergence_;
  std::optional<NodeId> lost_link_;
  std::size_t writing_ = 0;  // pairs
  std::vector<NodeId> dirty_;
  std::size_t listened_down_ = 0;  // peers
  /// The longest missing one first. Messages that came back stay in it.
  std::priority_queue<Missing, std::vector<Missing>, IsLater> missing_;
  std::uint64_t deadline_looks_ = 0;
  std::vector<NodeId> offenders_;
  std::optional<NodeId> missed_;
  std::uint64_t refused_ = 0;
};

}  // namespace weft::message

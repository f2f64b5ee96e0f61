// SPDX-License-Identifier: Apache-2.0
// Messenger: drives a process's message machine over a fabric, from calls that block.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/message/machine.hpp"
#include "core/transmit/transmit_queue.hpp"
#include "process/keeping_watch.hpp"
#include "weft/fabric.hpp"
#include "weft/message.hpp"
#include "weft/result.hpp"

namespace weft {

/// How a process lets time pass: in reality, or in a simulation.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual Instant now() = 0;
  /// The last result of `now`, once, for one turn without a look at the clock where that costs
  /// much. None: look.
  virtual std::optional<Instant> recently() { return std::nullopt; }
  /// A turn did something at `now`.
  virtual void busy(Instant now) = 0;
  /// A turn did nothing: returns when the fabric may have something, at `deadline`, or earlier.
  virtual void idle(Instant now, Fabric& fabric, Instant deadline) = 0;
  /// A program asked whether something has happened, and it had not: it may ask again at once.
  virtual void asked_in_vain() {}
  /// This turn sent, or got, a message that brings no program on: processes that wait say in what.
  virtual void told_of_wait() {}
  /// Returns how often a turn looks at the fabric before it does the rest of its work.
  virtual int looks_per_turn() const { return 16; }
  /// A source of news from outside the fabric, which the messenger polls; an error ends every wait.
  virtual Result<void> news(Instant) { return {}; }
  /// It said that all programs are over, and everybody may go.
  virtual bool is_over() const { return false; }
  /// This process waits for that peer, which is gone. Called again and again.
  virtual void miss(Instant now, NodeId peer) {
    (void)now;
    (void)peer;
  }
  /// Later lives of this process go on from that place, `MessageHistory::place`, or a later one.
  virtual void stored(std::uint64_t place) { (void)place; }
};

/// Knows for which messages a process waits, of those that go to sinks: the messenger sees only
/// that it listens to all senders.
class WantedPeers {
 public:
  using Visit = std::function<void(NodeId)>;
  /// Peers without which the process cannot go on, each once or more often.
  virtual void for_each_wanted(const Visit& visit) const = 0;

 protected:
  ~WantedPeers() = default;
};

/// One thread. Fabric and waiter outlive it.
class Messenger final : private MessageHistory {
 public:
  Messenger(Fabric& fabric, Waiter& waiter, message::MessageOptions options,
            const message::OutboxRoom& outbox = {});
  ~Messenger() override;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  Operation start_send(NodeId to, const message::FlowKey& flow, std::span<const std::byte> bytes);
  /// Sends a small message that nothing delays: `head`, at most message::longest_head bytes, and
  /// `bytes` behind it. False: nothing has happened, and the caller uses `start_send`.
  bool send_now(NodeId to, const message::FlowKey& flow, std::span<const std::byte> head,
                std::span<const std::byte> bytes) {
    if (!out_.tx.empty()) return false;
    if (SendLane* const lane = to.value() < lanes_.size() ? lanes_[to.value()] : nullptr) {
      if (machine_.send_in(*lane, to, flow, head, bytes)) return true;
    }
    return post_at_once(to, flow, head, bytes);
  }
  /// Returns whether messages to that node are written straight into memory that it shares.
  bool has_lane(NodeId to) const {
    return to.value() < lanes_.size() && lanes_[to.value()] != nullptr;
  }
  /// From now on the flow's messages go to `sink`; see MessageMachine.
  void listen(NodeId from, const message::FlowKey& flow, message::Sink& sink,
              bool is_awaited = false) {
    machine_.listen(from, flow, sink, is_awaited);
  }
  /// From now on it asks whom this process waits for besides the peers of operations. It outlives
  /// this, or the call with null.
  void watch_wanted(const WantedPeers* wanted) { wanted_ = wanted; }
  /// When the fabric cannot register the memory, nothing is received, and `wait` says why.
  Operation start_receive(NodeId from, const message::FlowKey& flow, std::span<std::byte> into);
  /// Turns until it is done; see Communicator::wait.
  Result<std::size_t> wait(Operation operation);
  /// Returns whether `wait` would return at once. Without a turn.
  bool is_ready(Operation operation) const {
    return (!refused_.empty() && is_refused(operation)) || machine_.is_done(operation);
  }
  /// Returns the size of the message of a receive that is ready and for which it was too long, so
  /// that `wait` fails; else nothing.
  std::optional<std::uint64_t> excess(Operation operation) const {
    if (!refused_.empty() && is_refused(operation)) return std::nullopt;
    return machine_.excess(operation);
  }
  /// Turns until one of them is ready, or `also` is true, which a sink may set. False: neither
  /// happened for that long. Errors: the job is aborted, or over.
  Result<bool> wait_any(std::span<const Operation> operations, const bool& also = never,
                        Duration patience = Duration::max());
  /// The same until that message to that process, or so many others, need not wait for it to read
  /// on
  /// (`MessageMachine::queued_to`), too.
  Result<bool> wait_for_queue(NodeId to, const message::Name& message, std::size_t most,
                              std::span<const Operation> operations, const bool& also,
                              Duration patience);
  /// Turns once, and does all that `wait` does in a turn but sleep.
  bool is_done(Operation operation);
  /// Turns once in the same way, independently of any operation. The caller may wait for those that
  /// WantedPeers names: they are missed.
  Result<void> turn_once();
  /// The program asked for what `turn_once` could not bring.
  void asked_in_vain() { waiter_.asked_in_vain(); }
  /// See Waiter::told_of_wait.
  void told_of_wait() { waiter_.told_of_wait(); }
  /// Before the program begins, where an earlier life of this process may have got through: asks
  /// node 0. False: all programs are over. Errors: node 0 is gone for good; word from outside.
  Result<bool> ask_to_begin();
  /// Tells the others that this process's program is over, and turns until everybody's is and all
  /// know. `serve` is called after each turn until then: others' programs may still need answers.
  /// `on_over` is called when everybody's is, before anybody is told. Errors: a process that is
  /// gone for good; word from outside.
  Result<void> leave(
      const std::function<void()>& on_over, const std::function<void()>& serve = [] {});
  /// Goes on giving others the messages kept for them, until word from outside says that all
  /// programs are over. `serve` is called after each turn. Errors: word from outside.
  Result<void> serve_until_over(const std::function<void()>& serve = [] {});

  /// Ends this process's part in the job: every wait ends with that error. A sink may call it.
  void fail(Error why) {
    if (!failure_) failure_ = std::move(why);
  }
  /// Returns the error of a failed sink of that peer's messages.
  Error failure_of(message::Failure failure, NodeId peer) const;
  /// True when all programs of the job are over.
  bool is_over() const { return machine_.all_finished() || waiter_.is_over(); }
  /// Tells it what keeping messages takes, from now on. It outlives this.
  void watch_keeping(KeepingWatch& watch) { keeping_ = &watch; }
  /// Sent messages are kept for later lives of their receivers.
  bool keeps() const { return keeps_; }
  /// As long as `repeats` says so, a send of a long message is over once that is copied, as it was
  /// in an earlier life, which kept it.
  void copy_while(std::function<bool()> repeats) { repeats_ = std::move(repeats); }
  /// See MessageMachine::stop_keeping.
  void stop_keeping(const std::function<Incarnation(NodeId)>& newest_life);
  message::MessageMachine& machine() { return machine_; }
  MessageHistory* history() { return is_stored_ ? this : nullptr; }
  Waiter& waiter() { return waiter_; }
  Duration give_up_after() const { return give_up_after_; }
  /// Returns why nothing works any more.
  const std::optional<Error>& end() const { return failure_; }

 private:
  static constexpr bool never = false;
  void note_lane(const Completion& completion);
  bool post_at_once(NodeId to, const message::FlowKey& flow, std::span<const std::byte> head,
                    std::span<const std::byte> bytes);
  /// Looks at the fabric until there is something, at most so often, and posts what may go. False:
  /// nothing happened.
  bool turn(Instant now, int looks);
  bool look(Instant now, int looks);
  // MessageHistory
  bool is_later_life() const override { return incarnation_ > Incarnation(1); }
  bool has_begun() const override { return machine_.has_begun(); }
  std::string_view run() const override { return machine_.run(); }
  std::uint64_t place() const override { return machine_.place(); }
  Result<std::vector<std::byte>> store() override {
    if (failure_) return *failure_;
    return machine_.store();
  }
  void commit() override {
    machine_.commit();
    waiter_.stored(machine_.place());
  }
  bool knows(std::span<const std::byte> stored) const override { return machine_.knows(stored); }
  Result<void> resume(std::span<const std::byte> stored) override {
    return machine_.resume(stored);
  }
  ByteCount kept() const override { return machine_.outbox_bytes(); }

  std::size_t post_what_can_go();
  void end_offenders();
  void note_divergence();
  void note_lost_link();
  /// A turn with all that belongs to it. False: nothing happened, and nothing is due at `now`.
  Result<bool> work(Instant now, int looks, std::span<const Operation> operations);
  /// Until `finished` says so, or nothing is to be done any more when `patience` is over.
  template <class Finished>
  Result<void> turn_until(Finished&& finished, std::span<const Operation> operations = {},
                          Duration patience = Duration::max());
  bool is_any_ready(std::span<const Operation> operations) const {
    return std::any_of(operations.begin(), operations.end(),
                       [&](Operation operation) { return is_ready(operation); });
  }
  void look_whether_it_repeats();
  bool missed();
  void look_for_peer(Instant now, Operation of);
  void look_for_wanted(Instant now);
  /// Says once of each such process that it lives and answers nothing, and what this one waits for.
  void say_silent(NodeId peer, std::span<const Operation> operations);
  void look_for_whole_outbox(NodeId to, std::size_t size);
  void end_with_full_outbox(Operation operation);
  /// Says once that this process stands still for want of room in the outbox.
  void look_for_room(Instant now);
  Instant next_deadline();
  Error failure(const message::OperationState& state) const;
  Operation keep_and_send(NodeId to, const message::FlowKey& flow,
                          std::span<const std::byte> bytes);
  void close_region(Operation operation);
  Operation refuse(Error why);
  /// Returns the reason why an operation was refused, once.
  std::optional<Error> take_refusal(Operation operation);
  bool is_refused(Operation operation) const;
  void cancel_all();

  Fabric& fabric_;
  Waiter& waiter_;
  Duration give_up_after_;
  Incarnation incarnation_;
  bool keeps_;  // sent messages, for later lives of their receivers
  KeepingWatch* keeping_ = nullptr;
  std::function<bool()> repeats_;  // an earlier life that kept long messages; null: there is none
  bool is_stored_;
  message::MessageMachine machine_;
  TransmitQueue out_;
  std::vector<SendLane*> lanes_;  // by node; null: it is not up, or has none
  std::array<Completion, 64> completions_;
  const WantedPeers* wanted_ = nullptr;
  Instant look_for_wanted_at_{};  // not before
  bool misses_wanted_ = false;    // it waits for what they do
  bool has_moved_ = false;        // in a turn that was not reported to the waiter yet
  std::vector<std::pair<Operation, Region>> regions_;  // of receives under way
  std::vector<std::pair<Operation, Error>> refused_;   // not started, and not waited for yet
  std::uint64_t refusals_ = 0;
  std::optional<Instant> full_since_;  // messages wait for room in the outbox
  bool has_said_full_ = false;
  std::set<NodeId> silent_;       // peers, of which it has said so
  std::optional<Error> failure_;  // of the job: nothing works any more
};

}  // namespace weft

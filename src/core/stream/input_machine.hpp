// SPDX-License-Identifier: Apache-2.0
// InputMachine: an input node's protocol. It cuts the microslices of its buffer into contributions,
// asks its schedule which to send when, writes them one-sidedly into the compute nodes' rings
// (paper 1, sections II and IV), keeps them until they were consumed, and takes part in agreeing
// on views. A machine: no clock, no I/O; the driver hands it completions and calls `turn`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/schedule.hpp"
#include "core/stream/built_before.hpp"
#include "core/stream/early_messages.hpp"
#include "core/stream/input_buffer.hpp"
#include "core/stream/messages.hpp"
#include "core/stream/outbox.hpp"
#include "core/stream/pair_sender.hpp"
#include "core/stream/roster.hpp"
#include "core/stream/send_window.hpp"
#include "core/stream/view.hpp"
#include "core/stream/view_leader.hpp"
#include "weft/fabric.hpp"
#include "weft/result.hpp"

namespace weft::stream {

struct InputConfig {
  Roster roster;
  std::uint32_t self = 0;  ///< index of this input node
  bool restarted = false;  ///< joins a stream that runs already
  std::uint32_t microslices_per_timeslice = 1;
  std::uint32_t overlap_microslices = 0;  ///< of the following timeslice, sent with each
  TimesliceIndex end = TimesliceIndex::max();
  Instant start_by = Instant::never();  ///< do not wait longer for nodes that are missing
  /// A member that does not answer the question for a new view for so long is left out of it.
  Duration promise_timeout = Duration::max();
  /// Whether a part of the job without a majority of its input nodes waits, in place of going on.
  bool majority_only = false;
  /// A compute node that holds up the stream and says nothing for so long, not even when asked, is
  /// hung up on: others do without it until it is there again.
  Duration stall_timeout = Duration::max();
  ServiceLevel data_level{};
  ServiceLevel control_level{};
  std::size_t largest_contribution = stream::largest_contribution;  ///< bytes
  std::size_t window = 1 << 16;          ///< timeslices that may be outstanding at once
  std::size_t most_built_before = 4096;  ///< see BuiltBefore
};

struct InputCounters {
  std::uint64_t contributions = 0;
  std::uint64_t bytes = 0;
  std::uint64_t repeated = 0;
  std::uint64_t credit_waits = 0;  ///< times that sending stopped for lack of credit
  std::uint64_t refused_messages = 0;
};

class InputMachine final : public schedule::SendState {
 public:
  InputMachine(const InputConfig& config, InputBuffer& buffer,
               std::unique_ptr<schedule::InputSchedule> schedule);

  /// Everything that `Fabric::poll` yields goes here.
  void on_completion(Instant now, const Completion& completion);
  /// The source has no more microslices.
  void on_source_ended() { source_ended_ = true; }
  /// Ends the stream soon: behind all contributions sent by then.
  void stop() { leader_.stop(); }
  /// Another node died before the stream began, and nobody starts it again.
  void do_without(NodeId node);
  /// Fills `out` as far as there is room: contributions, then messages owed to peers.
  void turn(Instant now, Outbox& out);
  /// `turn` wants to be called then, even if nothing happens.
  Instant next_deadline() const { return deadline_; }

  /// True when all timeslices are consumed and all other nodes have said bye.
  bool finished() const;
  /// Returns, once, the position at which the source of a node that joins late must continue.
  std::optional<std::uint64_t> take_seek();
  /// The source may fill the buffer: at once, or for a restarted node when it knows where to begin.
  /// Not while writes of an earlier view are under way either: their bytes lie in the buffer,
  /// perhaps in its free part.
  bool source_may_run() const {
    return (!config_.restarted || view_.number > 0) && writes_out_ == writes_out_of_view_;
  }
  /// The oldest timeslice that is not consumed is not in the buffer as a whole, and nothing else
  /// is: when there is no room either, it never will be.
  bool needs_more_room() const;
  /// Set when the configuration turns out to be impossible; the run must end.
  const std::optional<Error>& failure() const { return failure_; }
  const InputCounters& counters() const { return counters_; }
  const View& view() const { return view_; }
  /// It took part in a stream's first view, when no member knew of an earlier one.
  bool began_stream() const { return began_stream_; }
  /// This node would lead, but too few of the job's input nodes are there to go on.
  bool waits_for_majority() const { return leader_.waits_for_majority(); }
  /// Timeslices whose contribution of this node was consumed, all below.
  TimesliceIndex consumed() const { return window_.oldest(); }

  /// The timeslices that the compute nodes have built as far as this node knows, in all views so
  /// far.
  std::vector<BuiltBy> built_by() const;

  /// One line that says where this node stands, for logs and failed tests.
  std::string describe() const;

  schedule::Readiness readiness(TimesliceIndex t) const override;
  TimesliceIndex started_below() const override { return window_.oldest(); }

 private:
  struct Peer {
    bool up = false;
    bool lost = false;  // since the view began
    bool bye = false;   // it said so
    Incarnation incarnation{};
    Instant heard{};  // its last message
    std::uint8_t owes = 0;
  };
  enum Owed : std::uint8_t {
    owes_written = 1,
    owes_view = 2,
    owes_prepare = 4,
    owes_promise = 8,
    owes_bye = 16,
    owes_probe = 32,
    owes_outside = 64,  // that it has no part in the view
  };

  void on_peer_up(NodeId peer, Incarnation incarnation);
  bool is_member(NodeId node) const;
  void on_peer_down(NodeId peer);
  void on_message(Instant now, NodeId peer, std::span<const std::byte> bytes);
  bool on_compute_message(Instant now, std::uint32_t compute, std::span<const std::byte> bytes);
  bool on_leader_message(Instant now, NodeId peer, std::span<const std::byte> bytes);
  bool on_schedule_message(Instant now, std::uint32_t compute, std::span<const std::byte> bytes);
  void on_credit(Instant now, std::uint32_t compute, const Credit& credit);
  bool on_given_up(std::uint32_t compute, const GivenUp& given_up);
  void pass_given_up();
  bool is_given_up(TimesliceIndex t) const;
  TimesliceIndex not_given_up_from(TimesliceIndex t) const;
  void skip_source_to(TimesliceIndex t);
  void on_prepare(NodeId from, const Prepare& prepare);
  void on_write_completed(const Completion& completion);
  void settle(std::uint32_t compute);

  bool is_leader(Instant now) const;
  std::optional<NodeId> member_that_leads() const;
  NodeId leader_node(Instant now) const;
  void ask(Instant now);
  void lead(Instant now);
  void speak_up();
  void promise_when_connected();
  Promise make_promise() const;
  void apply(Instant now, const View& view);
  void take_early(Instant now);
  void remember_built(const View& next);
  void roll_back();
  void skip_done();
  TimesliceIndex done_end() const;
  void open_pair(std::uint32_t compute);
  void free_consumed();
  void owe(std::uint32_t node, std::uint8_t what);
  void owe_all(std::uint8_t what);

  TimesliceIndex own_end() const;
  TimesliceIndex end() const;
  std::uint32_t owner(TimesliceIndex t) const;
  /// Bytes of the largest contribution that the pair takes.
  std::uint64_t fits(const PairSender& pair) const;
  Error too_large(TimesliceIndex t, std::uint64_t bytes, const PairSender& pair) const;
  TimesliceIndex next_of(std::uint32_t rank) const;
  std::uint64_t first_microslice(TimesliceIndex t) const;
  /// Microslices of a contribution that is not cut short by the source's end.
  std::uint64_t whole_contribution() const {
    return std::uint64_t{config_.microslices_per_timeslice} + config_.overlap_microslices;
  }
  /// Returns whether the buffer holds all of the contribution.
  bool has_data(TimesliceIndex t) const;
  /// The contribution, of which there must be data.
  MicrosliceRun content(TimesliceIndex t) const;
  void prefetch(TimesliceIndex t) const;
  void start(Instant now, TimesliceIndex t, Outbox& out);
  bool schedule_may_choose(Instant now);
  void send_scheduled(Instant now, Outbox& out);
  void send_schedule_messages(Instant now, Outbox& out);
  void suspect(std::uint32_t node);
  void send_suspects(Instant now, Outbox& out);
  void pay_debts(Outbox& out);
  bool pay(std::uint32_t node, std::uint8_t what, Outbox& out);
  void say_bye_when_done();
  void watch_for_stall(Instant now, Outbox& out);
  std::optional<std::uint32_t> holds_up() const;

  InputConfig config_;
  InputBuffer& buffer_;
  std::unique_ptr<schedule::InputSchedule> schedule_;
  ViewLeader leader_;
  View view_;
  std::uint32_t views_ = 0;  // that were in force here so far
  TimesliceIndex last_started_{};
  std::vector<std::uint32_t> members_;  // compute nodes of the view, in grid order
  std::vector<Peer> peers_;
  std::vector<std::uint32_t> debtors_;  // nodes that are owed something
  std::vector<PairSender> pairs_;
  std::vector<std::optional<Hello>> hellos_;  // not used yet: of a view still to come
  SendWindow window_;
  mutable std::vector<std::uint64_t> next_round_;  // per member: its next round of the grid
  BuiltBefore built_before_;
  std::vector<TimesliceIndex> given_up_;  // per member: it does not wait for any below
  /// Per compute node: the timeslice that had no credit when a schedule asked; maximum: none, or
  /// there has been news of that node since. Schedules ask again and again.
  mutable std::vector<TimesliceIndex> lacks_credit_;
  std::vector<GivenUp> newest_given_up_;  // per compute node: of the latest view so far
  std::vector<std::uint32_t> suspects_;   // nodes, ascending, each once
  schedule::MessageBox messages_;
  EarlyMessages early_;
  // The schedule said that it waits, unless `ask_schedule_`; what there was then.
  bool ask_schedule_ = true;
  Instant ask_again_{};
  std::uint64_t data_seen_ = 0;
  bool end_seen_ = false;

  std::optional<Prepare> prepare_;  // promised or to be promised
  NodeId prepared_by_{};
  bool asker_stayed_ = false;     // connected to `prepared_by_` ever since it asked
  std::optional<NodeId> outbid_;  // asked with a lower number than `prepare_` has
  bool promised_ = false;
  bool takes_part_ = false;  // in the view
  bool began_stream_ = false;
  bool remembers_ = false;                  // see Promise
  bool is_outside_ = false;                 // of the view, and has not told the others
  std::optional<NodeId> believed_to_lead_;  // by this node, outside the view: it was told the view
  Promise promise_;

  // The compute node that the oldest timeslice waits for, or in the end this node.
  struct StallWatch {
    std::optional<std::uint32_t> compute;
    Instant since{};  // when that was first seen
    Instant asked{};
    Instant looked{};
  } stall_;

  std::uint64_t writes_out_ = 0;          // handed to the outbox and not completed
  std::uint64_t writes_out_of_view_ = 0;  // of them: those of this view

  bool source_ended_ = false;
  bool said_bye_ = false;
  bool told_end_ = false;
  bool waiting_for_credit_ = false;
  bool is_large_ = false;  // the contribution that began last
  std::optional<std::uint64_t> seek_;
  std::optional<Error> failure_;
  Instant deadline_ = Instant::never();
  InputCounters counters_;
};

}  // namespace weft::stream

// SPDX-License-Identifier: Apache-2.0
// ComputeMachine: a compute node's protocol. It learns from SYNC messages what input nodes wrote
// into its rings, completes a timeslice when every input node of its view contributed, hands it
// over in place, and gives tickets back when it was consumed (paper 1, sections II and IV). A
// timeslice with missing, late or repeated parts is flagged, never dropped. A machine: no clock, no
// I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/schedule.hpp"
#include "core/stream/assembly_table.hpp"
#include "core/stream/early_messages.hpp"
#include "core/stream/messages.hpp"
#include "core/stream/outbox.hpp"
#include "core/stream/pair_receiver.hpp"
#include "core/stream/roster.hpp"
#include "core/stream/view.hpp"
#include "weft/fabric.hpp"
#include "weft/timeslice.hpp"

namespace weft::stream {

struct ComputeConfig {
  Roster roster;
  std::uint32_t self = 0;  ///< index of this compute node
  bool restarted = false;  ///< joins a stream that runs already
  std::uint32_t microslices_per_timeslice = 1;
  /// A contribution that comes this long after the first flags its timeslice as late.
  Duration late_after = Duration::max();
  /// A timeslice that is not complete this long after its first contribution goes to the sink as it
  /// is, flagged. By default one waits for every input node that lives.
  Duration give_up_after = Duration::max();
  ServiceLevel control_level{};
  /// A Credit waits for others at most that long, or until much of the ring is free again. Zero
  /// where the schedule needs to know when a contribution has arrived.
  Duration credit_delay{};
};

struct ComputeCounters {
  std::uint64_t complete = 0;
  std::uint64_t incomplete = 0;  ///< components missing
  std::uint64_t late = 0;        ///< flagged late, and contributions that came after giving up
  std::uint64_t repeated = 0;
  std::uint64_t bytes = 0;
  std::uint64_t discarded = 0;  ///< begun, then given to another node when this one was left out
  std::uint64_t refused_messages = 0;
};

class ComputeMachine {
 public:
  /// `memory` has one entry per input node.
  ComputeMachine(const ComputeConfig& config, std::vector<PairMemory> memory,
                 std::unique_ptr<schedule::ComputeSchedule> schedule);

  void on_completion(Instant now, const Completion& completion);
  /// The sink is done with a delivered timeslice.
  void release(TimesliceIndex t);
  void turn(Instant now, Outbox& out);
  Instant next_deadline() const;

  /// The components of a delivered timeslice, until its release. `components` has room for one per
  /// input node and is filled.
  TimesliceView view(TimesliceIndex t, std::span<ComponentView> components);
  /// One line that says where this node stands, for logs and failed tests.
  std::string describe() const;
  /// True when this node and all others have said bye to each other.
  bool finished() const { return said_bye_ && debtors_.empty(); }
  const ComputeCounters& counters() const { return counters_; }
  /// Timeslices that are begun, or that the sink holds.
  std::size_t building() const { return table_.size(); }
  double fill(std::uint32_t input) const { return pairs_[input].fill(); }
  const View& current_view() const { return view_; }
  /// It took part in a stream's first view, when no member knew of an earlier one.
  bool began_stream() const { return began_stream_; }

 private:
  struct Peer {
    bool up = false;
    bool bye = false;
    Incarnation incarnation{};
    TimesliceIndex ended = TimesliceIndex::max();
    TimesliceIndex given_up{};              // in this view: not waited for below
    Instant late_since = Instant::never();  // nothing of it came in time from then on
    std::uint8_t owes = 0;
    bool credit_waits = false;
    Written deferred;  // counts of a view that has not come here yet
    bool has_deferred = false;
  };
  enum Owed : std::uint8_t {
    owes_hello = 1,
    owes_credit = 2,
    owes_bye = 4,
    owes_suspect = 8,
    owes_promise = 16,
    owes_given_up = 32,
    owes_present = 64,
    owes_view = 128,
  };

  bool on_message(Instant now, std::uint32_t input, std::span<const std::byte> bytes);
  bool on_schedule_message(Instant now, std::uint32_t input, std::span<const std::byte> bytes);
  bool on_written(Instant now, std::uint32_t input, const Written& written);
  void on_arrival(Instant now, std::uint32_t input, const PairReceiver::Arrival& arrival);
  void on_end(std::uint32_t input, TimesliceIndex ended);
  void on_prepare(std::uint32_t from, const Prepare& prepare);
  void speak_up();
  void promise_when_connected();
  void on_view(Instant now, const View& view);
  void discard_all();
  void offer(std::uint32_t input);
  bool sink_holds_what_is_to_come();
  bool is_own(TimesliceIndex t) const;
  TimesliceIndex next_own(TimesliceIndex t) const;
  void deliver_complete();
  void deliver(Assembly& assembly);
  void free_component(std::uint32_t input, const Component& component);
  void give_up(Instant now);
  void tell_behind();
  void give_up_on(Instant now, std::uint32_t input, TimesliceIndex t);
  IndexSet expected(TimesliceIndex t) const;
  void owe(std::uint32_t input, std::uint8_t what);
  void owe_credit(std::uint32_t input);
  void owe_waiting_credits(Instant now);
  void send_schedule_messages(Instant now, Outbox& out);
  void send_suspicion(std::uint32_t suspect, Outbox& out);
  void pay_debts(Outbox& out);
  void say_bye_when_done();

  ComputeConfig config_;
  std::unique_ptr<schedule::ComputeSchedule> schedule_;
  std::vector<PairReceiver> pairs_;
  std::vector<Peer> peers_;  // input nodes
  std::vector<std::uint32_t> debtors_;
  std::vector<std::uint32_t> credits_;      // inputs whose credit waits for others
  Instant credits_due_ = Instant::never();  // but not longer than that
  View view_;
  bool takes_part_ = false;  // in the view
  bool began_stream_ = false;
  bool remembers_ = false;    // see Promise
  bool is_outside_ = false;   // of the view, and has not told the input nodes
  bool awaits_sink_ = false;  // before it offers memory in this view
  // Progress through this node's timeslices in the present view: the sink has consumed all below
  // `consumed_`, the machine has delivered all below `next_`, in ascending order, and no
  // contribution has begun to arrive for those from `begun_below_` on.
  TimesliceIndex consumed_{};
  TimesliceIndex next_{};
  TimesliceIndex begun_below_{};
  TimesliceIndex delivered_below_{};   // in any view: input nodes that knew it may have died
  std::vector<std::uint32_t> behind_;  // inputs that were given up on beyond `consumed_`
  std::optional<Prepare> prepare_;
  NodeId prepared_by_{};
  bool asker_stayed_ = false;     // connected to `prepared_by_` ever since it asked
  std::optional<NodeId> outbid_;  // asked with a lower number than `prepare_` has
  bool promised_ = false;
  Promise promise_;
  AssemblyTable table_;
  std::vector<TimesliceIndex> ready_;  // complete, on their way into an outbox
  std::vector<TimesliceBuilt> built_;
  std::vector<TimesliceIndex> scratch_;
  schedule::MessageBox messages_;
  EarlyMessages early_;
  bool said_bye_ = false;
  Instant next_give_up_ = Instant::never();
  ComputeCounters counters_;
};

}  // namespace weft::stream

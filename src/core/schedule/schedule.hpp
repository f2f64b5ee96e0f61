// SPDX-License-Identifier: Apache-2.0
// A schedule decides which contribution an input node sends next, and when. It has a part at every
// input node (InputSchedule) and a part at every compute node (ComputeSchedule); both are machines
// without I/O that talk to each other by small messages. Schedules: best-effort, offset (paper 1,
// II.A), dfs (paper 1, III), grant (receiver-driven).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fixed_vec.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::schedule {

/// Timeslices laid out in rounds (paper 1, section II): round r holds the timeslices
/// first + r·computes + c, one for each compute node c in [0, computes).
struct RoundGrid {
  TimesliceIndex first{};
  std::uint32_t computes = 1;

  TimesliceIndex timeslice(std::uint64_t round, std::uint32_t compute) const {
    return first.plus(round * computes + compute);
  }
  bool is_power_of_two() const { return (computes & (computes - 1)) == 0; }
  std::uint64_t round_of(TimesliceIndex t) const {
    const std::uint64_t n = t.value() - first.value();
    return is_power_of_two() ? n >> std::countr_zero(computes) : n / computes;
  }
  /// The first round whose timeslice at that compute node is not below t.
  std::uint64_t round_from(TimesliceIndex t, std::uint32_t compute) const {
    const TimesliceIndex begin = first.plus(compute);
    return t <= begin ? 0 : (t.value() - begin.value() - 1) / computes + 1;
  }
  /// A schedule calls this several times per contribution. A division would take most of the time,
  /// and most numbers of nodes are powers of two.
  std::uint32_t compute_of(TimesliceIndex t) const {
    const std::uint64_t n = t.value() - first.value();
    return static_cast<std::uint32_t>(is_power_of_two() ? n & (computes - 1) : n % computes);
  }
};

/// A message between the two parts of a schedule. `to` is the index of a compute node when an input
/// node's part sends the message, and of an input node when a compute node's part does. Indices of
/// compute nodes are those of the grid in force.
struct Message {
  static constexpr std::size_t capacity = 96;
  std::uint32_t to = 0;
  std::uint32_t size = 0;
  std::array<std::byte, capacity> bytes{};
};
using MessageBox = FixedVec<Message>;

/// An interval as Fig. 8 of paper 1 shows it, for reports.
struct IntervalRecord {
  IntervalId id{};
  Instant start{};
  Duration proposed{};  ///< zero: no duration was proposed for the interval
  Duration actual{};    ///< the measured duration
};

/// The state of a timeslice's contribution, as the input machine knows it.
enum class Readiness : std::uint8_t {
  sendable,     ///< content complete, room at its compute node, compute node up
  no_data,      ///< the source has not produced it yet
  no_credit,    ///< its compute node has no room (a "credit wait")
  unreachable,  ///< its compute node is down; a new grid will follow
  started,      ///< already on its way, done, or given up by its compute node
  after_end,    ///< the stream ends before it
};

/// The input machine as its schedule sees it.
class SendState {
 public:
  virtual ~SendState() = default;
  virtual Readiness readiness(TimesliceIndex t) const = 0;
  /// All timeslices below are `started`: a schedule need not ask about each. There may be others.
  virtual TimesliceIndex started_below() const { return {}; }
};

/// The schedule's decision at a moment.
struct Choice {
  enum class Kind : std::uint8_t { send, wait };
  Kind kind = Kind::wait;
  TimesliceIndex timeslice{};  ///< the contribution to send, or the one to wait for, if any
  /// Wait: the machine asks again at the next event, and no later than this.
  Instant ask_again = Instant::never();
};

/// An input node's part. Only the driver's thread calls it. `now` is that node's clock, which a
/// fault of a simulation may set back.
class InputSchedule {
 public:
  virtual ~InputSchedule() = default;

  /// Puts a new grid in force, at the start and when compute nodes came or went. The schedule
  /// forgets contributions of the old grid that were not started, and continues at grid.first.
  virtual void on_grid(Instant now, const RoundGrid& grid) = 0;
  /// Chooses the next contribution. The machine calls it after every event and at `ask_again`. A
  /// second call in a row must have no further effect.
  virtual Choice choose(Instant now, const SendState& state) = 0;
  /// The input node has begun to send the chosen contribution.
  virtual void on_started(Instant now, TimesliceIndex t) = 0;
  /// The contribution's compute node has received it (paper 1, III.C: the acknowledgement).
  /// `latency` is the time from the start of the contribution to the acknowledgement.
  virtual void on_acknowledged(Instant now, TimesliceIndex t, Duration latency) = 0;
  /// A message from the part of compute node `from` has arrived. The bytes come from outside; the
  /// schedule ignores malformed ones.
  virtual void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) = 0;
  /// The connection to that compute node is back: messages to it since `on_grid` may be lost.
  virtual void on_reconnected(std::uint32_t compute) { (void)compute; }
  /// Moves messages into `out` while it has room. The machine calls it after every event.
  virtual void write_messages(Instant now, MessageBox& out) = 0;
  /// Hands over the intervals completed since the last call. Schedules without intervals have none.
  virtual void take_intervals(FixedVec<IntervalRecord>& out) { (void)out; }
};

/// A compute node's part. Only the driver's thread calls it. `now` is that node's clock, as above.
class ComputeSchedule {
 public:
  virtual ~ComputeSchedule() = default;

  /// Puts a new grid in force, in which this node is compute node `self`.
  virtual void on_grid(Instant now, const RoundGrid& grid, std::uint32_t self) = 0;
  /// Input node `input` joined (`up`), or is gone and no timeslice waits for its contributions.
  virtual void on_input(Instant now, std::uint32_t input, bool up) = 0;
  /// A contribution of `input` to timeslice t of this node has arrived, `bytes` long.
  virtual void on_contribution(Instant now, std::uint32_t input, TimesliceIndex t,
                               ByteCount bytes) = 0;
  /// This node no longer waits for `input`'s contributions to its timeslices below `below`
  /// (--give-up-after). Contributions that were not on their way never arrive. The others arrive
  /// too late to count, although `on_contribution` reports them.
  virtual void on_given_up(Instant now, std::uint32_t input, TimesliceIndex below) = 0;
  /// As in InputSchedule; `from` is an input node.
  virtual void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) = 0;
  /// The connection to that input node is back: messages to it since `on_grid` may be lost.
  virtual void on_reconnected(std::uint32_t input) { (void)input; }
  virtual void write_messages(Instant now, MessageBox& out) = 0;
  /// Returns the time of the next call of `write_messages` if no event comes earlier.
  virtual Instant next_deadline() const { return Instant::never(); }
};

}  // namespace weft::schedule

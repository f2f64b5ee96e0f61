// SPDX-License-Identifier: Apache-2.0
// GrantStep: which input nodes are to wait for the last one. Input nodes that all have much to send
// go on at the pace of their links. One that fell behind once therefore stays behind, although
// nothing is slow any more. docs/schedules.md has the reasoning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "weft/time.hpp"

namespace weft::schedule {

/// Knows how far input nodes are ahead of the last one, on average over two rounds or more, and
/// chooses those that are to wait: after two averages of more than the floor of the spread and a
/// third, until one is no more than the floor and a sixth. If input nodes are apart again soon
/// after they waited, the next time comes after twice as many rounds, and otherwise after half as
/// many: waiting costs little where it is of no use.
///
/// They wait only where that costs less than the spread: where the path holds at most two and a
/// half rounds, and no more is in flight than four times what it holds. Elsewhere nothing is
/// learnt.
///
/// A machine without I/O; one thread.
class GrantStep {
 public:
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

  explicit GrantStep(std::size_t inputs);

  /// Forgets all; a view begins.
  void restart();

  /// The input node has left or come back, so what was seen of it no longer counts.
  void forget(std::size_t input);

  /// The compute node looks at all input nodes. `lowest` is the oldest incomplete round;
  /// `path_holds`: contributions, when nothing queues; `in_flight`: contributions that are to be in
  /// flight.
  void begin_look(Instant now, std::uint64_t lowest, double path_holds, std::uint64_t in_flight);
  /// That input node has delivered `rounds` more than the last one, at the look that has begun.
  void on_look(std::size_t input, std::uint64_t rounds);

  /// Returns whether that input node has been ahead for a while, and is to wait.
  bool is_ahead(std::size_t input) const { return inputs_[input].ahead; }

  /// Returns how many rounds, from the oldest incomplete one on, input nodes that are ahead may
  /// have; at least one.
  std::uint64_t rounds() const { return rounds_; }

 private:
  struct Input {
    std::uint64_t rounds = 0;  // by which it led at the last look
    double sum = 0;            // of these, times ns, since `since_`
    bool was_far = false;      // in the rounds before
    bool ahead = false;
  };
  void judge(Input& input);
  void release(Input& input);

  double floor_;  // rounds
  std::uint64_t rounds_ = unlimited;
  std::vector<Input> inputs_;
  Instant since_{};             // the present average is of the time from here on,
  std::uint64_t round_ = 0;     // when this was the oldest incomplete round
  Instant looked_{};            // at that time
  Duration passed_{};           // since the look before
  Duration length_{};           // of the time that this look judges; zero: none
  std::uint64_t lowest_ = 0;    // at this look
  std::size_t ahead_ = 0;       // how many are ahead
  std::uint64_t patience_ = 0;  // rounds
  std::uint64_t from_ = 0;      // the round from which on an input node may be ahead
};

}  // namespace weft::schedule

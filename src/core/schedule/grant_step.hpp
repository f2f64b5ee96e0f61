// SPDX-License-Identifier: Apache-2.0
// GrantStep: which input nodes are to wait for the last one, once. Input nodes that all have much
// to send go on at the pace of their links. One that fell behind therefore stays behind, although
// nothing is slow any more. docs/schedules.md has the reasoning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft::schedule {

/// Knows how far input nodes are ahead of the last one, smoothed over some looks, and chooses those
/// that are to wait. If input nodes are apart again soon after they waited, the next time comes
/// after twice as many rounds: waiting costs little where it is of no use.
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

  /// The compute node has looked: that input node has delivered `rounds` more than the last one,
  /// whose next round is `lowest`. An input node that has delivered no more than the last one no
  /// longer is ahead.
  void on_look(std::size_t input, std::uint64_t lowest, std::uint64_t rounds);

  /// Returns whether that input node has been ahead for a while, by more than the floor of the
  /// spread and a third, and is to wait.
  bool is_ahead(std::size_t input) const { return inputs_[input].ahead; }

  /// Returns how many rounds, from the oldest incomplete one on, input nodes that are ahead may
  /// have. `path_holds`: contributions, when nothing queues; `in_flight`: contributions that are to
  /// be in flight.
  std::uint64_t rounds(double path_holds, std::uint64_t in_flight) const;

 private:
  struct Input {
    double rounds = 0;  // by which it leads, smoothed
    bool ahead = false;
  };
  double limit_;  // rounds
  std::vector<Input> inputs_;
  std::size_t ahead_ = 0;       // how many are ahead
  std::uint64_t patience_ = 0;  // rounds
  std::uint64_t from_ = 0;      // the round from which on an input node may be ahead
};

}  // namespace weft::schedule

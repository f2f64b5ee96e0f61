// SPDX-License-Identifier: Apache-2.0
// A view says which nodes take part, and which timeslices are still to be built. All nodes apply
// the same views in ascending order, so all agree on which node builds a timeslice and which
// contributions it waits for. With each view every pair of nodes starts afresh: every input node
// sends incomplete timeslices of a compute node again, in the same order. That costs a few
// timeslices' worth of bandwidth when a node comes or goes, and rules out that rings fill with
// timeslices that can never complete.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/schedule.hpp"
#include "core/stream/roster.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// Returns whether these of the roster's input nodes are more than half of them, or half with input
/// 0. Two sets that have no node in common never both are.
inline bool is_majority(const IndexSet& inputs) {
  const std::uint64_t twice = std::uint64_t{2} * inputs.count();
  return twice > inputs.size() || (twice == inputs.size() && inputs.contains(0));
}

/// Numbers ascend, with gaps; number 0 means "none yet".
struct View {
  std::uint32_t number = 0;
  Instant asked{};                             ///< of the question that led to it: see Prepare
  TimesliceIndex first{};                      ///< all below are done
  TimesliceIndex end = TimesliceIndex::max();  ///< the stream ends before it
  /// Timeslices below may have been delivered by nodes that formed a view of their own meanwhile.
  TimesliceIndex repeated_below{};
  /// Timeslices below may have been handed over by compute nodes that were forgotten in this view
  /// or an earlier one. The input nodes that sent them know which.
  TimesliceIndex doubtful_below{};
  /// Another view may have been in force that no member remembers: enough of the input nodes that
  /// could have formed it began anew since, or are gone.
  bool unsure = false;
  IndexSet inputs;
  IndexSet computes;
  /// Compute nodes of the view before that are gone, or came back without their memory: no node
  /// knows for sure which timeslices they handed over.
  IndexSet forgotten;
  /// Bit i: timeslice first + i is done, although first is not.
  std::vector<std::uint64_t> done;

  schedule::RoundGrid grid() const {
    return {.first = first, .computes = computes.empty() ? 1 : computes.count()};
  }
  bool is_done(TimesliceIndex t) const {
    if (t < first) return true;
    const std::uint64_t bit = t.value() - first.value();
    return bit / 64 < done.size() && ((done[bit / 64] >> (bit % 64)) & 1) != 0;
  }
  /// Timeslices below may be built elsewhere as well, or have been: they are flagged `repeated`. In
  /// a view without a majority of the input nodes, or one that is unsure, that is true of all.
  TimesliceIndex unsure_below() const {
    return is_majority(inputs) && !unsure ? repeated_below : TimesliceIndex::max();
  }
  /// The compute node that builds timeslice t ≥ first, as an index of the roster.
  std::uint32_t owner(TimesliceIndex t) const { return computes.nth(grid().compute_of(t)); }
};

}  // namespace weft::stream

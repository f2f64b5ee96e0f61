// SPDX-License-Identifier: Apache-2.0
// The proposals to an input engine (paper 1, III.C and III.D): the first received proposal of an
// interval counts, and the last one is used again when none comes.
#pragma once

#include <array>
#include <cstddef>

#include "core/schedule/dfs/messages.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// How an interval is to be sent.
struct Guidance {
  bool guided = false;       ///< false: no duration is known yet, send without guidelines
  bool start_known = false;  ///< false: start at once
  Instant start{};           ///< tp_j
  Duration duration{};       ///< durp_j
  Duration spacing{};        ///< from start to start
};

class ProposalBook {
 public:
  /// A proposal from any engine. Ignored when one for the same interval came before.
  void add(const Proposal& proposal);
  /// A new grid: start times of the old one mean nothing, its last duration still does.
  void on_grid();
  /// The proposal of interval `id`, or the last one before it, shifted by whole spacings to `id`.
  Guidance guidance(IntervalId id) const;

 private:
  struct Entry {
    bool used = false;
    IntervalId id{};
    Instant start{};
    Duration duration{};
    Duration spacing{};
  };

  // Proposals arrive for the interval after next; a few more cover engines that are ahead.
  static constexpr std::size_t kept = 4;

  std::array<Entry, kept> entries_{};
  Duration last_duration_{};
  Duration last_spacing_{};
};

}  // namespace weft::schedule::dfs

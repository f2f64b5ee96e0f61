// SPDX-License-Identifier: Apache-2.0
// The messages between input engines and deterministic engines. Sizes are constant: no message
// grows with the number of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "core/schedule/schedule.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// Input engine → engine, when a grid is taken into use: section IV, the input processes broadcast
/// the local time at which they left the barrier.
struct Hello {
  static constexpr std::size_t size = 1 + 8 + 8;
  TimesliceIndex grid_first{};  ///< names the grid
  Instant start{};              ///< on the input's clock
};

/// Input engine → engine: the actual meta-data of an interval, and the request for a proposal.
struct Report {
  static constexpr std::size_t size = 1 + 7 * 8;
  TimesliceIndex grid_first{};
  IntervalId interval{};   ///< j
  Instant start{};         ///< tm_j on the input's clock
  Duration duration{};     ///< durm_j, to the last acknowledgement
  Duration proposed{};     ///< durp_j that was followed; zero when there was none
  Duration latency{};      ///< lat_i of Eq. 2, one way to this engine
  IntervalId requested{};  ///< k ≥ j + 2
};

/// Engine → input engine: the proposed meta-data of an interval.
struct Proposal {
  static constexpr std::size_t size = 1 + 6 * 8 + 4;
  TimesliceIndex grid_first{};
  IntervalId interval{};
  TimesliceIndex first_timeslice{};
  std::uint32_t rounds = 0;
  Instant start{};      ///< tp_j on the receiving input's clock
  Duration duration{};  ///< durp_j
  Duration spacing{};   ///< med_dur_m_hist: start to start when the proposal is used again
};

void encode(const Hello& hello, Message& out);
void encode(const Report& report, Message& out);
void encode(const Proposal& proposal, Message& out);

/// monostate when the bytes are no message: wrong kind or size, or values that no engine sends
/// (times beyond 73 years, durations beyond `longest_duration`, a request for the past).
using AnyMessage = std::variant<std::monostate, Hello, Report, Proposal>;
AnyMessage decode(std::span<const std::byte> bytes);

}  // namespace weft::schedule::dfs

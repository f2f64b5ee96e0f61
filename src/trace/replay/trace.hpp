// SPDX-License-Identifier: Apache-2.0
// A trace of any format that weft reads, by its file's name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trace/events/summary.hpp"
#include "trace/replay/replay.hpp"
#include "weft/result.hpp"

namespace weft::trace {

/// One thread; when it has been examined, several may make feeds of it at once.
class Trace {
 public:
  virtual ~Trace() = default;
  virtual std::uint32_t ranks() const = 0;
  /// Looks at every event. The summary, or the error, says what cannot be replayed.
  virtual Result<Summary> examine() = 0;
  /// From the beginning, as often as wanted. It has been examined and its summary has no problem.
  /// The feed's error is one of reading; Trace outlives it.
  virtual Result<std::unique_ptr<sim::Feed>> feed(double compute_factor) const = 0;
  /// The error that stopped a feed: the first one of reading.
  virtual Result<void> state_of(const sim::Feed& feed) const = 0;
};

/// "….otf2" is the anchor file of an OTF2 archive, everything else a GOAL text. Errors: an
/// unreadable trace, with file and, of GOAL, line.
Result<std::unique_ptr<Trace>> open_trace(const std::string& path);

/// CRC-32C of everything that the trace consists of: its file and, of an OTF2 archive, its other
/// files in the order of their names. Reads them whole. Errors: an unreadable file.
Result<std::uint32_t> checksum_of_trace(const std::string& path);

/// Replays a whole trace that has been examined. Errors: those of reading and of `replay`.
Result<ReplayOutcome> replay_trace(Trace& trace, double compute_factor,
                                   const ReplayOptions& options);

}  // namespace weft::trace

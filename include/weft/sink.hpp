// SPDX-License-Identifier: Apache-2.0
// Sink: where a compute node's timeslices go. Write one to analyse timeslices in the compute
// process (examples/consumer.cpp is 50 lines).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/result.hpp"
#include "weft/timeslice.hpp"

namespace weft {

/// What a sink did, for the run's summary and exit code.
struct SinkSummary {
  std::uint64_t timeslices = 0;
  std::uint64_t bytes = 0;
  std::uint64_t dropped = 0;  ///< by a counted drop policy
  std::uint64_t errors = 0;   ///< anything a check found wrong; makes the run fail
  std::string first_error;
};

/// Consumes timeslices one after another.
///
/// Threads: `consume` may block and is therefore called from the sink's own thread, never
/// concurrently; the timeslice is released when it returns. Back-pressure comes from being slow.
class Sink {
 public:
  virtual ~Sink() = default;
  /// An error ends the run with that message.
  virtual Result<void> consume(const TimesliceView& timeslice) = 0;
  /// Flushes and closes; nothing follows. Called once, from the same thread.
  virtual Result<void> finish() { return {}; }
  virtual SinkSummary summary() const = 0;
};

/// What a sink is told about its place.
struct SinkPlace {
  std::uint32_t compute = 0;   ///< index of this compute node
  std::uint32_t computes = 1;  ///< how many there are
  std::uint32_t inputs = 1;
  std::uint32_t microslices_per_timeslice = 1;
  std::uint64_t seed = 0;  ///< the run's, so that check: knows what pattern: made
};

/// Opens a sink by URI: scheme:path?key=value&…
///   check:                             verifies pattern, CRC-32C, order and completeness
///   tsa:FILE?zstd&bytes=1GiB&items=N   FLESnet archive, rotated; %n compute index, %s sequence
///   null:   exec:PROGRAM ARGS          throw away; one program per timeslice, data on stdin
///   shm:NAME                           consumer processes, see weft/consumer.hpp
/// Errors name the URI part that is wrong.
Result<std::unique_ptr<Sink>> open_sink(std::string_view uri, const SinkPlace& place);

}  // namespace weft

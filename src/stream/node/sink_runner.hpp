// SPDX-License-Identifier: Apache-2.0
// SinkRunner: how a compute node's timeslices get to its sink and come back. At most `depth`
// timeslices are with the sink; the driver keeps the rest, and so the buffers fill, credits run out
// and the input nodes wait: back-pressure.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft::stream {

/// Used by one thread, the driver's.
class SinkRunner {
 public:
  virtual ~SinkRunner() = default;
  /// Readable when `collect` or `finish` has news; −1: the driver learns of it by itself.
  virtual int descriptor() const = 0;
  virtual bool has_room() const = 0;
  /// Copies the view (not the data, which stay valid until collected). Needs room.
  virtual void submit(const TimesliceView& view) = 0;
  /// Appends the timeslices that the sink is done with.
  virtual void collect(std::vector<TimesliceIndex>& released) = 0;
  /// `Sink::stop_waiting`.
  virtual void stop_waiting() = 0;
  /// Nothing follows: the sink is flushed behind what it has.
  virtual void finish() = 0;
  /// `Sink::leave`. Only where the sink runs in the driver's loop.
  virtual void leave() {}
  /// The sink is flushed, or has failed.
  virtual bool finished() const = 0;
  /// The error that `consume` or `finish` reported, if any.
  virtual std::optional<Error> failure() const = 0;
  /// Call when finished.
  virtual SinkSummary summary() const = 0;
};

/// In a thread of its own: the sink may block.
std::unique_ptr<SinkRunner> run_sink_in_thread(std::unique_ptr<Sink> sink, std::uint32_t depth,
                                               std::uint32_t inputs);
/// In the driver's loop: for sinks that do not block, or where time does not pass meanwhile. The
/// sink must give timeslices back from this thread.
std::unique_ptr<SinkRunner> run_sink_in_loop(std::unique_ptr<Sink> sink, std::uint32_t depth);

}  // namespace weft::stream

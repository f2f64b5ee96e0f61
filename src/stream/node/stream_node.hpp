// SPDX-License-Identifier: Apache-2.0
// StreamNode: one process's part of a stream job, behind one face for input and compute nodes, so
// that one loop drives both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/stream/outbox.hpp"
#include "core/stream/roster.hpp"
#include "stream/node/node_report.hpp"
#include "weft/fabric.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

class StreamNode {
 public:
  virtual ~StreamNode() = default;
  virtual void on_completion(Instant now, const Completion& completion) = 0;
  /// Everything that is not a completion: source or sink, then the machine's turn. Returns whether
  /// anything moved.
  virtual bool work(Instant now, Outbox& out) = 0;
  /// `work` wants to be called then, even if nothing happens.
  virtual Instant next_deadline() const = 0;
  /// Descriptors that end a sleep.
  virtual std::vector<int> descriptors() const = 0;
  /// Ends the stream soon, in agreement with the others.
  virtual void stop() = 0;
  /// The nodes did not agree on that end in time: this one ends now. Its sink keeps
  /// the timeslices that it has taken.
  virtual void cut_off() = 0;
  /// Another node died before the stream began, and no process starts it again.
  virtual void do_without(NodeId) {}
  /// Makes that end come sooner: the sink no longer waits for consumers that have not come.
  virtual void hurry() {}
  /// A simulation kills the node: `Sink::leave`. Nothing follows but the destructor.
  virtual void leave() {}
  /// The node goes on because its sink has timeslices to take or an end to come to.
  virtual bool waits_for_sink() const { return false; }
  /// The job has begun: this node knows its first view.
  virtual bool started() const = 0;
  /// It took part in a stream's first view, when no member knew of an earlier one.
  virtual bool began_stream() const { return false; }
  virtual bool finished() const = 0;
  /// Returns why the run cannot go on, if it cannot.
  virtual const std::optional<Error>& failure() const = 0;
  /// Takes a sample of the figures reported over time.
  virtual void sample(Instant now) = 0;
  virtual StreamProgress progress() = 0;
  virtual NodeReport report() = 0;
  virtual std::string describe() const = 0;
};

/// The place of a compute node's sink. `options` must outlive it.
SinkPlace sink_place(const StreamOptions& options, std::uint32_t self, bool restarted);

/// Makes a node once its fabric is open; `restarted` when an earlier life took part. `now` is on
/// the clock that will drive it.
using NodeFactory = std::function<Result<std::unique_ptr<StreamNode>>(NodeId self, bool restarted,
                                                                      Fabric& fabric, Instant now)>;

/// `restarted`: an earlier life of this node took part already. The fabric must outlive the node.
Result<std::unique_ptr<StreamNode>> make_input_node(const StreamOptions& options,
                                                    std::uint32_t self, bool restarted,
                                                    const Fabric& fabric, Instant now);
Result<std::unique_ptr<StreamNode>> make_compute_node(const StreamOptions& options,
                                                      std::uint32_t self, bool restarted,
                                                      Fabric& fabric);
/// Makes every node of a job: input nodes first, then compute nodes. `options` must outlive it.
NodeFactory stream_node_factory(const StreamOptions& options);

}  // namespace weft::stream

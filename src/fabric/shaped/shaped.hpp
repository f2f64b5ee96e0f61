// SPDX-License-Identifier: Apache-2.0
// The shaped fabric: any fabric made slower on purpose. Each node gets an egress link into an
// imaginary switch and an ingress link out of it, each with a rate, a latency and a queue that
// loses nothing; when several nodes send to one, the queue builds up in front of the receiver's
// link as it does at a switch port. How it works and what it assumes: docs/shaped-fabric.md.
#pragma once

#include <memory>
#include <string_view>

#include "net/link_shape.hpp"
#include "weft/fabric.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// The network that a node appears to have. Nodes of a job may differ.
struct ShapeOptions {
  LinkShape egress{};   ///< node → switch
  LinkShape ingress{};  ///< switch → node
  /// Bytes that pass a link in one piece: the unit in which the flows of different peers
  /// interleave, the counterpart of a packet. Zero: 20 µs worth of the egress rate, within [8 KiB,
  /// 64 KiB].
  ByteCount chunk{};
  /// When this process gets no processor while bytes wait, the link may make up for at most this
  /// much lost time by sending faster than its rate. A link never makes up for time without bytes.
  Duration catch_up = Duration::milliseconds(20);
  /// True: a chunk passes both links at the same time, as through a cut-through switch, and the
  /// sender's egress link counts as no faster than this node's ingress link. False: a chunk passes
  /// one link after the other (store and forward).
  bool cut_through = false;
};

/// Returns the shape that `--link RATE,LATENCY` means on the command line: the same rate in both
/// directions and `latency` from node to node, all of it on the egress links.
ShapeOptions symmetric_shape(Bandwidth rate, Duration latency);

/// Parses "200Mbit,20us", "200Mbit" or "200Mbit,20us,cut-through". Errors: invalid_argument, whose
/// text names `option` and shows a form that works.
Result<ShapeOptions> parse_shape(std::string_view option, std::string_view text);

/// The bytes in the queues and on the transmitters of a node's two links.
struct ShapeBacklog {
  ByteCount egress{};
  ByteCount ingress{};  ///< bytes at the switch port, not yet delivered: incast makes them grow
};

/// A fabric whose traffic passes two modelled links per node; see the file comment. Threads follow
/// the rules of Fabric.
class ShapedFabric : public Fabric {
 public:
  /// Changes the links' rates and latencies from the time of the last `poll` on. Queued bytes
  /// continue at the new rates; `chunk` and `catch_up` do not change.
  virtual void set_links(const LinkShape& egress, const LinkShape& ingress) = 0;
  /// Returns the backlog of both links at the time of the last `poll`.
  virtual ShapeBacklog backlog() const = 0;
};

/// Wraps `inner`, which the shaped fabric then owns. Either all nodes of a job are shaped, with any
/// parameters, or none: a shaped node refuses unshaped peers. All nodes must share one clock, as
/// processes of one host do, because markers carry arrival times on it. Aborts when `options` are
/// impossible (negative latency, a rate below 1 kB/s) or when the inner fabric cannot carry
/// messages of 4 KiB and a header.
std::unique_ptr<ShapedFabric> shape(std::unique_ptr<Fabric> inner, const ShapeOptions& options);

}  // namespace weft

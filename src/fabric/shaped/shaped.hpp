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
  /// How much of a link's time that passed unused while bytes were waiting may be caught up with,
  /// because this process was not running. Idle time is never caught up with.
  Duration catch_up = Duration::milliseconds(20);
  /// A chunk passes both links at once, as through a switch that begins to send a packet before it
  /// has all of it; without, one link and then the other. The other end's egress link counts as no
  /// faster than this node's ingress link.
  bool cut_through = false;
};

/// The same rate in both directions and `latency` from node to node: the meaning of `--link
/// RATE,LATENCY` on the command line. The latency is put on the egress links.
ShapeOptions symmetric_shape(Bandwidth rate, Duration latency);

/// Reads "200Mbit,20us", "200Mbit" or "200Mbit,20us,cut-through"; errors name `option` and show a
/// form that works.
Result<ShapeOptions> parse_shape(std::string_view option, std::string_view text);

/// Bytes that wait for or pass a node's links.
struct ShapeBacklog {
  ByteCount egress{};
  ByteCount ingress{};  ///< arrived at the port and not yet delivered: incast builds it up
};

/// A fabric with links of its own; see the file comment. Threads: as Fabric.
class ShapedFabric : public Fabric {
 public:
  /// Changes rates and latencies from the time of the last `poll` on; `chunk` and `catch_up` stay
  /// as they were. Bytes that are queued go on at the new rates.
  virtual void set_links(const LinkShape& egress, const LinkShape& ingress) = 0;
  virtual ShapeBacklog backlog() const = 0;
};

/// Shapes `inner`. All nodes of a job must be shaped (with any parameters), or none: a shaped node
/// refuses peers that are not. All nodes are driven by one clock, as processes of one host are:
/// times of arrival are told on it. Aborts when `options` are impossible (negative latency, a rate
/// below 1 kB/s) or when the inner fabric cannot carry messages of 4 KiB and a header.
std::unique_ptr<ShapedFabric> shape(std::unique_ptr<Fabric> inner, const ShapeOptions& options);

}  // namespace weft

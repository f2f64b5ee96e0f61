// SPDX-License-Identifier: Apache-2.0
// The TCP fabric: one non-blocking stream socket per pair of nodes, over IPv4, IPv6 or, on one
// host, Unix sockets. docs/architecture.md has the way of a write through it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabric/tcp/own_life.hpp"
#include "weft/fabric.hpp"

namespace weft {

/// How an endpoint listens, which peers it trusts and its resources.
struct TcpOptions {
  NodeId self{};
  Incarnation incarnation{};
  /// The address to listen at: "0.0.0.0:0", "127.0.0.1:0", "[::1]:0", "unix:/path", "unix:@name"
  /// (abstract), "unix:@" (any abstract name). Numeric addresses only: looking names up would
  /// block. Port 0 is any free port.
  std::string listen = "0.0.0.0:0";
  /// Numeric host that peers shall use, when it is not the one listened on. Needed with a wildcard
  /// address on machines with several networks; without it the first interface that is up, not
  /// loopback and not a bridge of virtual machines is taken.
  std::string advertise;
  /// Peers of another job are turned away even if they know the secret.
  std::string job_id;
  /// At least 16 bytes, the same on all nodes of the job. Peers prove that they know it; the data
  /// itself is neither encrypted nor signed.
  std::vector<std::byte> secret;

  /// Called from `poll`, perhaps often, when a peer that proved itself turns this endpoint away
  /// because it knows another life of this node, not lower than `incarnation`, and with that life.
  /// Without it a line in the log says so.
  std::function<void(Incarnation known)> on_later_life;
  /// Takes the place of `incarnation`, and is raised when a peer knows a life of this node that is
  /// not lower. Null: the number stays.
  std::shared_ptr<OwnLife> life;

  /// Connections that are kept; at least 1. When more peers than that are in use, the least
  /// recently used idle connection is emptied, closed and made again on demand; neither side
  /// reports anything. For moments, while both sides agree on that, there may be up to twice as
  /// many.
  std::size_t max_connections = 4096;
  /// Connections that have not proved yet that they belong to the job, besides one for each peer:
  /// at the start of a large job all of them come at once. The oldest gives way.
  std::size_t max_unauthenticated = 64;
  std::size_t max_outstanding = 1024;            ///< operations, all peers together
  std::size_t max_message = 64 * 1024;           ///< bytes, at least 4096
  std::size_t max_write = std::size_t{1} << 30;  ///< bytes, below 4 GiB

  /// A peer whose kernel answers nothing for so long is down. A stopped process is not: its kernel
  /// goes on answering. (That is why TCP_USER_TIMEOUT is not used: it also ends connections to a
  /// live peer that just does not read.) Does not concern Unix sockets.
  Duration peer_timeout = Duration::seconds(10);
  /// The kernel probes a peer's kernel that was silent for so long, in whole seconds,
  /// at least one. Shorter than `peer_timeout`; zero: half of it.
  Duration heartbeat{};
  /// For connecting and for proving each other; then the attempt starts anew.
  Duration handshake_timeout = Duration::seconds(5);
  /// Between attempts to connect; doubles from the first to the second value.
  Duration retry_first = Duration::milliseconds(5);
  Duration retry_last = Duration::seconds(1);

  std::size_t send_buffer = 0;     ///< SO_SNDBUF, bytes; 0 leaves it to the kernel's tuning
  std::size_t receive_buffer = 0;  ///< SO_RCVBUF, bytes; 0 leaves it to the kernel's tuning

  /// DSCP per service level. A connection has one level at a time: it changes, between two
  /// operations, to the level of the next. Bytes of the former level that are still in the socket
  /// go out with the new one.
  std::array<std::uint8_t, 16> dscp = {0,  10, 12, 14, 18, 20, 22, 26,
                                       28, 30, 34, 36, 38, 40, 44, 46};
};

/// Opens an endpoint that listens. Errors name the option, its value and the fix: invalid_argument
/// for options, unavailable when the address is taken or not ours, exhausted without descriptors.
///
/// Contract beyond weft/fabric.hpp:
///  - A peer is known by its NodeId. One with a higher incarnation than `add_peer` said is
///  believed,
///    since it proved that it belongs to the job; a lower one is turned away.
///  - A connection that breaks between two living endpoints is peer_down, then peer_up with the
///    same incarnation.
///  - The endpoint is not its own peer.
///  - `now` of `poll` may come from any monotonic clock; descriptors are polled by poll(2).
Result<std::unique_ptr<Fabric>> open_tcp(const TcpOptions& options);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Thin, owning wrappers of the socket calls that the endpoint needs. Everything is non-blocking and
// close-on-exec.
#pragma once

#include <cstdint>

#include "base/descriptor.hpp"
#include "fabric/tcp/address.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::tcp {

/// The settings of every connection.
struct SocketSettings {
  std::size_t send_buffer = 0;     ///< bytes, 0: the kernel's choice
  std::size_t receive_buffer = 0;  ///< bytes, 0: the kernel's choice
  Duration keepalive{};            ///< silence after which the peer's kernel has to have answered
  Duration heartbeat{};            ///< silence before a probe; zero: half of `keepalive`
};

/// Binds and listens. `address` becomes the one bound to. A Unix socket's path that a dead process
/// left behind is taken over; a file that is no socket is left alone, and is an error.
Result<Descriptor> listen_on(SocketAddress& address, const SocketSettings& settings);

enum class ConnectState : std::uint8_t {
  connected,
  in_progress,  ///< writable when done, see `finish_connect`
  refused,      ///< nobody listens there
  busy,         ///< the listener, or this process, cannot take more at the moment
  failed,       ///< not reached
};
ConnectState start_connect(const SocketAddress& address, const SocketSettings& settings,
                           Descriptor& out);
ConnectState finish_connect(int fd);

/// The next connection of a listener; not open when there is none, `error` then says why.
Descriptor accept_from(int listener, const SocketSettings& settings, int& error);

/// DSCP and queueing priority of bytes sent from now on. Best effort: not all sockets have it.
void set_service_level(int fd, std::uint8_t dscp, std::uint8_t level);

/// The kernel's knowledge of a TCP connection's other end.
struct PeerSigns {
  bool waits_for_answer = false;  ///< something was sent that the peer's kernel did not answer
  Duration since_answer{};        ///< since anything came from there
};
/// Nothing waits when the socket is not TCP.
PeerSigns peer_signs(int fd);

}  // namespace weft::tcp

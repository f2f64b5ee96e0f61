// SPDX-License-Identifier: Apache-2.0
// The TCP connection over which two processes exchange the addresses of queue pairs: whole messages
// of at most longest_message bytes, each behind its length, within a time limit.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/host_port.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::rdma {

/// Asked several times a second while something is waited for; true ends the wait, `cancelled`.
using StopCheck = std::function<bool()>;

/// "HOST:PORT", "[IPV6]:PORT", or a port alone, with an empty host. Errors: `invalid_argument`.
Result<HostPort> parse_place(const std::string& text);

/// One thread.
class ControlConnection {
 public:
  /// Takes a connected stream socket over.
  explicit ControlConnection(Descriptor socket);
  /// Errors: `unavailable` when no server listens there, `timed_out`.
  static Result<ControlConnection> connect(const HostPort& place, Duration limit,
                                           const StopCheck& stop);

  Result<void> send(std::span<const std::byte> message, Duration limit, const StopCheck& stop);
  /// Errors: `unavailable` when the peer closes, `corrupt` for a length that no message has,
  /// `timed_out`. However slowly bytes come, the limit is for the whole message.
  Result<std::vector<std::byte>> receive(Duration limit, const StopCheck& stop);
  /// The peer has closed, broken the connection or sent unexpected bytes.
  bool has_ended() const;
  /// Until then. Errors: `cancelled`.
  Result<void> wait_for_end(const StopCheck& stop) const;

 private:
  Descriptor socket_;
};

class ControlListener {
 public:
  /// Without a host: all addresses of this machine. Port 0 takes a free one.
  static Result<ControlListener> open(const HostPort& place);
  /// The next client and where it comes from. Errors: `cancelled`.
  Result<std::pair<ControlConnection, std::string>> accept(const StopCheck& stop) const;
  std::uint16_t port() const;

 private:
  explicit ControlListener(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

}  // namespace weft::rdma

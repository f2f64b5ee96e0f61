// SPDX-License-Identifier: Apache-2.0
// Socket addresses as text: "10.0.0.1:4000", "[fe80::1%eth0]:4000", "unix:/path", "unix:@name".
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "weft/result.hpp"

namespace weft::tcp {

/// An IPv4, IPv6 or Unix address. Plain data.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  /// The path of a Unix socket in the file system; empty for all others.
  std::string path() const;
  bool is_wildcard() const;
  /// An Internet address that never leaves this host.
  bool is_loopback() const;
};

/// Reads an address; never asks a name server. "unix:@" without a name lets the kernel choose one
/// when it is bound.
Result<SocketAddress> parse_address(std::string_view text);

/// The text that `parse_address` reads back.
std::string to_text(const SocketAddress& address);

/// The address at which peers reach a socket bound to `bound`: with `host` in place of its own when
/// given, with the address of a network interface when it is bound to all of them.
Result<SocketAddress> advertised_address(const SocketAddress& bound, std::string_view host);

}  // namespace weft::tcp

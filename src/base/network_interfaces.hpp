// SPDX-License-Identifier: Apache-2.0
// The internet addresses of this machine's network interfaces, the one to tell other hosts first.
#pragma once

#include <sys/socket.h>

#include <vector>

namespace weft {

struct InterfaceAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

/// Returns the addresses of interfaces that are up, best first: IPv4 of real interfaces, then their
/// IPv6, then loopback, then bridges and interfaces of virtual machines, which lead to no other
/// host; addresses of one link alone last. Empty when the system does not tell; errno says why.
std::vector<InterfaceAddress> interface_addresses();

}  // namespace weft

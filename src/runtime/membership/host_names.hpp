// SPDX-License-Identifier: Apache-2.0
// Hosts as users write them, and their addresses on this machine. Looking names up may block: this
// is for the start of a process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_port.hpp"
#include "weft/result.hpp"

namespace weft {

/// "host7:7000", "10.0.0.7:7000", "[fd00::7]:7000". Errors: no host, no port, a port that is not
/// between 1 and 65535.
Result<HostPort> parse_host_port(std::string_view text);

/// The numeric address of a host, IPv4 when it has one: all nodes shall come to the same. Errors
/// carry the resolver's words.
Result<std::string> resolve_host(const std::string& host);

/// Numeric addresses of this machine's interfaces that are up, best first.
std::vector<std::string> local_addresses();
bool is_loopback(std::string_view numeric_host);
/// The one of `addresses` that lies in `network` ("10.1.0.0/16", "fd00::/8", or one address).
/// Errors name --network and the addresses there are.
Result<std::string> address_in_network(std::string_view network,
                                       std::span<const std::string> addresses);

/// Returns the indices of those `hosts` (numeric) that are this machine.
std::vector<std::uint32_t> hosts_here(std::span<const std::string> hosts,
                                      std::span<const std::string> addresses);

/// The same for all processes of a machine until it is restarted.
std::string machine_identity();

}  // namespace weft

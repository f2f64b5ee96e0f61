// SPDX-License-Identifier: Apache-2.0
// HostPort: "HOST:PORT" taken apart, for options, addresses and files alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct HostPort {
  std::string host;  ///< without the brackets of an IPv6 address
  std::uint16_t port = 0;
};

/// "HOST:PORT", ":PORT" or "[IPV6]:PORT". Null for anything else: no colon, an IPv6 address without
/// brackets, a port that is no decimal number up to 65535. Does not look the host up.
std::optional<HostPort> split_host_port(std::string_view text);

/// "10.0.0.7:7000" or "[fd00::7]:7000".
std::string join_host_port(std::string_view host, std::uint16_t port);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "base/host_port.hpp"

#include <fmt/format.h>

#include "base/number_text.hpp"

namespace weft {

std::optional<HostPort> split_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
  } else if (host.find_first_of("[]:") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view port = text.substr(colon + 1);
  const auto number = parse_number<std::uint16_t>(port);
  if (!number) return std::nullopt;
  return HostPort{.host = std::string(host), .port = *number};
}

std::string join_host_port(std::string_view host, std::uint16_t port) {
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace weft

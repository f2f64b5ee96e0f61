// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/host_names.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include "base/make_error.hpp"
#include "base/network_interfaces.hpp"
#include "base/number_text.hpp"

namespace weft {
namespace {

std::optional<unsigned> number_up_to(std::string_view text, unsigned most) {
  const auto value = parse_number<unsigned>(text);
  return value && *value <= most ? value : std::nullopt;
}

/// The bytes of a numeric address: 4 or 16, none when it is no address.
std::vector<std::uint8_t> address_bytes(std::string_view text) {
  const std::string copy(text);
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1)
    return {bytes.begin(), bytes.begin() + 4};
  if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return {bytes.begin(), bytes.end()};
  return {};
}

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return host.data();
}

bool same_prefix(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, unsigned bits) {
  if (a.size() != b.size()) return false;
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned mask = 0x80u >> (i % 8);
    if ((a[i / 8] & mask) != (b[i / 8] & mask)) return false;
  }
  return true;
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  auto place = split_host_port(text);
  const bool is_v6 = place && place->host.find(':') != std::string::npos;
  if (!place || place->host.empty() || place->port == 0 ||
      (is_v6 && address_bytes(place->host).empty())) {
    return invalid(
        "'{}' is no HOST:PORT; write it like host7:7000, 10.0.0.7:7000 or [fd00::7]:7000", text);
  }
  return std::move(*place);
}

Result<std::string> resolve_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found); code != 0) {
    return make_error(ErrorCode::not_found, "host '{}': {}", host, gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const addrinfo* best = nullptr;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
    if (best == nullptr || (best->ai_family == AF_INET6 && a->ai_family == AF_INET)) best = a;
  }
  std::string text = best == nullptr ? std::string() : numeric(best->ai_addr, best->ai_addrlen);
  if (text.empty()) {
    return make_error(ErrorCode::not_found, "host '{}' has no internet address", host);
  }
  return text;
}

std::vector<std::string> local_addresses() {
  std::vector<std::string> addresses;
  for (const InterfaceAddress& found : interface_addresses()) {
    std::string text = numeric(found.get(), found.length);
    if (!text.empty()) addresses.push_back(std::move(text));
  }
  return addresses;
}

bool is_loopback(std::string_view numeric_host) {
  const auto bytes = address_bytes(numeric_host);
  if (bytes.size() == 4) return bytes[0] == 127;
  return bytes == address_bytes("::1");
}

Result<std::string> address_in_network(std::string_view network,
                                       std::span<const std::string> addresses) {
  const std::size_t slash = network.find('/');
  const auto wanted = address_bytes(network.substr(0, slash));
  const auto all_bits = static_cast<unsigned>(wanted.size() * 8);
  const auto bits = slash == std::string_view::npos
                        ? std::optional(all_bits)
                        : number_up_to(network.substr(slash + 1), all_bits);
  if (wanted.empty() || !bits) {
    return invalid("--network: '{}' is no network; write it like 10.1.0.0/16", network);
  }
  for (const std::string& address : addresses) {
    if (same_prefix(address_bytes(address), wanted, *bits)) return address;
  }
  return invalid("--network: no address of this machine lies in {}; it has {}", network,
                 fmt::join(addresses, ", "));
}

std::vector<std::uint32_t> hosts_here(std::span<const std::string> hosts,
                                      std::span<const std::string> addresses) {
  std::vector<std::uint32_t> here;
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    const bool known = std::find(addresses.begin(), addresses.end(), hosts[i]) != addresses.end();
    if (known || is_loopback(hosts[i])) here.push_back(i);
  }
  return here;
}

std::string machine_identity() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string identity;
  if (std::getline(in, identity)) return identity;
  std::array<char, 256> name{};
  (void)gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace weft

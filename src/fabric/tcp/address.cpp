// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

#include "base/host_port.hpp"
#include "base/make_error.hpp"
#include "base/network_interfaces.hpp"

namespace weft::tcp {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);

Error unreadable(std::string_view text) {
  return invalid(
      "address '{}': expected 10.0.0.1:4000, [::1]:4000, unix:/path or unix:@name (no host names)",
      text);
}

const sockaddr_un& as_unix(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_un&>(address.storage);
}

Result<SocketAddress> parse_unix(std::string_view text, std::string_view name) {
  SocketAddress address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
  un.sun_family = AF_UNIX;
  if (name == "@") {
    address.length = kPathOffset;
    return address;
  }
  const auto is_plain = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  if (name.empty() || !std::ranges::all_of(name, is_plain)) return unreadable(text);
  if (name.size() >= sizeof un.sun_path) {
    return invalid("address '{}': a socket's name has at most {} characters", text,
                   sizeof un.sun_path - 1);
  }
  std::memcpy(un.sun_path, name.data(), name.size());
  const bool is_abstract = name.front() == '@';
  if (is_abstract) un.sun_path[0] = '\0';
  address.length = static_cast<socklen_t>(kPathOffset + name.size() + (is_abstract ? 0 : 1));
  return address;
}

Result<SocketAddress> parse_internet(std::string_view text) {
  const auto place = split_host_port(text);
  if (!place || place->host.empty()) return unreadable(text);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(place->port);
  if (::getaddrinfo(place->host.c_str(), port.c_str(), &hints, &found) != 0) {
    return unreadable(text);
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  return address;
}

void set_port(SocketAddress& address, in_port_t port) {
  if (address.family() == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = port;
  } else {
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port = port;
  }
}

in_port_t port_of(const SocketAddress& address) {
  return address.family() == AF_INET
             ? reinterpret_cast<const sockaddr_in&>(address.storage).sin_port
             : reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port;
}

// The best address of an interface that is up, of a family that reaches `bound`.
Result<SocketAddress> interface_address(const SocketAddress& bound) {
  for (const InterfaceAddress& found : interface_addresses()) {
    if (found.family() == AF_INET6 && bound.family() != AF_INET6) continue;
    return SocketAddress{.storage = found.storage, .length = found.length};
  }
  return Error{ErrorCode::unavailable,
               "no network interface is up: listen on an address of this host, for example "
               "127.0.0.1:0"};
}

}  // namespace

std::string SocketAddress::path() const {
  if (family() != AF_UNIX || length <= kPathOffset) return {};
  const char* path = as_unix(*this).sun_path;
  return path[0] == '\0' ? std::string() : std::string(path, ::strnlen(path, length - kPathOffset));
}

bool SocketAddress::is_wildcard() const {
  if (family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr == htonl(INADDR_ANY);
  }
  if (family() != AF_INET6) return false;
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr) != 0;
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET) {
    const auto& internet = reinterpret_cast<const sockaddr_in&>(storage);
    return ntohl(internet.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (family() != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr) != 0;
}

Result<SocketAddress> parse_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text, text.substr(kUnix.size()));
  return parse_internet(text);
}

std::string to_text(const SocketAddress& address) {
  if (address.family() == AF_UNIX) {
    if (const std::string path = address.path(); !path.empty()) return fmt::format("unix:{}", path);
    if (address.length <= kPathOffset) return "unix:@";
    const char* name = as_unix(address).sun_path + 1;
    return fmt::format("unix:@{}", std::string_view(name, address.length - kPathOffset - 1));
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(address.get(), address.length, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  if (address.family() == AF_INET6) return fmt::format("[{}]:{}", host.data(), port.data());
  return fmt::format("{}:{}", host.data(), port.data());
}

Result<SocketAddress> advertised_address(const SocketAddress& bound, std::string_view host) {
  if (bound.family() == AF_UNIX) return bound;
  if (host.empty() && !bound.is_wildcard()) return bound;
  Result<SocketAddress> address =
      host.empty()
          ? interface_address(bound)
          : parse_address(host.find(':') == std::string_view::npos ? fmt::format("{}:0", host)
                                                                   : fmt::format("[{}]:0", host));
  if (!address.ok()) {
    if (host.empty()) return address;
    return invalid("advertise '{}': expected a numeric address such as 10.0.0.1", host);
  }
  set_port(*address, port_of(bound));
  return address;
}

}  // namespace weft::tcp

// SPDX-License-Identifier: Apache-2.0
#include "base/network_interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace weft {
namespace {

// Interfaces of bridges and virtual machines: up, with an address, and no way to other hosts.
constexpr std::array<std::string_view, 6> virtual_prefixes = {"docker", "virbr", "veth",
                                                              "br-",    "lxc",   "cni"};

// 0 is best.
int rank(const ifaddrs& entry) {
  const int family = entry.ifa_addr->sa_family;
  if (family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(*entry.ifa_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr)) return 9;
  }
  const std::string_view name = entry.ifa_name;
  const bool is_virtual = std::ranges::any_of(
      virtual_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  const int kind = is_virtual ? 4 : (entry.ifa_flags & IFF_LOOPBACK) != 0 ? 2 : 0;
  return kind + (family == AF_INET6 ? 1 : 0);
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<std::pair<int, InterfaceAddress>> ranked;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    InterfaceAddress address;
    address.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&address.storage, entry->ifa_addr, address.length);
    ranked.emplace_back(rank(*entry), address);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& each) { return each.first; });
  std::vector<InterfaceAddress> addresses;
  addresses.reserve(ranked.size());
  for (const auto& each : ranked) addresses.push_back(each.second);
  return addresses;
}

}  // namespace weft

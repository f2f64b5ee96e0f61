// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/connections.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>

namespace weft::ofi {
namespace {

// The kernel takes as much as net.core.rmem_max allows, 208 KiB at least, and doubles it.
constexpr int kReceiveBuffer = 1 << 20;

bool same(const sockaddr_storage& address, std::span<const std::byte> wanted) {
  sockaddr_storage other{};
  std::memcpy(&other, wanted.data(), std::min(wanted.size(), sizeof other));
  if (address.ss_family != other.ss_family) return false;
  if (address.ss_family == AF_INET && wanted.size() >= sizeof(sockaddr_in)) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(address);
    const auto& b = reinterpret_cast<const sockaddr_in&>(other);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  if (address.ss_family == AF_INET6 && wanted.size() >= sizeof(sockaddr_in6)) {
    const auto& a = reinterpret_cast<const sockaddr_in6&>(address);
    const auto& b = reinterpret_cast<const sockaddr_in6&>(other);
    return a.sin6_port == b.sin6_port &&
           std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
  }
  return false;
}

bool is_connected_to(int descriptor, std::span<const std::byte> peer) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  return ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         same(address, peer);
}

}  // namespace

void for_each_descriptor(const std::function<void(int descriptor)>& with) {
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (descriptor >= 0) with(descriptor);
  }
}

bool is_bound_to(int descriptor, std::span<const std::byte> own) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         same(address, own);
}

bool has_connection_to(std::span<const std::byte> peer) {
  bool has = false;
  for_each_descriptor([&](int descriptor) { has = has || is_connected_to(descriptor, peer); });
  return has;
}

int widen_receive_buffers(std::span<const std::byte> own, std::span<const std::byte> peer) {
  int count = 0;
  for_each_descriptor([&](int descriptor) {
    if (!is_bound_to(descriptor, own) && !is_connected_to(descriptor, peer)) return;
    ++count;
    int size = 0;
    socklen_t length = sizeof size;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length) != 0) return;
    if (size >= kReceiveBuffer) return;
    (void)::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  });
  return count;
}

}  // namespace weft::ofi

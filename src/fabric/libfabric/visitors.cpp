// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/visitors.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "fabric/libfabric/connections.hpp"

namespace weft::ofi {
namespace {

constexpr Duration kPace = Duration::seconds(1);
// While they come in numbers.
constexpr Duration kHurry = Duration::milliseconds(50);

bool is_listener(int descriptor) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

// False as well for a descriptor that is no TCP connection.
bool is_unanswered(int descriptor, bool answers) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  if (size < offsetof(tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent) return false;
  return info.tcpi_bytes_sent == 0 && (answers || info.tcpi_bytes_received == 0);
}

}  // namespace

Visitors::Visitors(std::span<const std::byte> own, bool answers)
    : own_(own.begin(), own.end()), answers_(answers) {}

void Visitors::note(int descriptor, Instant now) {
  struct stat status {};
  if (is_listener(descriptor) || !is_unanswered(descriptor, answers_) ||
      ::fstat(descriptor, &status) != 0) {
    return;
  }
  const auto known = before_.find(descriptor);
  const bool same = known != before_.end() && known->second.socket == status.st_ino;
  seen_[descriptor] = same ? known->second : Visitor{status.st_ino, now, false};
}

std::size_t Visitors::look(Instant now) {
  before_.swap(seen_);
  seen_.clear();
  for_each_descriptor([&](int descriptor) {
    if (is_bound_to(descriptor, own_)) note(descriptor, now);
  });
  std::vector<std::pair<int, Visitor*>> waiting;
  for (auto& [descriptor, visitor] : seen_) {
    if (!visitor.ended) waiting.emplace_back(descriptor, &visitor);
  }
  std::ranges::sort(waiting, {}, [](const auto& entry) { return entry.second->since; });
  const std::size_t too_many = waiting.size() > most ? waiting.size() - most : 0;
  std::size_t ended = 0;
  for (const auto& [descriptor, visitor] : waiting) {
    if (ended >= too_many && now < visitor->since + patience) break;
    visitor->ended = ::shutdown(descriptor, SHUT_RDWR) == 0;
    ++ended;
  }
  next_look_ = now + (waiting.size() > most / 2 ? kHurry : kPace);
  return ended;
}

}  // namespace weft::ofi

// SPDX-License-Identifier: Apache-2.0
#include "launch/agent_guard.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/make_error.hpp"
#include "runtime/clock.hpp"

namespace weft {
namespace {

constexpr int look_again_ms = 5;

struct Address {
  explicit Address(const std::string& name) {
    un.sun_family = AF_UNIX;
    const std::size_t size = std::min(name.size(), sizeof un.sun_path - 1);
    std::memcpy(un.sun_path + 1, name.data(), size);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
  sockaddr_un un{};
  socklen_t length = 0;
};

int make_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

}  // namespace

AgentGuard::~AgentGuard() {
  if (socket_ >= 0) ::close(socket_);
}

Result<void> AgentGuard::take(const std::string& name, Duration patience) {
  const Address address(name);
  const Instant until = monotonic_now() + patience;
  socket_ = make_socket();
  for (;;) {
    if (::bind(socket_, address.get(), address.length) == 0 && ::listen(socket_, 4) == 0) return {};
    if (errno != EADDRINUSE || monotonic_now() >= until) {
      return make_error(ErrorCode::unavailable,
                        "an earlier agent of this job does not end ({}); look for 'weft run-agent' "
                        "on this machine",
                        std::strerror(errno));
    }
    const int asks = make_socket();
    (void)::connect(asks, address.get(), address.length);
    (void)::poll(nullptr, 0, look_again_ms);
    ::close(asks);
  }
}

bool AgentGuard::is_asked_for() const {
  if (socket_ < 0) return false;
  for (;;) {
    const int asks = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (asks < 0) return false;
    ucred other{};
    socklen_t length = sizeof other;
    const bool known = ::getsockopt(asks, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0;
    ::close(asks);
    if (known && other.uid == ::geteuid()) return true;
  }
}

}  // namespace weft

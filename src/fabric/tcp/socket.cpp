// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/socket.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/descriptor_limit.hpp"
#include "base/socket_file.hpp"

namespace weft::tcp {
namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

void set_option(int fd, int level, int name, int value) {
  // Options tune; a kernel without one of them works all the same.
  [[maybe_unused]] const int ignored = ::setsockopt(fd, level, name, &value, sizeof value);
}

void set_buffers(int fd, const SocketSettings& settings) {
  if (settings.send_buffer > 0) {
    set_option(fd, SOL_SOCKET, SO_SNDBUF, static_cast<int>(settings.send_buffer));
  }
  if (settings.receive_buffer > 0) {
    set_option(fd, SOL_SOCKET, SO_RCVBUF, static_cast<int>(settings.receive_buffer));
  }
}

/// The kernel counts in whole seconds, at least one and at most these.
constexpr double kLongestIdle = 32767;
constexpr int kMostProbes = 127;

int whole_seconds(Duration time) {
  return static_cast<int>(std::clamp(time.to_seconds(), 1.0, kLongestIdle));
}

/// Without a heartbeat of its own a connection is probed in the second half of the time that a peer
/// may be silent. With one, unanswered probes follow at the same pace until that time is over, or
/// slower when there would be too many. Short times become a little longer.
void set_keepalive(int fd, const SocketSettings& settings) {
  const int silence = whole_seconds(settings.keepalive);
  const bool beats = settings.heartbeat != Duration{};
  const int idle = beats ? whole_seconds(settings.heartbeat) : std::max(1, silence / 2);
  const int rest = std::max(1, silence - idle);
  const int pace =
      beats ? std::max(idle, (rest + kMostProbes - 1) / kMostProbes) : std::max(1, silence / 8);
  const int probes = beats ? (rest + pace - 1) / pace : std::clamp(rest / pace, 2, 4);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::min(pace, rest));
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

// On loopback no packet is lost for want of bandwidth, so there is none to probe for: pacing and
// windows of a few packets, as BBR has them, only make large messages wait. Reno is in every kernel
// and free for everybody.
void send_without_pacing(int fd) {
  constexpr std::string_view kReno = "reno";
  [[maybe_unused]] const int ignored =
      ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size());
}

// What the kernel has taken but not sent goes before whatever is posted next. The socket is
// writable again below half of this, 5 us of a network of 100 Gbit/s.
constexpr int kMostUnsent = 128 << 10;

void set_up_connection(int fd, const SocketAddress& peer, const SocketSettings& settings) {
  if (peer.family() == AF_UNIX) return;
  if (peer.is_loopback()) send_without_pacing(fd);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kMostUnsent);
  set_keepalive(fd, settings);
}

Descriptor make_socket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// True when nobody listens at the socket of that path and it was removed. To a file that is no
// socket one cannot connect either.
bool remove_dead_socket(const SocketAddress& address) {
  const std::string path = address.path();
  if (path.empty()) return false;
  const Descriptor probe = make_socket(AF_UNIX);
  if (::connect(probe.get(), address.get(), address.length) == 0 || errno != ECONNREFUSED) {
    return false;
  }
  return remove_socket_file(path);
}

Error listen_error(const SocketAddress& address, int code) {
  const char* fix = code == EADDRINUSE        ? "choose another port, or 0 for any"
                    : code == EADDRNOTAVAIL   ? "choose an address of this host"
                    : code == EACCES          ? "choose a port above 1023 or a writable directory"
                    : lacks_descriptors(code) ? raise_open_files
                                              : "choose another address";
  return {code == EMFILE || code == ENFILE ? ErrorCode::exhausted : ErrorCode::unavailable,
          fmt::format("listen '{}': {}; {}", to_text(address), std::strerror(code), fix)};
}

ConnectState state_of(int code) {
  switch (code) {
    case 0:
      return ConnectState::connected;
    case EINPROGRESS:
      return ConnectState::in_progress;
    case ECONNREFUSED:
    case ENOENT:
      return ConnectState::refused;
    case EAGAIN:
      return ConnectState::busy;
    default:
      return ConnectState::failed;
  }
}

// A port that nobody listens on may be chosen as the connection's own: then it reached itself.
bool reached_itself(int fd) {
  SocketAddress here, there;
  here.length = there.length = sizeof(sockaddr_storage);
  if (::getsockname(fd, here.get(), &here.length) != 0 || here.family() == AF_UNIX) return false;
  if (::getpeername(fd, there.get(), &there.length) != 0) return false;
  return here.length == there.length &&
         std::memcmp(&here.storage, &there.storage, here.length) == 0;
}

}  // namespace

Result<Descriptor> listen_on(SocketAddress& address, const SocketSettings& settings) {
  Descriptor listener = make_socket(address.family());
  if (!listener.open()) return listen_error(address, errno);
  if (address.family() != AF_UNIX) set_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  set_buffers(listener.get(), settings);  // inherited, and in time for the window scale
  int bound = ::bind(listener.get(), address.get(), address.length);
  if (bound != 0 && errno == EADDRINUSE && remove_dead_socket(address)) {
    bound = ::bind(listener.get(), address.get(), address.length);
  }
  if (bound != 0 || ::listen(listener.get(), kBacklog) != 0) return listen_error(address, errno);
  address.length = sizeof address.storage;
  if (::getsockname(listener.get(), address.get(), &address.length) != 0) {
    return listen_error(address, errno);
  }
  return listener;
}

ConnectState start_connect(const SocketAddress& address, const SocketSettings& settings,
                           Descriptor& out) {
  out = make_socket(address.family());
  if (!out.open()) {
    tell_of_lacking_descriptors("tcp: cannot open a connection", errno);
    return ConnectState::busy;
  }
  set_buffers(out.get(), settings);
  set_up_connection(out.get(), address, settings);
  const int code = ::connect(out.get(), address.get(), address.length) == 0 ? 0 : errno;
  if (code == 0 && reached_itself(out.get())) return ConnectState::refused;
  return state_of(code);
}

ConnectState finish_connect(int fd) {
  int code = 0;
  socklen_t length = sizeof code;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0) return ConnectState::failed;
  if (code == 0 && reached_itself(fd)) return ConnectState::refused;
  return state_of(code);
}

Descriptor accept_from(int listener, const SocketSettings& settings, int& error) {
  SocketAddress from;
  from.length = sizeof from.storage;
  Descriptor accepted(::accept4(listener, from.get(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
  error = accepted.open() ? 0 : errno;
  if (accepted.open()) set_up_connection(accepted.get(), from, settings);
  return accepted;
}

void set_service_level(int fd, std::uint8_t dscp, std::uint8_t level) {
  constexpr int kHighestPriority = 6;  // above needs CAP_NET_ADMIN
  // Both, because an IPv6 socket may carry an IPv4 connection.
  set_option(fd, IPPROTO_IP, IP_TOS, dscp << 2);
  set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, dscp << 2);
  // After IP_TOS, which sets a priority of its own.
  set_option(fd, SOL_SOCKET, SO_PRIORITY, level * kHighestPriority / 15);
}

PeerSigns peer_signs(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  return {.waits_for_answer = info.tcpi_unacked > 0 || info.tcpi_probes > 0,
          .since_answer = Duration::milliseconds(info.tcpi_last_ack_recv)};
}

}  // namespace weft::tcp

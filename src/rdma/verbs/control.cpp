// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/control.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/listen.hpp"
#include "base/make_error.hpp"
#include "rdma/verbs/hello.hpp"
#include "wire/codec.hpp"

namespace weft::rdma {
namespace {

constexpr int slice_ms = 100;  // between two looks at whether to stop
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
using Clock = std::chrono::steady_clock;

Clock::time_point deadline_in(Duration limit) {
  return Clock::now() + std::chrono::nanoseconds(limit.to_nanoseconds());
}

Error system_error(const std::string& what) {
  return make_error(ErrorCode::unavailable, "{}: {}", what, std::strerror(errno));
}

/// Until the socket is ready for one of `events`, or has ended.
Result<void> wait_ready(int fd, short events, Clock::time_point deadline, const StopCheck& stop) {
  for (;;) {
    pollfd ready{fd, events, 0};
    const int n = ::poll(&ready, 1, slice_ms);
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return system_error("poll");
    if (stop && stop()) return Error{ErrorCode::cancelled, "interrupted"};
    if (Clock::now() >= deadline) return Error{ErrorCode::timed_out, "the other side is silent"};
  }
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

void make_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Result<Addresses> look_up(const HostPort& place, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const char* const host = place.host.empty() ? nullptr : place.host.c_str();
  const std::string port = std::to_string(place.port);
  if (const int code = ::getaddrinfo(host, port.c_str(), &hints, &found); code != 0) {
    return make_error(ErrorCode::unavailable, "'{}': {}: name a host that this machine knows",
                      place.host, ::gai_strerror(code));
  }
  return Addresses(found, &::freeaddrinfo);
}

Result<Descriptor> connect_to(const addrinfo& where, Clock::time_point deadline,
                              const StopCheck& stop) {
  Descriptor fd(::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return system_error("socket");
  if (::connect(fd.get(), where.ai_addr, where.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return system_error("connect");
  if (auto good = wait_ready(fd.get(), POLLOUT, deadline, stop); !good) {
    return std::move(good).error();
  }
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0) {
    errno = failure;
    return system_error("connect");
  }
  return fd;
}

}  // namespace

Result<HostPort> parse_place(const std::string& text) {
  const bool is_port = text.find(':') == std::string::npos;
  auto place = split_host_port(is_port ? ":" + text : text);
  if (place) return std::move(*place);
  return invalid("'{}' is no address: give HOST:PORT or [IPV6]:PORT", text);
}

ControlConnection::ControlConnection(Descriptor socket) : socket_(std::move(socket)) {
  make_nonblocking(socket_.get());
  // A host that vanished must not keep the other one waiting for ever: half a minute.
  const int on = 1, idle_s = 15, interval_s = 5, probes = 3;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Result<ControlConnection> ControlConnection::connect(const HostPort& place, Duration limit,
                                                     const StopCheck& stop) {
  const auto deadline = deadline_in(limit);
  const auto addresses = look_up(place, 0);
  if (!addresses) return addresses.error();
  Error last;
  for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
    auto fd = connect_to(*a, deadline, stop);
    if (fd) return ControlConnection(std::move(fd).value());
    last = std::move(fd).error();
  }
  return Error{last.code, fmt::format("{}:{}: {}: start `weft odp bench --listen {}` there first",
                                      place.host, place.port, last.message, place.port)};
}

Result<void> ControlConnection::send(std::span<const std::byte> message, Duration limit,
                                     const StopCheck& stop) {
  const auto deadline = deadline_in(limit);
  std::vector<std::byte> framed(sizeof(std::uint32_t) + message.size());
  wire::Writer out(framed);
  out.put(static_cast<std::uint32_t>(message.size()));
  out.put_bytes(message);
  for (std::size_t sent = 0; sent < framed.size();) {
    const auto n = ::send(socket_.get(), framed.data() + sent, framed.size() - sent, MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n >= 0) continue;
    if (!would_block()) return system_error("the other side is gone");
    if (auto good = wait_ready(socket_.get(), POLLOUT, deadline, stop); !good) return good;
  }
  return {};
}

Result<std::vector<std::byte>> ControlConnection::receive(Duration limit, const StopCheck& stop) {
  const auto deadline = deadline_in(limit);
  std::vector<std::byte> bytes(sizeof(std::uint32_t));
  bool knows_length = false;
  for (std::size_t got = 0;;) {
    if (got == bytes.size()) {
      if (knows_length) return bytes;
      const auto length = wire::Reader(bytes).get<std::uint32_t>();
      if (length == 0 || length > longest_message) {
        return Error{ErrorCode::corrupt, "that is not `weft odp bench`: no message has its length"};
      }
      bytes.resize(length);
      knows_length = true;
      got = 0;
    }
    const auto n = ::recv(socket_.get(), bytes.data() + got, bytes.size() - got, 0);
    if (n == 0) return Error{ErrorCode::unavailable, "the other side has closed"};
    if (n > 0) {
      got += static_cast<std::size_t>(n);
      continue;
    }
    if (!would_block()) return system_error("the other side is gone");
    if (auto good = wait_ready(socket_.get(), POLLIN, deadline, stop); !good) {
      return std::move(good).error();
    }
  }
}

bool ControlConnection::has_ended() const {
  std::byte byte{};
  return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || !would_block();
}

Result<void> ControlConnection::wait_for_end(const StopCheck& stop) const {
  while (!has_ended()) {
    auto good = wait_ready(socket_.get(), POLLIN, Clock::time_point::max(), stop);
    if (!good) return good;
  }
  return {};
}

Result<ControlListener> ControlListener::open(const HostPort& place) {
  const auto addresses = look_up(place, AI_PASSIVE);
  if (!addresses) return addresses.error();
  Descriptor fd = listen_on(addresses->get());
  if (fd.open()) return ControlListener(std::move(fd));
  return make_error(ErrorCode::io, "port {}: {}: take another, or 0 for a free one", place.port,
                    std::strerror(errno));
}

Result<std::pair<ControlConnection, std::string>> ControlListener::accept(
    const StopCheck& stop) const {
  for (;;) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const int fd = ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      std::array<char, NI_MAXHOST> name{};
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, name.data(), name.size(),
                    nullptr, 0, NI_NUMERICHOST);
      constexpr std::string_view mapped = "::ffff:";  // an IPv4 address
      std::string text(name.data());
      if (text.starts_with(mapped)) text.erase(0, mapped.size());
      return std::pair(ControlConnection(Descriptor(fd)), std::move(text));
    }
    // Any other failure is about one client, or passes.
    auto good = wait_ready(socket_.get(), POLLIN, Clock::time_point::max(), stop);
    if (!good) return std::move(good).error();
  }
}

std::uint16_t ControlListener::port() const {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&where), &size) != 0) return 0;
  return ntohs(where.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(where).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(where).sin_port);
}

}  // namespace weft::rdma

// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics_server.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "metrics/http_request.hpp"

namespace weft::metrics {
namespace {

/// Anybody who reaches the port reads the figures, so other machines are let in only when asked.
const std::string default_host = "127.0.0.1";
constexpr Duration accept_pause = Duration::milliseconds(100);
/// How much of what a client still sends is read, so that closing does not cut off the answer.
constexpr std::size_t most_drained = 64 * 1024;

struct HostPort {
  std::string host;  ///< empty: loopback
  std::string port;
};

std::optional<HostPort> split(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.empty()) return std::nullopt;
  } else if (host.find_first_of("[]:") != std::string_view::npos) {
    return std::nullopt;
  }
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  return HostPort{std::string(host), std::string(port)};
}

Error refused(std::string_view address, std::string_view why) {
  return Error{
      ErrorCode::unavailable,
      fmt::format("--metrics: '{}': {}; take another, or port 0 for a free one", address, why)};
}

/// A listening socket, or the errno of what failed.
int listen_on(const addrinfo& where, int& error) {
  const int fd =
      ::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, where.ai_protocol);
  if (fd < 0) {
    error = errno;
    return -1;
  }
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // The address of all interfaces takes IPv4 clients as well.
  if (where.ai_family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd, where.ai_addr, where.ai_addrlen) == 0 && ::listen(fd, 16) == 0) return fd;
  error = errno;
  ::close(fd);
  return -1;
}

/// Tries the addresses of a host in order, IPv6 first when any will do.
Result<int> listen_somewhere(std::string_view address, const HostPort& place) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string& host = place.host.empty() ? default_host : place.host;
  const int failed = ::getaddrinfo(host.c_str(), place.port.c_str(), &hints, &found);
  if (failed != 0) return refused(address, ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  int error = 0;
  for (const bool ipv6 : {true, false}) {
    for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
      if ((a->ai_family == AF_INET6) != ipv6) continue;
      const int fd = listen_on(*a, error);
      if (fd >= 0) return fd;
    }
  }
  return refused(address, std::strerror(error));
}

std::uint16_t port_of(int socket) {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&where), &size) != 0) return 0;
  if (where.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(where).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(where).sin_port);
}

bool watch(int poller, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(poller, operation, fd, &event) == 0;
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

struct MetricsServer::Connection {
  enum class State : std::uint8_t { reading, writing, draining, finished };

  Connection(int descriptor, Instant until) : fd(descriptor), deadline(until) {}
  ~Connection() { ::close(fd); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd;
  Instant deadline;
  State state = State::reading;
  std::string received;  ///< at most largest_head bytes
  std::string answer;
  std::size_t written = 0;  ///< of the answer
  std::size_t drained = 0;
};

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(std::string_view address,
                                                           const Registry& registry) {
  const std::optional<HostPort> place = split(address);
  if (!place) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--metrics: '{}' is no [HOST]:PORT; write it like :9100, "
                             "0.0.0.0:9100 or [::1]:9100",
                             address)};
  }
  const Result<int> listener = listen_somewhere(address, *place);
  if (!listener) return listener.error();
  const int poller = ::epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) {
    const int error = errno;
    ::close(*listener);
    return refused(address, std::strerror(error));
  }
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(*listener, poller, port_of(*listener), registry));
}

MetricsServer::MetricsServer(int listener, int poller, std::uint16_t port, const Registry& registry)
    : listener_(listener), poller_(poller), port_(port), registry_(registry) {
  connections_.reserve(most_connections + 1);
  watch_listener(true);
}

MetricsServer::~MetricsServer() {
  connections_.clear();
  ::close(poller_);
  ::close(listener_);
}

void MetricsServer::watch_listener(bool on) {
  watch(poller_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener_, EPOLLIN);
}

Instant MetricsServer::next_deadline() const {
  Instant first = accept_again_;
  for (const auto& connection : connections_) first = std::min(first, connection->deadline);
  return first;
}

void MetricsServer::serve(Instant now) {
  if (now >= accept_again_) {
    accept_again_ = Instant::never();
    watch_listener(true);
  }
  for (const auto& connection : connections_) {
    if (now >= connection->deadline) connection->state = Connection::State::finished;
  }
  close_finished();

  std::array<epoll_event, most_connections + 1> events;
  const int ready = ::epoll_wait(poller_, events.data(), static_cast<int>(events.size()), 0);
  bool accepting = false;
  for (int i = 0; i < ready; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == listener_) accepting = true;
    const auto it = std::find_if(connections_.begin(), connections_.end(),
                                 [fd](const auto& c) { return c->fd == fd; });
    if (it != connections_.end()) advance(**it);
  }
  close_finished();
  // Only now: a new connection may get the number of a descriptor that was just closed.
  if (accepting) accept_all(now);
}

void MetricsServer::accept_all(Instant now) {
  for (std::size_t i = 0; i < most_connections; ++i) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      const bool exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) {
        // The listener stays readable meanwhile and would keep the driver from sleeping.
        watch_listener(false);
        accept_again_ = now + accept_pause;
      }
      return;
    }
    if (connections_.size() == most_connections) connections_.erase(connections_.begin());
    Connection& connection =
        *connections_.emplace_back(std::make_unique<Connection>(fd, now + request_time));
    if (!watch(poller_, EPOLL_CTL_ADD, fd, EPOLLIN)) {
      connection.state = Connection::State::finished;
    } else {
      advance(connection);
    }
  }
  close_finished();
}

void MetricsServer::advance(Connection& connection) {
  if (connection.state == Connection::State::reading) read_request(connection);
  if (connection.state == Connection::State::writing) write_answer(connection);
  if (connection.state == Connection::State::draining) drain(connection);
}

void MetricsServer::read_request(Connection& connection) {
  std::array<char, largest_head> chunk;
  const std::size_t room = largest_head - connection.received.size();
  const ssize_t n = ::recv(connection.fd, chunk.data(), room, 0);
  if (n < 0 && (would_block() || errno == EINTR)) return;
  if (n <= 0) {
    connection.state = Connection::State::finished;
    return;
  }
  connection.received.append(chunk.data(), static_cast<std::size_t>(n));
  const std::size_t head = end_of_head(connection.received);
  if (head == 0 && connection.received.size() < largest_head) return;

  HttpVerdict verdict{HttpStatus::header_too_large, true};
  if (head > 0) verdict = judge_request(std::string_view(connection.received).substr(0, head));
  const bool ok = verdict.status == HttpStatus::ok;
  connection.answer = http_response(verdict, ok ? registry_.exposition() : std::string());
  connection.state = Connection::State::writing;
}

void MetricsServer::write_answer(Connection& connection) {
  const std::string_view rest = std::string_view(connection.answer).substr(connection.written);
  const ssize_t n = ::send(connection.fd, rest.data(), rest.size(), MSG_NOSIGNAL);
  if (n < 0 && !would_block() && errno != EINTR) {
    connection.state = Connection::State::finished;
    return;
  }
  if (n > 0) connection.written += static_cast<std::size_t>(n);
  if (connection.written < connection.answer.size()) {
    watch(poller_, EPOLL_CTL_MOD, connection.fd, EPOLLOUT);
    return;
  }
  ::shutdown(connection.fd, SHUT_WR);
  watch(poller_, EPOLL_CTL_MOD, connection.fd, EPOLLIN);
  connection.state = Connection::State::draining;
}

void MetricsServer::drain(Connection& connection) {
  std::array<char, 4096> chunk;
  const ssize_t n = ::recv(connection.fd, chunk.data(), chunk.size(), 0);
  if (n < 0 && (would_block() || errno == EINTR)) return;
  if (n > 0) connection.drained += static_cast<std::size_t>(n);
  if (n <= 0 || connection.drained > most_drained) {
    connection.state = Connection::State::finished;
  }
}

void MetricsServer::close_finished() {
  std::erase_if(connections_,
                [](const auto& c) { return c->state == Connection::State::finished; });
}

}  // namespace weft::metrics

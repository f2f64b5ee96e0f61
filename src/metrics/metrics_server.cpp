// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics_server.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/host_port.hpp"
#include "base/listen.hpp"
#include "base/make_error.hpp"
#include "metrics/http_request.hpp"

namespace weft::metrics {
namespace {

/// Every client that reaches the port reads the figures, so other machines are let in only when
/// asked.
const std::string default_host = "127.0.0.1";
constexpr Duration accept_pause = Duration::milliseconds(100);
/// How many bytes that a client still sends are read, so that closing does not cut off the answer.
constexpr std::size_t most_drained = 64 * 1024;

Error refused(std::string_view address, std::string_view why) {
  return make_error(ErrorCode::unavailable,
                    "--metrics: '{}': {}; take another, or port 0 for a free one", address, why);
}

Result<Descriptor> listen_somewhere(std::string_view address, const HostPort& place) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string& host = place.host.empty() ? default_host : place.host;
  const std::string port = std::to_string(place.port);
  const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) return refused(address, ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Descriptor fd = listen_on(found);
  if (!fd.open()) return refused(address, std::strerror(errno));
  return fd;
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
  const std::optional<HostPort> place = split_host_port(address);
  if (!place) {
    return invalid(
        "--metrics: '{}' is no [HOST]:PORT; write it like :9100, 0.0.0.0:9100 or [::1]:9100",
        address);
  }
  Result<Descriptor> listener = listen_somewhere(address, *place);
  if (!listener) return listener.error();
  Descriptor poller(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller.open()) return refused(address, std::strerror(errno));
  const std::uint16_t port = port_of(listener->get());
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(std::move(*listener), std::move(poller), port, registry));
}

MetricsServer::MetricsServer(Descriptor listener, Descriptor poller, std::uint16_t port,
                             const Registry& registry)
    : listener_(std::move(listener)), poller_(std::move(poller)), port_(port), registry_(registry) {
  connections_.reserve(most_connections + 1);
  watch_listener(true);
}

MetricsServer::~MetricsServer() = default;

void MetricsServer::watch_listener(bool on) {
  watch(poller_.get(), on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener_.get(), EPOLLIN);
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
  const int ready = ::epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool accepting = false;
  for (int i = 0; i < ready; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == listener_.get()) accepting = true;
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
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
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
    if (!watch(poller_.get(), EPOLL_CTL_ADD, fd, EPOLLIN)) {
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
    watch(poller_.get(), EPOLL_CTL_MOD, connection.fd, EPOLLOUT);
    return;
  }
  ::shutdown(connection.fd, SHUT_WR);
  watch(poller_.get(), EPOLL_CTL_MOD, connection.fd, EPOLLIN);
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

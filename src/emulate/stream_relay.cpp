// SPDX-License-Identifier: Apache-2.0
#include "emulate/stream_relay.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/make_error.hpp"
#include "testbed/clock.hpp"

namespace weft::emulate {
namespace {

using testbed::clock_now;

constexpr std::size_t kAtOnce = 65'536;
constexpr Duration kRelayCatchUp = Duration::milliseconds(1);
/// A sender is stopped when the link is busy for longer: as much as a socket's buffer would take.
constexpr Duration kLongestQueue = Duration::milliseconds(5);
constexpr std::size_t kMostHeld = std::size_t{64} << 20;
// A sleeper may wake so much later than it asked for: the rest is spent looking.
constexpr Duration kLateWaking = Duration::microseconds(60);

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return make_error(ErrorCode::io, "{}: is too long for a socket's path", path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Error failed(const std::string& path) {
  return make_error(ErrorCode::io, "{}: {}", path, std::strerror(errno));
}

int new_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

}  // namespace

Result<StreamRelay> StreamRelay::make(const std::string& listen, const std::string& connect,
                                      const LinkShape& shape) {
  const auto address = address_of(listen);
  if (!address) return address.error();
  if (const auto other = address_of(connect); !other) return other.error();
  const int listener = new_socket();
  if (listener < 0) return failed(listen);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(listener, SOMAXCONN) != 0) {
    Error error = failed(listen);
    ::close(listener);
    return error;
  }
  return StreamRelay(listener, connect, shape);
}

StreamRelay::StreamRelay(int listener, std::string connect, const LinkShape& shape)
    : listener_(listener),
      connect_(std::move(connect)),
      links_{net::PacedLink(shape, kRelayCatchUp), net::PacedLink(shape, kRelayCatchUp)},
      buffer_(kAtOnce) {
  for (auto& link : links_) link.start(clock_now());
}

StreamRelay::StreamRelay(StreamRelay&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)),
      connect_(std::move(other.connect_)),
      links_(other.links_),
      connections_(std::move(other.connections_)),
      buffer_(std::move(other.buffer_)),
      counters_(other.counters_) {}

StreamRelay::~StreamRelay() {
  for (const Connection& connection : connections_) {
    for (const int socket : connection.sockets) ::close(socket);
  }
  if (listener_ >= 0) ::close(listener_);
}

void StreamRelay::accept_all() {
  for (;;) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    const auto address = address_of(connect_);
    const int server = new_socket();
    if (server < 0 || !address ||
        ::connect(server, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
      // As the server would have refused it.
      ::close(client);
      if (server >= 0) ::close(server);
      continue;
    }
    ++counters_.connections;
    connections_.emplace_back().sockets = {client, server};
  }
}

bool StreamRelay::may_read(const Connection& connection, std::size_t from, Instant now) const {
  const Direction& direction = connection.directions[from];
  return !direction.at_end && direction.held.size() * kAtOnce < kMostHeld &&
         links_[from].free_from() <= now + kLongestQueue;
}

void StreamRelay::take(Connection& connection, std::size_t from) {
  const Instant now = clock_now();
  Direction& direction = connection.directions[from];
  if (!may_read(connection, from, now)) return;
  const ssize_t n = ::read(connection.sockets[from], buffer_.data(), buffer_.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto count = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  const auto passage = links_[from].send(now, now, ByteCount(count));
  direction.held.push_back({passage.arrival, {buffer_.begin(), buffer_.begin() + n * (n > 0)}});
  if (count == 0) {
    direction.at_end = true;
    return;
  }
  ++counters_.chunks;
  counters_.bytes += count;
}

void StreamRelay::release(Connection& connection, std::size_t from) {
  Direction& direction = connection.directions[from];
  const int to = connection.sockets[1 - from];
  direction.stuck = false;
  while (!direction.held.empty() && direction.held.front().due <= clock_now()) {
    Chunk& chunk = direction.held.front();
    if (chunk.bytes.empty()) {
      ::shutdown(to, SHUT_WR);
      direction.shut = true;
    } else {
      const ssize_t n = ::send(to, chunk.bytes.data() + chunk.written,
                               chunk.bytes.size() - chunk.written, MSG_NOSIGNAL);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        direction.stuck = true;
        return;
      }
      if (n < 0) {
        // The receiver has closed: the sender finds out as it would by a reset.
        ::shutdown(connection.sockets[from], SHUT_RD);
        direction.held.clear();
        direction.at_end = direction.shut = true;
        return;
      }
      chunk.written += static_cast<std::size_t>(n);
      if (chunk.written < chunk.bytes.size()) continue;
    }
    direction.held.pop_front();
  }
}

void StreamRelay::turn(int also) {
  accept_all();
  for (auto it = connections_.begin(); it != connections_.end();) {
    for (std::size_t from : {0U, 1U}) {
      take(*it, from);
      release(*it, from);
    }
    const bool is_over = it->directions[0].shut && it->directions[1].shut;
    if (!is_over) {
      ++it;
      continue;
    }
    for (const int socket : it->sockets) ::close(socket);
    it = connections_.erase(it);
  }
  await(also);
}

void StreamRelay::await(int also) {
  std::vector<pollfd> descriptors{{listener_, POLLIN, 0}, {also, POLLIN, 0}};
  Instant next = Instant::never();
  const Instant now = clock_now();
  for (const Connection& connection : connections_) {
    std::array<short, 2> events{};
    for (std::size_t from : {0U, 1U}) {
      const Direction& direction = connection.directions[from];
      if (may_read(connection, from, now)) {
        events[from] |= POLLIN;
      } else if (!direction.at_end) {
        next = std::min(next, std::max(links_[from].free_from() - kLongestQueue, now));
      }
      if (direction.stuck) {
        events[1 - from] |= POLLOUT;
      } else if (!direction.held.empty()) {
        next = std::min(next, direction.held.front().due);
      }
    }
    for (std::size_t side : {0U, 1U}) {
      if (events[side] != 0) descriptors.push_back({connection.sockets[side], events[side], 0});
    }
  }
  thread_local const int precise = ::prctl(PR_SET_TIMERSLACK, 1UL);
  (void)precise;
  if (next == Instant::never()) {
    ::ppoll(descriptors.data(), descriptors.size(), nullptr, nullptr);
    return;
  }
  const Duration left = next - now - kLateWaking;
  if (left <= Duration{}) return;
  const timespec timeout{left.ticks() / 1'000'000'000, left.ticks() % 1'000'000'000};
  ::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
}

}  // namespace weft::emulate

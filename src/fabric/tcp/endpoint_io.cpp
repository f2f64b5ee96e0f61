// SPDX-License-Identifier: Apache-2.0
// Endpoint: frames in, frames out.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/check.hpp"
#include "base/log.hpp"
#include "fabric/tcp/endpoint.hpp"

namespace weft::tcp {
namespace {

// Bounds on what one call does for one connection, so that the others have their turn.
constexpr int kReadsPerPoll = 8;
constexpr std::size_t kBytesPerFlush = std::size_t{4} << 20;
constexpr std::size_t kHotConnections = 2;

// The kernel has no room now; everything else is found out when reading.
bool is_for_now(int code) {
  return code == EAGAIN || code == ENOBUFS || code == ENOMEM || code == EINTR;
}

}  // namespace

bool Endpoint::may_transfer(const Connection& connection) const {
  return connection.phase == Phase::established &&
         connection.peer->reported_session == connection.session;
}

void Endpoint::make_pending(Connection& connection) {
  if (std::exchange(connection.is_pending, true)) return;
  pending_.push_back(&connection);
}

void Endpoint::mark_hot(Connection& connection) {
  connection.futile_reads = 0;
  if (!hot_.empty() && hot_.front() == &connection) return;
  std::erase(hot_, &connection);
  if (hot_.size() == kHotConnections) hot_.pop_back();
  hot_.insert(hot_.begin(), &connection);
}

// Reads all there is and delivers it. Returns whether anything happened; the connection may be
// closed afterwards.
bool Endpoint::serve(Connection& connection, Yield& yield) {
  if (!may_transfer(connection)) return false;
  connection.served_in = poll_number_;
  bool received = false;
  for (int i = 0; i < kReadsPerPoll; ++i) {
    if (!deliver(connection, yield)) return true;
    FrameReader::Plan plan;
    const std::size_t entries = connection.reader.plan(plan);
    if (entries == 0) {
      make_pending(connection);
      return true;
    }
    const std::size_t wanted = plan[0].iov_len + (entries > 1 ? plan[1].iov_len : 0);
    const int fd = connection.socket.get();
    const ssize_t n = entries == 1 ? ::recv(fd, plan[0].iov_base, plan[0].iov_len, 0)
                                   : ::readv(fd, plan.data(), static_cast<int>(entries));
    if (n < 0 && is_for_now(errno)) return received;
    if (n <= 0) {
      lose(connection, n == 0 ? "the peer closed it" : std::strerror(errno));
      return true;
    }
    if (!received) mark_hot(connection);
    received = made_progress_ = true;
    connection.last_used = now_;
    connection.reader.filled(static_cast<std::size_t>(n));
    // Less than asked for: there is nothing more, which is not worth a call to confirm.
    if (static_cast<std::size_t>(n) < wanted) {
      deliver(connection, yield);
      return true;
    }
  }
  return received;
}

// Hands out complete messages. False when there is no room for more or the connection is gone.
bool Endpoint::deliver(Connection& connection, Yield& yield) {
  for (;;) {
    if (yield.full()) {
      if (connection.reader.has_buffered()) make_pending(connection);
      return false;
    }
    switch (connection.reader.next()) {
      case FrameReader::Event::need_more:
        return true;
      case FrameReader::Event::message: {
        if (!std::exchange(connection.is_held, true)) held_.push_back(&connection);
        Completion& completion = yield.out[yield.count++];
        completion = {};
        completion.kind = CompletionKind::received;
        completion.peer = connection.peer->id;
        completion.data = connection.reader.message();
        break;
      }
      case FrameReader::Event::drain:
        connection.drain_received = true;
        if (!std::exchange(connection.drain_wanted, true)) connection.drain_since = now_;
        flush(*connection.peer);
        if (connection.phase == Phase::closed) return false;
        break;
      case FrameReader::Event::bad:
        spdlog::warn("tcp: node {} sent {}: connection closed", connection.peer->id.value(),
                     connection.reader.complaint());
        lose(connection, connection.reader.complaint());
        return false;
    }
  }
}

// Sends as many of the peer's operations as the socket takes, then frames about closing.
void Endpoint::flush(PeerSession& peer) {
  if (peer.connection == nullptr) {
    if (!peer.queue.empty()) need_attention(peer);
    return;
  }
  Connection& connection = *peer.connection;
  if (!may_transfer(connection)) return;
  if (flush_operations(connection)) flush_drain(connection);
}

// True when all operations that may go are in the socket.
bool Endpoint::flush_operations(Connection& connection) {
  SendQueue& queue = connection.peer->queue;
  std::size_t budget = kBytesPerFlush;
  while (!queue.empty()) {
    // Once it is to be closed, only the frame that was begun goes out.
    if (connection.drain_wanted && connection.front_sent == 0) break;
    const std::size_t limit = connection.drain_wanted ? 1 : std::numeric_limits<std::size_t>::max();
    apply_level(connection, queue.front().op.service_level);
    std::size_t bytes = 0;
    const std::size_t pieces = queue.gather(pieces_, connection.front_sent, limit, bytes);
    const ssize_t n = send_pieces(connection, pieces, bytes);
    if (n < 0) {
      // Another connection could not read it either.
      WEFT_CHECK(errno != EFAULT, "memory that was posted to node {} cannot be read: was it freed?",
                 connection.peer->id.value());
      set_wants_to_write(connection, is_for_now(errno));
      return false;
    }
    const auto sent = static_cast<std::size_t>(n);
    retire_sent(connection, sent);
    budget -= std::min(budget, sent);
    if (sent < bytes || (budget == 0 && !queue.empty())) {
      set_wants_to_write(connection, true);
      return false;
    }
  }
  set_wants_to_write(connection, false);
  return true;
}

// A few bytes are put together here, which costs less than having the kernel do it.
ssize_t Endpoint::send_pieces(Connection& connection, std::size_t pieces, std::size_t bytes) {
  const int fd = connection.socket.get();
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  std::array<std::byte, 512> joined;
  if (bytes > joined.size()) {
    msghdr message{};
    message.msg_iov = pieces_.data();
    message.msg_iovlen = pieces;
    return ::sendmsg(fd, &message, kFlags);
  }
  std::size_t used = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    std::memcpy(joined.data() + used, pieces_[i].iov_base, pieces_[i].iov_len);
    used += pieces_[i].iov_len;
  }
  return ::send(fd, joined.data(), used, kFlags);
}

// Completes the operations that are in the socket altogether.
void Endpoint::retire_sent(Connection& connection, std::size_t bytes) {
  SendQueue& queue = connection.peer->queue;
  connection.last_used = now_;
  connection.front_sent += bytes;
  while (!queue.empty() && connection.front_sent >= queue.front().frame_size()) {
    QueuedFrame& operation = queue.front();
    connection.front_sent -= operation.frame_size();
    complete(operation.op.kind == OpKind::send ? CompletionKind::sent : CompletionKind::written,
             operation.op);
    queue.pop();
    operations_.give(operation);
  }
  if (connection.next_check == Instant::never()) {
    connection.next_check = now_ + options_.peer_timeout / 8;
    schedule(connection.next_check);
  }
}

void Endpoint::flush_drain(Connection& connection) {
  if (!connection.drain_wanted) return;
  if (connection.drain_sent < kHeaderSize) {
    const HeaderBytes header = encode(FrameHeader{FrameType::drain});
    const auto rest = std::span(header).subspan(connection.drain_sent);
    const ssize_t n =
        ::send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) connection.drain_sent += static_cast<std::size_t>(n);
    if (connection.drain_sent < kHeaderSize) {
      set_wants_to_write(connection, n > 0 || is_for_now(errno));
      return;
    }
  }
  if (connection.is_drained()) close_drained(connection);
}

void Endpoint::apply_level(Connection& connection, ServiceLevel level) {
  if (connection.level == level) return;
  connection.level = level;
  set_service_level(connection.socket.get(), options_.dscp[level.value()], level.value());
}

void Endpoint::set_wants_to_write(Connection& connection, bool wants) {
  if (std::exchange(connection.wants_to_write, wants) == wants) return;
  blocked_ += wants ? 1 : std::size_t(-1);
  watch(connection, wants ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

}  // namespace weft::tcp

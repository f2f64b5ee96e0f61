// SPDX-License-Identifier: Apache-2.0
// Endpoint: timers, peers that fell silent, and closing connections that others need.
#include <utility>

#include "base/log.hpp"
#include "fabric/tcp/endpoint.hpp"

namespace weft::tcp {
namespace {

// A connection in use is closed for another peer only after it had this long to itself.
constexpr Duration kTurn = Duration::milliseconds(2);
// How long a peer may take to agree until another connection is chosen in addition.
constexpr Duration kDrainPatience = Duration::milliseconds(100);

}  // namespace

// Looks at everything that has a time; rare, so that nothing has to be kept sorted.
void Endpoint::run_timers() {
  next_timer_ = Instant::never();
  if (listener_again_ != Instant::never()) {
    if (now_ >= listener_again_) {
      listener_again_ = Instant::never();
      epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
    } else {
      schedule(listener_again_);
    }
  }
  // Backwards: closing one puts the last, which was looked at, in its place.
  for (std::size_t i = connections_.size(); i > 0; --i) {
    if (i > connections_.size()) continue;
    Connection& connection = *connections_[i - 1];
    if (connection.phase == Phase::established) {
      check_answers(connection);
    } else {
      check_deadline(connection);
    }
  }
  for (const auto& peer : peers_) {
    if (peer == nullptr || !peer->is_known) continue;
    if (!peer->is_waiting || may_open_another(*peer)) connect_if_needed(*peer);
  }
  if (!waiting_.empty() || connections_in_use() > options_.max_connections) make_room();
}

void Endpoint::check_deadline(Connection& connection) {
  if (now_ < connection.deadline) {
    schedule(connection.deadline);
  } else if (connection.phase == Phase::connecting) {
    PeerSession& peer = *connection.peer;
    close(connection);
    attempt_failed(peer, ConnectState::failed);
  } else if (connection.phase == Phase::deferred) {
    close(connection);
  } else if (connection.phase == Phase::await_greeting && connection.filled == 0) {
    // The process has yet to take the connection. Attempts that end and begin anew would fill the
    // queue in which its kernel keeps them.
    connection.peer->was_silent = true;
    connection.deadline = now_ + options_.handshake_timeout;
    schedule(connection.deadline);
  } else {
    handshake_failed(connection, "nothing came in time");
  }
}

// Bytes that stay unacknowledged for long mean that the peer's host or the path to it is gone. A
// peer that merely does not read is different: its kernel answers probes.
void Endpoint::check_answers(Connection& connection) {
  if (connection.next_check == Instant::never()) return;
  if (now_ < connection.next_check) {
    schedule(connection.next_check);
    return;
  }
  const PeerSigns signs = peer_signs(connection.socket.get());
  connection.next_check = Instant::never();
  if (!signs.waits_for_answer) {
    connection.unanswered_since = Instant::never();
    if (!connection.wants_to_write) return;  // from here on the kernel's keepalive watches
  } else if (connection.unanswered_since == Instant::never() ||
             now_ - signs.since_answer > connection.unanswered_since) {
    connection.unanswered_since = now_;
  } else if (now_ - connection.unanswered_since >= options_.peer_timeout) {
    spdlog::warn("tcp: node {} at {} answers nothing: connection closed",
                 connection.peer->id.value(), to_text(connection.peer->address));
    lose(connection, "no answer");
    return;
  }
  connection.next_check = now_ + options_.peer_timeout / 8;
  schedule(connection.next_check);
}

// Beyond the limit when no peer agrees to close: one that is stopped must not hold up the others.
bool Endpoint::may_open_another(const PeerSession& peer) const {
  const std::size_t in_use = connections_in_use();
  if (in_use < options_.max_connections) return true;
  return in_use < 2 * options_.max_connections && peer.waits_since != Instant::never() &&
         now_ - peer.waits_since >= kDrainPatience;
}

void Endpoint::wait_for_connection(PeerSession& peer) {
  if (!peer.is_waiting) {
    peer.is_waiting = true;
    waiting_.push_back(&peer);
  }
  if (peer.waits_since == Instant::never()) peer.waits_since = now_;
  make_room();
}

void Endpoint::stop_waiting(PeerSession& peer) {
  peer.waits_since = Instant::never();
  if (std::exchange(peer.is_waiting, false)) std::erase(waiting_, &peer);
}

// Starts to close as many connections as are wanted by others.
void Endpoint::make_room() {
  const std::size_t in_use = connections_in_use();
  const std::size_t limit = options_.max_connections;
  std::size_t wanted = waiting_.size() + (in_use > limit ? in_use - limit : 0);
  for (const auto& connection : connections_) {
    const bool is_closing = connection->phase == Phase::established && connection->drain_wanted &&
                            now_ - connection->drain_since < kDrainPatience;
    if (is_closing && wanted > 0) --wanted;
  }
  for (; wanted > 0; --wanted) {
    Connection* victim = least_useful();
    if (victim == nullptr) break;
    start_drain(*victim);
  }
  schedule(now_ + (wanted > 0 ? kTurn : kDrainPatience));
}

// The idle connection that was used least recently, or else the one in use for the longest time;
// none when all are new.
Connection* Endpoint::least_useful() const {
  Connection* idle = nullptr;
  Connection* busy = nullptr;
  for (const auto& entry : connections_) {
    Connection* connection = entry.get();
    if (!may_transfer(*connection) || connection->drain_wanted) continue;
    if (connection->peer->queue.empty() && connection->reader.at_boundary()) {
      if (idle == nullptr || connection->last_used < idle->last_used) idle = connection;
    } else if (now_ - connection->opened >= kTurn) {
      if (busy == nullptr || connection->opened < busy->opened) busy = connection;
    }
  }
  return idle != nullptr ? idle : busy;
}

void Endpoint::start_drain(Connection& connection) {
  connection.drain_wanted = true;
  connection.drain_since = now_;
  flush(*connection.peer);
}

}  // namespace weft::tcp

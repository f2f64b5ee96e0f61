// SPDX-License-Identifier: Apache-2.0
// Endpoint: peers going up and down. The network moves ahead of the reports to the user; operations
// run only while the session on the wire is the one that was reported.
#include <utility>

#include "base/log.hpp"
#include "fabric/tcp/endpoint.hpp"

namespace weft::tcp {

// The handshake is over: frames flow as soon as the user knows of the session.
void Endpoint::establish(Connection& connection, std::uint64_t session) {
  PeerSession& peer = *connection.peer;
  stop_waiting(peer);
  peer.was_silent = false;
  connection.phase = Phase::established;
  connection.deadline = Instant::never();
  connection.session = session;
  connection.opened = connection.last_used = now_;
  watch(connection, EPOLLIN);
  peer.connection = &connection;
  ++established_;
  peer.session = session;
  peer.unreachable_since = Instant::never();
  peer.last_heard = now_;
  peer.hung_up = peer.turned_away = false;
  if (options_.life != nullptr) options_.life->has_met = true;
  need_attention(peer);
  if (connections_in_use() > options_.max_connections) make_room();
}

void Endpoint::end_session(PeerSession& peer) {
  peer.ended_session = std::exchange(peer.session, 0);
  if (peer.connection != nullptr) close(*peer.connection);
  need_attention(peer);
}

// A connection broke or broke the rules: messages in flight are lost, and the session with them.
void Endpoint::lose(Connection& connection, std::string_view why) {
  PeerSession& peer = *connection.peer;
  spdlog::debug("tcp: connection to node {} ended: {}", peer.id.value(), why);
  // Only a connection that held for a while makes the next attempt a prompt one.
  if (now_ - connection.opened > options_.retry_last) peer.backoff = Duration();
  end_session(peer);
  retry_later(peer);
}

// Both sides said that nothing follows, and everything before that was received.
void Endpoint::close_drained(Connection& connection) {
  PeerSession& peer = *connection.peer;
  peer.last_heard = now_;
  peer.backoff = Duration();
  peer.next_attempt = now_;
  close(connection);
}

void Endpoint::need_attention(PeerSession& peer) {
  if (std::exchange(peer.needs_attention, true)) return;
  attention_.push_back(&peer);
}

void Endpoint::attend_all(Yield& yield) {
  attention_now_.swap(attention_);
  for (PeerSession* peer : attention_now_) {
    peer->needs_attention = false;
    if (!attend(*peer, yield)) need_attention(*peer);
  }
  attention_now_.clear();
}

// Brings report and reality together; false when there is no room to say so.
bool Endpoint::attend(PeerSession& peer, Yield& yield) {
  if (peer.reported_session != 0 && peer.reported_session != peer.session &&
      !report_down(peer, yield)) {
    return false;
  }
  if (peer.reported_session == 0 && peer.session != 0) {
    if (yield.full()) return false;
    peer.reported_session = peer.session;
    peer.reported_incarnation = peer.incarnation;
    Completion up;
    up.kind = CompletionKind::peer_up;
    up.peer = peer.id;
    up.incarnation = peer.incarnation;
    yield.push(up);
  }
  if (peer.deferred != nullptr) admit(*peer.deferred);
  if (peer.connection != nullptr) {
    flush(peer);
  } else {
    connect_if_needed(peer);
  }
  return true;
}

// First the operations, then the peer.
bool Endpoint::report_down(PeerSession& peer, Yield& yield) {
  fail_queue(peer);
  yield_completed(yield);
  if (!completed_.empty() || yield.full()) return false;
  peer.reported_session = 0;
  Completion down;
  down.kind = CompletionKind::peer_down;
  down.peer = peer.id;
  down.incarnation = peer.reported_incarnation;
  yield.push(down);
  return true;
}

void Endpoint::fail_queue(PeerSession& peer) {
  while (!peer.queue.empty()) {
    QueuedFrame& operation = peer.queue.front();
    complete(CompletionKind::failed, operation.op);
    peer.queue.pop();
    operations_.give(operation);
  }
}

}  // namespace weft::tcp

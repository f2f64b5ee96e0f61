// SPDX-License-Identifier: Apache-2.0
// Endpoint: accepting, connecting, the handshake.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/descriptor_limit.hpp"
#include "base/log.hpp"
#include "fabric/tcp/endpoint.hpp"

namespace weft::tcp {
namespace {

constexpr int kAcceptsPerPoll = 16;
constexpr Duration kRestWithoutDescriptors = Duration::milliseconds(100);

}  // namespace

Connection* Endpoint::open_connection(Descriptor socket, Phase phase, std::uint32_t events) {
  auto connection = std::make_unique<Connection>(std::move(socket), phase, buffers_, regions_,
                                                 limits_.max_message);
  epoll_event event{.events = events, .data = {.ptr = connection.get()}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection->socket.get(), &event) != 0) {
    return nullptr;
  }
  connection->place = connections_.size();
  connection->opened = now_;
  connection->deadline = now_ + options_.handshake_timeout;
  schedule(connection->deadline);
  connections_.push_back(std::move(connection));
  return connections_.back().get();
}

void Endpoint::watch(Connection& connection, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.ptr = &connection}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), &event);
}

// Takes a connection out of every list. Its memory stays until the next poll.
void Endpoint::close(Connection& connection) {
  if (PeerSession* peer = connection.peer; peer != nullptr) {
    if (peer->connection == &connection) {
      peer->connection = nullptr;
      --established_;
    } else if (peer->attempt == &connection) {
      peer->attempt = nullptr;
      --attempts_;
    } else if (peer->deferred == &connection) {
      peer->deferred = nullptr;
    }
    need_attention(*peer);
  }
  if (connection.phase == Phase::await_hello) std::erase(strangers_, &connection);
  if (connection.is_pending) std::erase(pending_, &connection);
  if (connection.is_held) std::erase(held_, &connection);
  if (connection.wants_to_write) --blocked_;
  std::erase(hot_, &connection);
  connection.phase = Phase::closed;
  // By hand: a copy of the descriptor in a forked process would keep the registration alive, and
  // with it events for a connection that is gone.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  connection.socket.reset();
  const std::size_t place = connection.place;
  graveyard_.push_back(std::move(connections_[place]));
  if (place + 1 < connections_.size()) {
    connections_[place] = std::move(connections_.back());
    connections_[place]->place = place;
  }
  connections_.pop_back();
  if (!waiting_.empty()) {
    waiting_.front()->is_waiting = false;
    need_attention(*waiting_.front());
    waiting_.pop_front();
  }
}

void Endpoint::accept_all() {
  for (int i = 0; i < kAcceptsPerPoll; ++i) {
    int error = 0;
    Descriptor socket = accept_from(listener_.get(), settings_, error);
    if (socket.open()) {
      accept_one(std::move(socket));
      continue;
    }
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return;
    // The listener stays readable; without a rest, a sleeping driver would wake for ever.
    tell_of_lacking_descriptors("tcp: cannot accept a connection", error);
    spdlog::warn("tcp: cannot accept a connection: {}; {}", std::strerror(error),
                 lacks_descriptors(error) ? raise_open_files : "free some memory");
    epoll_event event{.events = 0, .data = {.ptr = nullptr}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
    listener_again_ = now_ + kRestWithoutDescriptors;
    schedule(listener_again_);
    return;
  }
}

void Endpoint::accept_one(Descriptor socket) {
  if (strangers_.size() >= options_.max_unauthenticated + peers_.size()) {
    handshake_failed(*strangers_.front(), "too many connections that prove nothing");
  }
  Connection* connection = open_connection(std::move(socket), Phase::await_hello, EPOLLIN);
  if (connection == nullptr) return;
  strangers_.push_back(connection);
  connection->greeting = make_greeting();
  if (!send_all(*connection, connection->greeting)) {
    handshake_failed(*connection, "the other side closed the connection");
  }
}

bool Endpoint::wants_connection(const PeerSession& peer) const {
  if (!peer.is_known || peer.connection != nullptr || peer.attempt != nullptr) return false;
  if (peer.session == 0 || !peer.queue.empty()) return true;
  // Closed in agreement: look now and then whether the peer still lives.
  return now_ >= peer.last_heard + options_.peer_timeout;
}

void Endpoint::connect_if_needed(PeerSession& peer) {
  if (!wants_connection(peer)) {
    if (peer.session != 0 && peer.connection == nullptr && peer.attempt == nullptr) {
      schedule(peer.last_heard + options_.peer_timeout);
    }
    return;
  }
  if (now_ < peer.next_attempt) {
    schedule(peer.next_attempt);
  } else if (may_open_another(peer)) {
    start_attempt(peer);
  } else {
    wait_for_connection(peer);
  }
}

void Endpoint::start_attempt(PeerSession& peer) {
  stop_waiting(peer);
  Descriptor socket;
  const ConnectState state = start_connect(peer.address, settings_, socket);
  if (state != ConnectState::connected && state != ConnectState::in_progress) {
    attempt_failed(peer, state);
    return;
  }
  const bool connected = state == ConnectState::connected;
  Connection* connection =
      open_connection(std::move(socket), connected ? Phase::await_greeting : Phase::connecting,
                      connected ? EPOLLIN : EPOLLOUT);
  if (connection == nullptr) {
    attempt_failed(peer, ConnectState::busy);
    return;
  }
  connection->peer = &peer;
  peer.attempt = connection;
  ++attempts_;
}

bool Endpoint::is_silent(NodeId id) const {
  const PeerSession* const peer = id.value() < peers_.size() ? peers_[id.value()].get() : nullptr;
  if (peer == nullptr || peer->session != 0) return false;
  return peer->was_silent ||
         (peer->attempt != nullptr && (peer->attempt->phase == Phase::await_greeting ||
                                       peer->attempt->phase == Phase::await_answer));
}

// The kernel could not connect. A session that was without connection ends when nobody listens any
// more, or when the peer cannot be reached for too long.
void Endpoint::attempt_failed(PeerSession& peer, ConnectState state) {
  if (state != ConnectState::busy) peer.was_silent = false;
  if (state == ConnectState::failed && peer.unreachable_since == Instant::never()) {
    peer.unreachable_since = now_;
  }
  const bool is_gone =
      state == ConnectState::refused ||
      (state == ConnectState::failed && now_ - peer.unreachable_since >= options_.peer_timeout);
  if (is_gone && peer.session != 0) end_session(peer);
  retry_later(peer);
}

void Endpoint::retry_later(PeerSession& peer) {
  peer.backoff = std::clamp(peer.backoff * 2, options_.retry_first, options_.retry_last);
  // Between half and the whole of it, so that nodes do not knock in step.
  const auto half = static_cast<std::uint64_t>(peer.backoff.ticks() / 2);
  const auto extra = static_cast<std::int64_t>(half == 0 ? 0 : random_id() % half);
  peer.next_attempt = now_ + peer.backoff / 2 + Duration(extra);
  schedule(peer.next_attempt);
}

Endpoint::Received Endpoint::receive(Connection& connection, std::span<std::byte> bytes) {
  while (connection.filled < bytes.size()) {
    const auto rest = bytes.subspan(connection.filled);
    const ssize_t n = ::recv(connection.socket.get(), rest.data(), rest.size(), 0);
    if (n > 0) {
      connection.filled += static_cast<std::size_t>(n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Received::nothing_more;
    } else if (errno == EAGAIN) {
      return Received::part;
    }
  }
  connection.filled = 0;
  return Received::all;
}

void Endpoint::progress_handshake(Connection& connection, std::uint32_t events) {
  if (connection.phase == Phase::connecting) {
    const ConnectState state = finish_connect(connection.socket.get());
    if (state == ConnectState::connected && (events & EPOLLOUT) != 0) {
      connection.phase = Phase::await_greeting;
      watch(connection, EPOLLIN);
    } else {
      PeerSession& peer = *connection.peer;
      close(connection);
      attempt_failed(peer, state);
    }
    return;
  }
  if (connection.phase == Phase::deferred) {
    close(connection);  // it gave up, or speaks out of turn
    return;
  }
  std::span<std::byte> wanted = connection.greeting;
  if (connection.phase == Phase::await_hello) wanted = connection.hello_bytes;
  if (connection.phase == Phase::await_answer) wanted = connection.answer_bytes;
  switch (receive(connection, wanted)) {
    case Received::part:
      return;
    case Received::nothing_more:
      handshake_failed(connection, "the other side closed the connection");
      return;
    case Received::all:
      break;
  }
  if (connection.phase == Phase::await_greeting) {
    on_greeting(connection);
  } else if (connection.phase == Phase::await_hello) {
    on_hello(connection);
  } else {
    on_answer(connection);
  }
}

void Endpoint::handshake_failed(Connection& connection, const std::string& why) {
  PeerSession* peer = connection.peer;
  const bool proved_too_little = connection.phase == Phase::await_answer;
  const bool was_silent = connection.phase == Phase::await_hello && connection.filled == 0;
  if (peer != nullptr) {
    peer->was_silent = proved_too_little && now_ >= connection.deadline;
  }
  close(connection);
  if (peer == nullptr) {
    // Peers whose attempts cross hang up without a word, too. And a flood of strangers does not
    // become a flood of lines.
    if (!was_silent && std::has_single_bit(++strangers_turned_away_)) {
      spdlog::warn("tcp: turned away a connection that did not join the job: {} ({} so far)", why,
                   strangers_turned_away_);
    }
    return;
  }
  if (proved_too_little && !peer->turned_away) {
    // Once may be a peer that died in the middle of it; one that lives does it again.
    peer->turned_away = std::exchange(peer->hung_up, true);
    if (peer->turned_away) {
      spdlog::warn(
          "tcp: node {} at {} did not let this node in: {}; do all nodes have the same job "
          "secret and id?",
          peer->id.value(), to_text(peer->address), why);
    }
  }
  retry_later(*peer);
}

void Endpoint::on_greeting(Connection& connection) {
  if (const auto checked = check_greeting(connection.greeting); !checked.ok()) {
    handshake_failed(connection, checked.error().message);
    return;
  }
  PeerSession& peer = *connection.peer;
  peer.was_silent = false;
  connection.hello = {.from = options_.self,
                      .incarnation = incarnation_,
                      .to = peer.id,
                      .session = peer.session,
                      .ended_session = peer.ended_session,
                      .process = process_,
                      .known = peer.incarnation,
                      .known_process = peer.process};
  connection.hello_bytes = encode(key_, connection.greeting, connection.hello);
  connection.phase = Phase::await_answer;
  if (!send_all(connection, connection.hello_bytes)) {
    handshake_failed(connection, "the other side closed the connection");
  }
}

void Endpoint::on_hello(Connection& connection) {
  const auto hello = decode_hello(key_, connection.greeting, connection.hello_bytes);
  if (!hello.ok()) {
    handshake_failed(connection, hello.error().message);
    return;
  }
  if (hello->to != options_.self || hello->from == options_.self) {
    handshake_failed(connection,
                     fmt::format("node {} looks for node {}, this is {}", hello->from.value(),
                                 hello->to.value(), options_.self.value()));
    return;
  }
  std::erase(strangers_, &connection);
  connection.phase = Phase::deferred;
  connection.hello = *hello;
  const bool is_another = hello->known_process != 0 && hello->known_process != process_;
  if (hello->known > incarnation_ || (hello->known == incarnation_ && is_another)) {
    if (outlive({hello->known, hello->session != 0})) take_life();
  }
  connection.peer = find_peer(hello->from);
  if (connection.peer == nullptr) {
    answer(connection, Verdict::unknown_peer, 0);
    close(connection);
    return;
  }
  admit(connection);
}

// Decides about a peer that has proved itself.
void Endpoint::admit(Connection& connection) {
  PeerSession& peer = *connection.peer;
  const Connection* current = peer.connection;
  const Decision decision = decide(
      {options_.self, peer.is_known, peer.incarnation, peer.process, peer.session,
       current != nullptr, current != nullptr && current->drain_wanted, peer.attempt != nullptr},
      connection.hello);
  if (peer.deferred != nullptr && peer.deferred != &connection) close(*peer.deferred);
  if (decision.admission == Admission::defer) {
    peer.deferred = &connection;
    return;
  }
  if (decision.admission == Admission::refuse) {
    const bool stale = decision.verdict == Verdict::stale;
    const KnownLife known{peer.incarnation, peer.session != 0};
    answer(connection, decision.verdict, stale ? known.to_session() : 0);
    close(connection);
    return;
  }
  if (connections_in_use() >= 2 * options_.max_connections) {
    answer(connection, Verdict::busy, 0);
    close(connection);
    return;
  }
  const bool begins = decision.admission == Admission::begin;
  if (begins && peer.session != 0) end_session(peer);
  if (peer.attempt != nullptr) close(*peer.attempt);
  peer.deferred = nullptr;
  peer.incarnation = connection.hello.incarnation;
  peer.process = connection.hello.process;
  const std::uint64_t session = begins ? random_id() : peer.session;
  if (answer(connection, Verdict::accepted, session)) {
    establish(connection, session);
  } else {
    close(connection);
  }
}

void Endpoint::on_answer(Connection& connection) {
  const auto answer =
      decode_answer(key_, connection.greeting, connection.hello_bytes, connection.answer_bytes);
  PeerSession& peer = *connection.peer;
  if (!answer.ok()) {
    handshake_failed(connection, answer.error().message);
    return;
  }
  const bool is_another = peer.process != 0 && answer->process != peer.process;
  if (answer->from != peer.id || answer->incarnation < peer.incarnation ||
      (answer->incarnation == peer.incarnation && is_another)) {
    handshake_failed(connection, fmt::format("life {} of node {} answered",
                                             answer->incarnation.value(), answer->from.value()));
    return;
  }
  if (answer->verdict != Verdict::accepted) {
    turned_away(connection, answer->verdict, answer->session);
    return;
  }
  const bool resumes = connection.hello.session != 0;
  if (resumes && (answer->session != peer.session || answer->incarnation != peer.incarnation)) {
    turned_away(connection, Verdict::not_resumable);
    return;
  }
  peer.incarnation = answer->incarnation;
  peer.process = answer->process;
  peer.attempt = nullptr;
  --attempts_;
  if (peer.deferred != nullptr) close(*peer.deferred);
  establish(connection, answer->session);
}

// The peer proved itself and said no.
void Endpoint::turned_away(Connection& connection, Verdict verdict, std::uint64_t session) {
  PeerSession& peer = *connection.peer;
  close(connection);
  if (verdict == Verdict::not_resumable) {
    if (peer.session != 0) end_session(peer);
    peer.next_attempt = now_;
    return;
  }
  const KnownLife known = KnownLife::of_session(session);
  if (verdict == Verdict::stale && outlive(known)) {
    take_life();
    return;
  }
  if (verdict == Verdict::stale && options_.on_later_life) {
    options_.on_later_life(known.incarnation);
  } else if (verdict == Verdict::stale && !peer.turned_away) {
    peer.turned_away = true;
    spdlog::warn("tcp: node {} knows a later life of this node than {}: it was replaced",
                 peer.id.value(), incarnation_.value());
  }
  retry_later(peer);
}

// A peer knows another life of this node that is not lower. That life ended and the clock was set
// back since: this one is later. Or it replaced this one: peers that are connected with it know.
bool Endpoint::outlive(KnownLife known) {
  OwnLife* const own = options_.life.get();
  if (own == nullptr || (known.is_connected && own->has_met)) return false;
  if (known.incarnation < own->incarnation) return own->incarnation != incarnation_;
  if (known.incarnation.value() == UINT32_MAX) return false;
  own->incarnation = Incarnation(known.incarnation.value() + 1);
  spdlog::info("tcp: others know life {} of this node, which has ended: this is life {} now",
               known.incarnation.value(), own->incarnation.value());
  return true;
}

// All peers hear of this life under its new number.
void Endpoint::take_life() {
  incarnation_ = options_.life->incarnation;
  for (const auto& peer : peers_) {
    if (peer == nullptr || !peer->is_known) continue;
    if (peer->session != 0) end_session(*peer);
    if (peer->attempt != nullptr) close(*peer->attempt);
    peer->backoff = Duration();
    peer->next_attempt = now_;
    need_attention(*peer);
  }
}

bool Endpoint::answer(Connection& connection, Verdict verdict, std::uint64_t session) {
  connection.answer_bytes = encode(key_, connection.greeting, connection.hello_bytes,
                                   Answer{verdict, options_.self, incarnation_, session, process_});
  return send_all(connection, connection.answer_bytes);
}

// For the few bytes of a handshake, which fit into the buffer of a new socket.
bool Endpoint::send_all(Connection& connection, std::span<const std::byte> bytes) {
  const ssize_t n =
      ::send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return n == static_cast<ssize_t>(bytes.size());
}

}  // namespace weft::tcp

// SPDX-License-Identifier: Apache-2.0
// An endpoint's state of one socket and of one peer. Data only; the rules are in endpoint*.cpp.
#pragma once

#include <cstdint>

#include "fabric/tcp/frame_reader.hpp"
#include "fabric/tcp/handshake.hpp"
#include "fabric/tcp/operations.hpp"
#include "fabric/tcp/socket.hpp"
#include "weft/fabric.hpp"

namespace weft::tcp {

struct PeerSession;

enum class Phase : std::uint8_t {
  connecting,      ///< outbound: the kernel is at it
  await_greeting,  ///< outbound
  await_answer,    ///< outbound
  await_hello,     ///< inbound, of a stranger
  deferred,        ///< inbound, proved, waits for the decision
  established,     ///< frames flow
  closed,          ///< only its memory is still there
};

struct Connection {
  Connection(Descriptor socket, Phase phase, ReceiveBuffers& pool, const RegionTable& regions,
             std::size_t max_message)
      : socket(std::move(socket)), phase(phase), reader(pool, regions, max_message) {}

  Descriptor socket;
  Phase phase;
  PeerSession* peer = nullptr;  ///< none while inbound and a stranger
  std::size_t place = 0;        ///< in the endpoint's list of connections

  // Handshake.
  GreetingBytes greeting{};
  HelloBytes hello_bytes{};
  AnswerBytes answer_bytes{};
  Hello hello;             ///< said by us or, inbound, by the peer
  std::size_t filled = 0;  ///< bytes received of the message that is awaited
  Instant deadline = Instant::never();

  // Established.
  FrameReader reader;
  std::uint64_t session = 0;
  std::size_t front_sent = 0;  ///< bytes of the front operation's frame that are in the socket
  ServiceLevel level{};
  Instant opened{};
  Instant last_used{};
  bool wants_to_write = false;     ///< the socket was full
  bool is_pending = false;         ///< in the endpoint's list of those with something buffered
  bool is_held = false;            ///< in the list of those whose messages were handed out
  std::uint32_t futile_reads = 0;  ///< in a row, while it was tried without asking epoll
  std::uint64_t served_in = 0;     ///< number of the last poll that read from it

  // Closing in agreement: each side sends a drain frame and nothing after it.
  bool drain_wanted = false;
  std::size_t drain_sent = 0;  ///< bytes of our drain frame
  bool drain_received = false;
  Instant drain_since{};

  // Whether the peer's kernel still answers.
  Instant unanswered_since = Instant::never();
  Instant next_check = Instant::never();

  bool is_drained() const { return drain_sent == kHeaderSize && drain_received; }
};

/// A peer, the session with it, and the connection that carries the session.
struct PeerSession {
  NodeId id{};
  Incarnation incarnation{};  ///< the highest known
  std::uint64_t process = 0;  ///< of that life; 0: not known
  SocketAddress address;
  bool is_known = false;  ///< added and not removed

  // The session, from peer_up to peer_down. It may be without a connection for a while, when that
  // was closed in agreement.
  std::uint64_t session = 0;
  std::uint64_t ended_session = 0;
  Connection* connection = nullptr;  ///< carries the session
  Connection* attempt = nullptr;     ///< ours, on its way
  Connection* deferred = nullptr;    ///< theirs, waiting for a decision

  // The session as reported to the user. Lags behind the session; operations run only when both
  // agree.
  std::uint64_t reported_session = 0;  ///< 0: down
  Incarnation reported_incarnation{};

  SendQueue queue;

  Instant next_attempt{};
  Duration backoff{};
  Instant unreachable_since = Instant::never();
  Instant last_heard{};
  bool needs_attention = false;  ///< in the endpoint's list
  bool is_waiting = false;       ///< for a free connection
  Instant waits_since = Instant::never();
  bool is_touched = false;   ///< by the current batch of `post`
  bool hung_up = false;      ///< instead of answering our proof, once
  bool turned_away = false;  ///< it was logged that the peer refuses us
  bool was_silent = false;   ///< it took our last connection and did not greet in time
};

}  // namespace weft::tcp

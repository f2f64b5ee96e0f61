// SPDX-License-Identifier: Apache-2.0
// The TCP fabric's endpoint. One class, one file per concern:
//
//   endpoint.cpp           the Fabric interface and the order of work in `poll`
//   endpoint_connect.cpp   accepting, connecting, the handshake
//   endpoint_sessions.cpp  peers going up and down, and reports of that to the user
//   endpoint_io.cpp        frames in, frames out
//   endpoint_limits.cpp    timers, silent peers, closing connections that others need
//
// Ownership: connections_ owns every open connection; a connection that is closed moves to
// graveyard_, where the messages it delivered stay valid until the next `poll`. Raw pointers to a
// connection (of its peer, in lists) are cleared by `close`. Peers live as long as the endpoint.
#pragma once

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/growing_ring.hpp"
#include "fabric/tcp/admission.hpp"
#include "fabric/tcp/connection.hpp"
#include "fabric/tcp/tcp.hpp"

namespace weft::tcp {

class Endpoint final : public Fabric {
 public:
  /// Checks the options and listens.
  static Result<std::unique_ptr<Fabric>> open(const TcpOptions& options);
  Endpoint(const TcpOptions& options, Descriptor listener, Descriptor epoll,
           const SocketAddress& bound, const SocketAddress& advertised);
  ~Endpoint() override;

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "tcp"; }
  std::string address() const override { return to_text(advertised_); }
  Result<void> add_peer(NodeId id, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId id) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  bool is_silent(NodeId id) const override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

 private:
  // Takes the completions of the current `poll`.
  struct Yield {
    std::span<Completion> out;
    std::size_t count = 0;
    bool full() const { return count == out.size(); }
    void push(const Completion& completion) { out[count++] = completion; }
  };

  // endpoint.cpp
  PeerSession* find_peer(NodeId id) {
    return id.value() < peers_.size() ? peers_[id.value()].get() : nullptr;
  }
  bool post_one(const TxOp& op);
  void complete(CompletionKind kind, const TxOp& op);
  void yield_completed(Yield& yield);
  void release_messages();
  void serve_pending(Yield& yield);
  bool serve_hot(Yield& yield);
  void serve_ready(Yield& yield);

  // endpoint_connect.cpp
  Connection* open_connection(Descriptor socket, Phase phase, std::uint32_t events);
  void watch(Connection& connection, std::uint32_t events);
  void close(Connection& connection);
  void accept_all();
  void accept_one(Descriptor socket);
  void connect_if_needed(PeerSession& peer);
  bool wants_connection(const PeerSession& peer) const;
  void start_attempt(PeerSession& peer);
  void attempt_failed(PeerSession& peer, ConnectState state);
  void retry_later(PeerSession& peer);
  void progress_handshake(Connection& connection, std::uint32_t events);
  enum class Received : std::uint8_t { all, part, nothing_more };
  Received receive(Connection& connection, std::span<std::byte> bytes);
  void handshake_failed(Connection& connection, const std::string& why);
  void on_greeting(Connection& connection);
  void on_hello(Connection& connection);
  void on_answer(Connection& connection);
  void turned_away(Connection& connection, Verdict verdict, std::uint64_t session = 0);
  void admit(Connection& connection);
  bool answer(Connection& connection, Verdict verdict, std::uint64_t session);
  bool send_all(Connection& connection, std::span<const std::byte> bytes);
  bool outlive(KnownLife known);
  void take_life();

  // endpoint_sessions.cpp
  void end_session(PeerSession& peer);
  void establish(Connection& connection, std::uint64_t session);
  void lose(Connection& connection, std::string_view why);
  void close_drained(Connection& connection);
  void need_attention(PeerSession& peer);
  void attend_all(Yield& yield);
  bool attend(PeerSession& peer, Yield& yield);
  bool report_down(PeerSession& peer, Yield& yield);
  void fail_queue(PeerSession& peer);

  // endpoint_io.cpp
  bool serve(Connection& connection, Yield& yield);
  bool deliver(Connection& connection, Yield& yield);
  bool may_transfer(const Connection& connection) const;
  void make_pending(Connection& connection);
  void mark_hot(Connection& connection);
  void flush(PeerSession& peer);
  bool flush_operations(Connection& connection);
  ssize_t send_pieces(Connection& connection, std::size_t pieces, std::size_t bytes);
  void flush_drain(Connection& connection);
  void apply_level(Connection& connection, ServiceLevel level);
  void set_wants_to_write(Connection& connection, bool wants);
  void retire_sent(Connection& connection, std::size_t bytes);

  // endpoint_limits.cpp
  void schedule(Instant at) { next_timer_ = std::min(next_timer_, at); }
  void run_timers();
  void check_deadline(Connection& connection);
  void check_answers(Connection& connection);
  bool may_open_another(const PeerSession& peer) const;
  void wait_for_connection(PeerSession& peer);
  void stop_waiting(PeerSession& peer);
  void make_room();
  Connection* least_useful() const;
  void start_drain(Connection& connection);
  std::size_t connections_in_use() const { return established_ + attempts_; }

  TcpOptions options_;
  FabricLimits limits_;
  JobKey key_;
  Incarnation incarnation_;  // this endpoint's, as its handshakes state it
  std::uint64_t process_;    // random; see Hello
  SocketSettings settings_;
  Descriptor listener_;
  Descriptor epoll_;
  SocketAddress bound_;
  SocketAddress advertised_;
  Instant listener_again_ = Instant::never();  // when to accept again after descriptors ran out

  RegionTable regions_;
  ReceiveBuffers buffers_;
  Operations operations_;
  std::size_t outstanding_ = 0;
  GrowingRing<Completion> completed_;  // sent, written, failed; at most max_outstanding

  std::vector<std::unique_ptr<PeerSession>> peers_;  // by node id
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> graveyard_;
  std::deque<Connection*> strangers_;    // oldest first
  std::vector<Connection*> pending_;     // have something buffered that was not delivered
  std::vector<Connection*> held_;        // delivered messages that are to be released
  std::vector<Connection*> hot_;         // received last: tried without asking epoll
  std::deque<PeerSession*> waiting_;     // for a free connection
  std::vector<PeerSession*> attention_;  // something about their state changed
  std::vector<PeerSession*> attention_now_;
  std::vector<PeerSession*> touched_;
  std::size_t established_ = 0;
  std::size_t attempts_ = 0;
  std::size_t blocked_ = 0;  // connections that wait for room in their socket

  Instant now_{};
  Instant next_timer_ = Instant::never();
  std::uint64_t poll_number_ = 0;
  std::uint32_t polls_without_epoll_ = 0;
  bool must_ask_epoll_ = true;
  bool looked_ = true;          // the last poll asked the kernel for something to read
  bool made_progress_ = false;  // the last poll received something
  std::uint64_t strangers_turned_away_ = 0;
  std::array<iovec, 192> pieces_;  // of the frames that are being sent
};

}  // namespace weft::tcp

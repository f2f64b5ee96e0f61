// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/endpoint.hpp"

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/socket_file.hpp"
#include "base/units.hpp"

namespace weft {

Result<std::unique_ptr<Fabric>> open_tcp(const TcpOptions& options) {
  return tcp::Endpoint::open(options);
}

namespace tcp {
namespace {

constexpr std::size_t kMinMessage = 4096;
constexpr std::size_t kMinBuffer = 64 * 1024;
constexpr std::uint32_t kMaxNodes = 1u << 20;
constexpr int kEventsPerPoll = 64;
constexpr std::size_t kWriteWindow = std::size_t{256} << 10;
// A connection that received last is asked first; the others after so many polls at the latest.
constexpr std::uint32_t kPollsWithoutEpoll = 8;
constexpr std::uint32_t kFutileReads = 1000;

Result<void> check(const TcpOptions& options) {
  if (options.secret.size() < kMinSecret) {
    return invalid("job secret of {} bytes: give at least {} random bytes", options.secret.size(),
                   kMinSecret);
  }
  if (options.self.value() >= kMaxNodes) {
    return invalid("node id {}: ids go from 0 to {}", options.self.value(), kMaxNodes - 1);
  }
  if (options.max_message < kMinMessage || options.max_message > (std::size_t{1} << 30)) {
    return invalid("max_message {}: choose from {} bytes to 1 GiB", options.max_message,
                   kMinMessage);
  }
  if (options.max_write > std::numeric_limits<std::uint32_t>::max()) {
    return invalid("max_write {}: choose less than 4 GiB", options.max_write);
  }
  if (options.max_connections == 0 || options.max_unauthenticated == 0 ||
      options.max_outstanding == 0) {
    return invalid("max_connections, max_unauthenticated, max_outstanding: choose at least 1");
  }
  if (options.peer_timeout < Duration::seconds(1)) {
    return invalid("--peer-timeout: {} is too short; write at least 1s",
                   to_text(options.peer_timeout));
  }
  if (options.heartbeat < Duration{} || options.heartbeat >= options.peer_timeout) {
    return invalid("heartbeat: choose less than peer_timeout");
  }
  const bool dscp_ok = std::ranges::all_of(options.dscp, [](std::uint8_t d) { return d < 64; });
  if (!dscp_ok) return invalid("dscp: choose values below 64");
  return {};
}

}  // namespace

Result<std::unique_ptr<Fabric>> Endpoint::open(const TcpOptions& options) {
  if (auto checked = check(options); !checked.ok()) return checked.error();
  auto bound = parse_address(options.listen);
  if (!bound.ok()) return bound.error();
  const SocketSettings settings{options.send_buffer, options.receive_buffer, options.peer_timeout,
                                options.heartbeat};
  auto listener = listen_on(*bound, settings);
  if (!listener.ok()) return listener.error();
  auto advertised = advertised_address(*bound, options.advertise);
  if (!advertised.ok()) return advertised.error();
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (!epoll.open() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listener->get(), &event) != 0) {
    return make_error(ErrorCode::exhausted, "epoll: {}; raise the limit of open files",
                      std::strerror(errno));
  }
  return std::unique_ptr<Fabric>(std::make_unique<Endpoint>(options, std::move(*listener),
                                                            std::move(epoll), *bound, *advertised));
}

Endpoint::Endpoint(const TcpOptions& options, Descriptor listener, Descriptor epoll,
                   const SocketAddress& bound, const SocketAddress& advertised)
    : options_(options),
      limits_{.max_message = options.max_message,
              .max_write = options.max_write,
              .max_outstanding = options.max_outstanding,
              .write_window = kWriteWindow},
      key_(handshake_key(options.secret, options.job_id)),
      incarnation_(options.life != nullptr ? options.life->incarnation : options.incarnation),
      process_(random_id()),
      settings_{options.send_buffer, options.receive_buffer, options.peer_timeout,
                options.heartbeat},
      listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      bound_(bound),
      advertised_(advertised),
      regions_(static_cast<std::uint32_t>(random_id())),
      buffers_(std::max(kMinBuffer, kHeaderSize + options.max_message)),
      operations_(options.max_outstanding) {
  std::ranges::fill(options_.secret, std::byte{0});  // the key is all that is needed
}

Endpoint::~Endpoint() {
  if (const std::string path = bound_.path(); !path.empty()) remove_socket_file(path);
}

Result<void> Endpoint::add_peer(NodeId id, Incarnation incarnation, std::string_view address) {
  auto parsed = parse_address(address);
  if (!parsed.ok()) return parsed.error();
  if (id == options_.self || id.value() >= kMaxNodes) {
    return invalid("peer {}: expected another node's id below {}", id.value(), kMaxNodes);
  }
  if (id.value() >= peers_.size()) peers_.resize(id.value() + 1);
  auto& slot = peers_[id.value()];
  if (slot == nullptr) slot = std::make_unique<PeerSession>();
  PeerSession& peer = *slot;
  if (incarnation < peer.incarnation) return {};
  if (incarnation > peer.incarnation) {
    if (peer.session != 0) end_session(peer);
    peer.process = 0;
  }
  if (peer.attempt != nullptr) close(*peer.attempt);
  peer.id = id;
  peer.incarnation = incarnation;
  peer.address = *parsed;
  peer.is_known = true;
  peer.hung_up = peer.turned_away = false;
  peer.backoff = Duration();
  peer.unreachable_since = Instant::never();
  // When two endpoints add each other at the same time, the lower one tries first, so that fewer
  // attempts cross.
  peer.next_attempt = options_.self < id ? now_ : now_ + options_.retry_first;
  need_attention(peer);
  return {};
}

void Endpoint::remove_peer(NodeId id) {
  PeerSession* peer = find_peer(id);
  if (peer == nullptr || !peer->is_known) return;
  peer->is_known = false;
  peer->process = 0;  // whoever adds the node again knows which process it is
  if (peer->session != 0) end_session(*peer);
  if (peer->attempt != nullptr) close(*peer->attempt);
  if (peer->deferred != nullptr) close(*peer->deferred);
  need_attention(*peer);
}

Result<Region> Endpoint::expose(std::span<std::byte> memory) {
  return regions_.expose(memory);
}

void Endpoint::retract(const Region& region) {
  if (!regions_.retract(region.remote.key)) return;
  // Backwards: losing one puts the last, which was looked at, in its place.
  for (std::size_t i = connections_.size(); i > 0; --i) {
    Connection& connection = *connections_[i - 1];
    if (connection.phase == Phase::established &&
        connection.reader.writes_into(region.remote.key)) {
      lose(connection, "a write was under way into a region that was retracted");
    }
  }
}

std::size_t Endpoint::post(std::span<const TxOp> ops) {
  std::size_t taken = 0;
  while (taken < ops.size() && post_one(ops[taken])) ++taken;
  for (PeerSession* peer : touched_) {
    flush(*peer);
    peer->queue.own_messages();
    peer->is_touched = false;
  }
  touched_.clear();
  return taken;
}

bool Endpoint::post_one(const TxOp& op) {
  const bool is_send = op.kind == OpKind::send;
  WEFT_CHECK(op.size() <= (is_send ? limits_.max_message : limits_.max_write),
             "{} of {} bytes, the limit is {}", is_send ? "send" : "write", op.size(),
             is_send ? limits_.max_message : limits_.max_write);
  WEFT_CHECK(op.service_level.value() < options_.dscp.size(), "service level {}",
             op.service_level.value());
  if (outstanding_ == limits_.max_outstanding) return false;
  ++outstanding_;
  PeerSession* peer = find_peer(op.peer);
  if (peer == nullptr || peer->reported_session == 0) {
    complete(CompletionKind::failed, op);
    return true;
  }
  peer->queue.push(operations_.take().begin(op));
  if (!peer->is_touched) {
    peer->is_touched = true;
    touched_.push_back(peer);
  }
  return true;
}

// Never overflows: there are at most max_outstanding operations, wherever they are.
void Endpoint::complete(CompletionKind kind, const TxOp& op) {
  Completion& completion = completed_.emplace_back();
  completion.kind = kind;
  completion.peer = op.peer;
  completion.context = op.context;
}

void Endpoint::yield_completed(Yield& yield) {
  while (!completed_.empty() && !yield.full()) {
    yield.push(completed_.front());
    completed_.pop_front();
    --outstanding_;
  }
}

std::size_t Endpoint::poll(Instant now, std::span<Completion> completions) {
  now_ = now;
  ++poll_number_;
  made_progress_ = false;
  Yield yield{completions};
  if (options_.life != nullptr && options_.life->incarnation != incarnation_) take_life();
  if (!held_.empty() || !graveyard_.empty()) release_messages();
  // Completed sends are reported before a system call is spent on looking for an answer; every
  // other poll looks first in any case.
  if (looked_) yield_completed(yield);
  looked_ = yield.count == 0;
  if (now >= next_timer_) run_timers();
  if (!attention_.empty()) attend_all(yield);
  if (!pending_.empty()) serve_pending(yield);
  if (looked_ && !serve_hot(yield)) serve_ready(yield);
  if (!attention_.empty()) attend_all(yield);
  if (!completed_.empty()) yield_completed(yield);
  return yield.count;
}

void Endpoint::release_messages() {
  for (Connection* connection : held_) {
    connection->is_held = false;
    connection->reader.release();
  }
  held_.clear();
  graveyard_.clear();
}

void Endpoint::serve_pending(Yield& yield) {
  for (std::size_t left = pending_.size(); left > 0 && !yield.full() && !pending_.empty(); --left) {
    Connection* connection = pending_.front();
    pending_.erase(pending_.begin());
    connection->is_pending = false;
    serve(*connection, yield);
  }
}

// Tries the connection that received last, if there is one only; of several, one asks which. True
// when that is enough for this poll: a spinning driver then pays for one system call only.
bool Endpoint::serve_hot(Yield& yield) {
  if (hot_.size() != 1 || blocked_ > 0 || ++polls_without_epoll_ > kPollsWithoutEpoll) return false;
  Connection& connection = *hot_.front();
  if (connection.served_in != poll_number_) {
    if (serve(connection, yield)) {
      must_ask_epoll_ = false;
      return true;
    }
    if (++connection.futile_reads > kFutileReads) hot_.clear();
  }
  return !must_ask_epoll_;
}

void Endpoint::serve_ready(Yield& yield) {
  polls_without_epoll_ = 0;
  must_ask_epoll_ = false;
  std::array<epoll_event, kEventsPerPoll> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), kEventsPerPoll, 0);
  for (int i = 0; i < n; ++i) {
    if (events[i].data.ptr == nullptr) {
      accept_all();
      continue;
    }
    Connection& connection = *static_cast<Connection*>(events[i].data.ptr);
    if (connection.phase == Phase::closed) continue;
    if (connection.phase != Phase::established) {
      progress_handshake(connection, events[i].events);
      continue;
    }
    if ((events[i].events & EPOLLOUT) != 0) flush(*connection.peer);
    if ((events[i].events & ~std::uint32_t{EPOLLOUT}) != 0 &&
        connection.phase == Phase::established && connection.served_in != poll_number_) {
      serve(connection, yield);
    }
  }
}

WaitHint Endpoint::prepare_wait(Instant now) {
  must_ask_epoll_ = true;
  polls_without_epoll_ = 0;
  const bool ready =
      !completed_.empty() || !attention_.empty() || !pending_.empty() || now >= next_timer_;
  return {.ready = ready, .descriptor = epoll_.get(), .poll_by = next_timer_};
}

}  // namespace tcp
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// How peers come and go. Reliable-datagram endpoints know no connections, so the adapter makes its
// own: each side sends a hello with a nonce until the other has proven, by a welcome over both
// nonces, that it knows the job's secret and is the life of the node that it claims to be. From
// then on every frame carries the session's token and a count. Heartbeats keep it up; an error of
// the provider, a gap, a bad write, a goodbye or silence ends it.
#include <algorithm>

#include "base/log.hpp"
#include "fabric/libfabric/connections.hpp"
#include "fabric/libfabric/endpoint_address.hpp"
#include "fabric/libfabric/fabric.hpp"

namespace weft::ofi {
namespace {

// Hellos are repeated: soon while the provider has no connection, then less and less.
constexpr Duration kFirstRetry = Duration::milliseconds(2);
constexpr Duration kLongestRetry = Duration::milliseconds(250);
constexpr Duration kFirstRepeat = Duration::milliseconds(50);
constexpr Duration kLongestRepeat = Duration::seconds(1);
// A provider that connects by itself hides that a connection is lost: it accepts nothing although
// it has nothing to do. After this long the connection counts as lost.
constexpr Duration kLongestStall = Duration::seconds(1);
// How often a writer speaks up that has nothing to say but its writes.
constexpr Duration kWriterSilence = Duration::milliseconds(5);

}  // namespace

void LibfabricFabric::start_life(ProviderPeer& peer, Life life) {
  if (peer.where && life.address != peer.life.address) {
    endpoint_->remove(*peer.where);
    peer.where.reset();
  }
  peer.doorbell.reset();
  if (life.incarnation != peer.life.incarnation) peer.their_attempt = 0;
  peer.life = std::move(life);
  start_connecting(peer);
}

void LibfabricFabric::start_connecting(ProviderPeer& peer) {
  peer.link = Link::connecting;
  peer.broken = false;
  peer.my_nonce = fresh_nonce();
  peer.my_attempt = ++attempts_;
  peer.knows_their_nonce = false;
  peer.next_hello = now_;
  peer.hello_delay = kFirstRetry;
  next_tick_ = now_;
}

// Through shared memory the doorbell tells. A provider over sockets connects when both processes
// poll, but the kernel of the peer's host takes the connection as long as the peer lives. Other
// networks tell nothing of a process that does not poll.
bool LibfabricFabric::is_silent(NodeId id) const {
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second->link != Link::connecting) return false;
  const ProviderPeer& peer = *found->second;
  if (peer.doorbell) return peer.doorbell->alive();
  return !peer.hello_is_gone && has_connection_to(parse_endpoint_address(peer.life.address)->name);
}

bool LibfabricFabric::ensure_address(ProviderPeer& peer) {
  if (peer.where) return true;
  const std::vector<std::byte> name = parse_endpoint_address(peer.life.address)->name;
  // Providers read as many bytes as their own addresses have, or up to a terminating zero.
  const bool terminated = !name.empty() && name.back() == std::byte{0};
  if (name.size() != endpoint_->address_size() && !terminated) return false;
  auto inserted = endpoint_->insert(name);
  if (!inserted) return false;
  peer.where = *inserted;
  return true;
}

void LibfabricFabric::ensure_doorbell(ProviderPeer& peer) {
  if (doorbell_ == nullptr || peer.doorbell) return;
  auto opened = PeerDoorbell::open(shared_name(key_.tag(), peer.id, peer.life.incarnation));
  if (opened) peer.doorbell.emplace(std::move(*opened));
}

void LibfabricFabric::tick() {
  next_tick_ = Instant::never();
  for (auto& [id, peer] : peers_) {
    tick_link(*peer);
    next_tick_ = std::min(next_tick_, next_deadline(*peer));
  }
}

void LibfabricFabric::tick_link(ProviderPeer& peer) {
  switch (peer.link) {
    case Link::waiting:
      break;
    case Link::connecting:
      if (now_ >= peer.next_hello) send_hello(peer);
      break;
    case Link::up:
      tick_session(peer);
      break;
    case Link::closing:
      if (now_ >= peer.close_by) finish_closing(peer);
      break;
  }
}

// A target that nothing wakes moves written bytes only when it happens to poll, and it polls the
// less often the longer it has received nothing.
Duration LibfabricFabric::longest_silence(const ProviderPeer& peer) const {
  const bool woken = doorbell_ != nullptr || endpoint_->descriptor() >= 0;
  return woken || peer.writes_issued == 0 ? options_.heartbeat_interval
                                          : std::min(kWriterSilence, options_.heartbeat_interval);
}

void LibfabricFabric::tick_session(ProviderPeer& peer) {
  if (now_ >= peer.last_heard + options_.peer_timeout) {
    begin_closing(peer, "it was not heard for too long", Duration{}, Link::connecting);
    return;
  }
  if (peer.stalled &&
      now_ >= *peer.stalled + std::min(kLongestStall, options_.heartbeat_interval)) {
    begin_closing(peer, "its connection was lost", Duration{}, Link::connecting);
    return;
  }
  if (!peer.early.empty() && now_ >= peer.gap_since + options_.heartbeat_interval * 2) {
    begin_closing(peer, "something it sent was lost", kDrain, Link::connecting);
    return;
  }
  if (peer.doorbell && now_ >= peer.last_checked + options_.heartbeat_interval) {
    peer.last_checked = now_;
    if (!peer.doorbell->alive()) {
      begin_closing(peer, "its process ended", Duration{}, Link::connecting);
      return;
    }
  }
  if (now_ >= peer.last_said + longest_silence(peer) && !peer.dues.heartbeat) {
    peer.dues.heartbeat = true;
    send_due(peer);
  }
}

Instant LibfabricFabric::next_deadline(const ProviderPeer& peer) const {
  switch (peer.link) {
    case Link::waiting:
      break;
    case Link::connecting:
      return peer.next_hello;
    case Link::closing:
      return peer.close_by;
    case Link::up:
      return session_deadline(peer);
  }
  return Instant::never();
}

Instant LibfabricFabric::session_deadline(const ProviderPeer& peer) const {
  const Duration interval = options_.heartbeat_interval;
  Instant at = peer.last_heard + options_.peer_timeout;
  if (!peer.dues.heartbeat) at = std::min(at, peer.last_said + longest_silence(peer));
  if (peer.doorbell) at = std::min(at, peer.last_checked + interval);
  if (peer.stalled) at = std::min(at, *peer.stalled + std::min(kLongestStall, interval));
  if (!peer.early.empty()) at = std::min(at, peer.gap_since + interval * 2);
  return at;
}

void LibfabricFabric::send_hello(ProviderPeer& peer) {
  Outcome outcome = Outcome::later;
  if (ensure_address(peer)) {
    ensure_doorbell(peer);
    Hello hello;
    hello.to = peer.id;
    hello.incarnation = options_.incarnation;
    hello.nonce = peer.my_nonce;
    hello.receiver = parse_endpoint_address(peer.life.address)->nonce;
    hello.attempt = peer.my_attempt;
    hello.address = address_;
    std::array<std::byte, 128 + kMaxAddressText> payload;
    const std::size_t size = encode(hello, payload);
    hello.proof =
        key_.prove(FrameKind::hello, options_.self, proven_part(std::span(payload).first(size)));
    encode(hello, payload);
    outcome = send_frame(peer, FrameKind::hello, std::span(payload).first(size), false);
  }
  peer.hello_is_gone = outcome == Outcome::sent;
  if (peer.hello_is_gone) {
    peer.hello_delay = std::max(peer.hello_delay, kFirstRepeat);
    peer.next_hello = now_ + peer.hello_delay;
    peer.hello_delay = std::min(peer.hello_delay * 2, kLongestRepeat);
  } else {
    peer.hello_delay = std::min(peer.hello_delay, kLongestRetry);
    peer.next_hello = now_ + peer.hello_delay;
    peer.hello_delay = std::min(peer.hello_delay * 2, kLongestRetry);
  }
}

LibfabricFabric::Outcome LibfabricFabric::send_welcome(ProviderPeer& peer) {
  if (!ensure_address(peer)) return Outcome::blocked;
  ensure_doorbell(peer);
  Welcome welcome;
  welcome.to = peer.id;
  welcome.incarnation = options_.incarnation;
  welcome.to_incarnation = peer.life.incarnation;
  welcome.nonce = peer.my_nonce;
  welcome.to_nonce = peer.their_nonce;
  welcome.attempt = peer.my_attempt;
  welcome.window = static_cast<std::uint32_t>(options_.receive_window);
  welcome.max_message = static_cast<std::uint32_t>(options_.max_message);
  std::array<std::byte, 128> payload;
  const std::size_t size = encode(welcome, payload);
  welcome.proof =
      key_.prove(FrameKind::welcome, options_.self, proven_part(std::span(payload).first(size)));
  encode(welcome, payload);
  return send_frame(peer, FrameKind::welcome, std::span(payload).first(size), false);
}

bool LibfabricFabric::proven(ProviderPeer& peer, FrameKind kind, std::span<const std::byte> payload,
                             const Proof& proof) {
  if (key_.verify(kind, peer.id, proven_part(payload), proof)) return true;
  if (!std::exchange(peer.refusal_reported, true)) {
    spdlog::warn("{}: somebody who does not know the job's secret claims to be node {}; refused",
                 name_, peer.id.value());
  }
  return false;
}

void LibfabricFabric::on_hello(ProviderPeer& peer, std::span<const std::byte> payload) {
  const auto hello = decode_hello(payload);
  if (!hello || hello->to != options_.self || peer.removed) return;
  // Said to another life of this node, maybe recorded then.
  if (hello->receiver != own_nonce_) return;
  const Life& known = peer.next_life ? *peer.next_life : peer.life;
  if (hello->incarnation < known.incarnation) return;
  if (!proven(peer, FrameKind::hello, payload, hello->proof)) return;
  if (hello->incarnation > known.incarnation) {
    // It was restarted, and tells us where it is before anybody else does.
    const Hello said = *hello;
    if (!add_peer(peer.id, hello->incarnation, hello->address)) return;
    if (peer.link == Link::connecting) answer_hello(peer, said);
    return;
  }
  if (peer.next_life) return;  // of the life that is about to begin: it will be repeated
  if (hello->attempt < peer.their_attempt) return;  // late, or recorded
  const bool is_new = hello->attempt > peer.their_attempt;
  switch (peer.link) {
    case Link::waiting:
      if (!is_new) break;
      start_connecting(peer);
      answer_hello(peer, *hello);
      break;
    case Link::connecting:
      answer_hello(peer, *hello);
      break;
    case Link::up:
      // An attempt that is known: our welcome has not arrived.
      if (is_new) begin_closing(peer, "it began a new session", kDrain, Link::connecting);
      if (peer.link != Link::closing) answer_hello(peer, *hello);
      break;
    case Link::closing:
      break;  // it will be repeated
  }
}

void LibfabricFabric::answer_hello(ProviderPeer& peer, const Hello& hello) {
  note_attempt(peer, hello.nonce, hello.attempt);
  peer.dues.welcome = true;
  send_due(peer);
}

void LibfabricFabric::note_attempt(ProviderPeer& peer, const Nonce& nonce, std::uint64_t attempt) {
  peer.their_nonce = nonce;
  peer.their_attempt = attempt;
  peer.knows_their_nonce = true;
}

void LibfabricFabric::on_welcome(ProviderPeer& peer, std::span<const std::byte> payload) {
  const auto welcome = decode_welcome(payload);
  if (!welcome || peer.link != Link::connecting || welcome->to != options_.self ||
      welcome->to_incarnation != options_.incarnation || welcome->to_nonce != peer.my_nonce ||
      welcome->incarnation != peer.life.incarnation) {
    return;
  }
  if (!proven(peer, FrameKind::welcome, payload, welcome->proof)) return;
  if (welcome->max_message != options_.max_message) {
    if (!std::exchange(peer.refusal_reported, true)) {
      spdlog::error("{}: node {} has max_message {} where this node has {}: give all the same",
                    name_, peer.id.value(), welcome->max_message, options_.max_message);
    }
    return;
  }
  go_up(peer, *welcome);
}

void LibfabricFabric::go_up(ProviderPeer& peer, const Welcome& welcome) {
  peer.token_out = key_.token(options_.self, peer.id, peer.my_nonce, welcome.nonce);
  peer.token_in = key_.token(peer.id, options_.self, welcome.nonce, peer.my_nonce);
  peer.frames_out = peer.frames_in = 0;
  peer.credits = std::min<std::size_t>(welcome.window, 0xFFFF);
  peer.credits_due = 0;
  peer.last_heard = peer.last_said = peer.last_checked = now_;
  peer.stalled.reset();
  peer.link = Link::up;
  next_tick_ = now_;
  ensure_doorbell(peer);
  if (endpoint_->traits().peeks_at_headers) {
    widen_receive_buffers(endpoint_->name(), parse_endpoint_address(peer.life.address)->name);
  }
  Completion completion;
  completion.kind = CompletionKind::peer_up;
  completion.peer = peer.id;
  completion.incarnation = peer.life.incarnation;
  emit(completion);
  // Our welcome has to go before anything else in this session: it makes the peer listen.
  const bool welcomed =
      peer.knows_their_nonce && peer.their_nonce == welcome.nonce && !peer.dues.welcome;
  note_attempt(peer, welcome.nonce, welcome.attempt);
  if (welcomed) return;
  peer.dues.welcome = true;
  send_due(peer);
}

void LibfabricFabric::begin_closing(ProviderPeer& peer, std::string_view reason, Duration drain,
                                    Link then) {
  WEFT_CHECK(peer.link == Link::up);
  spdlog::info("{}: node {} incarnation {} is down: {}", name_, peer.id.value(),
               peer.life.incarnation.value(), reason);
  peer.link = Link::closing;
  peer.after_closing = then;
  peer.close_by = now_ + drain;
  next_tick_ = std::min(next_tick_, peer.close_by);
  peer.regions.clear();
  peer.granted.clear();
  peer.announced = 0;
  peer.region_frames.clear();
  peer.dues = {};
  for (const EarlyFrame& early : peer.early) receives_->give_back(*early.receive);
  peer.early.clear();
  peer.knows_their_nonce = false;
  while (ProviderOperation* operation = peer.queued.first()) {
    peer.queued.remove(*operation);
    operation->segment_count = operation->segments_issued;
    if (operation->parts_pending > 0) {
      peer.issued.push_back(*operation);
      ++peer.writes_issued;
      ++writes_issued_;
      ++issued_;
      continue;
    }
    end_operation(CompletionKind::failed, peer.id, operation->user_context);
    operations_->give_back(*operation);
  }
  if (peer.issued.empty() || drain == Duration{}) finish_closing(peer);
}

void LibfabricFabric::finish_closing(ProviderPeer& peer) {
  while (ProviderOperation* operation = peer.issued.first()) {
    peer.issued.remove(*operation);
    operation->peer = nullptr;
    --issued_;
    if (operation->purpose == ProviderOperation::Purpose::user) {
      end_operation(CompletionKind::failed, peer.id, operation->user_context);
    }
  }
  writes_issued_ -= peer.writes_issued;
  peer.writes_issued = 0;
  Completion completion;
  completion.kind = CompletionKind::peer_down;
  completion.peer = peer.id;
  completion.incarnation = peer.life.incarnation;
  emit(completion);
  peer.link = Link::waiting;
  if (peer.removed) return;
  if (peer.next_life) {
    Life life = *std::exchange(peer.next_life, std::nullopt);
    start_life(peer, std::move(life));
  } else if (peer.after_closing == Link::connecting) {
    start_connecting(peer);
  }
}

}  // namespace weft::ofi

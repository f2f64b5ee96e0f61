// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/shaped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "fabric/shaped/egress.hpp"
#include "fabric/shaped/ingress.hpp"
#include "fabric/shaped/marker.hpp"

namespace weft {
namespace shaped {
namespace {

constexpr std::size_t kSmallestMessage = 4096;  // every fabric promises to carry that
constexpr std::size_t kInnerBatch = 64;
constexpr int kInnerPolls = 8;  // at most, per poll
constexpr auto kSlowest = Bandwidth::bytes_per_second(1'000);
// How far ahead of our clock a peer's time stamp is believed.
constexpr Duration kFarthestAhead = Duration::seconds(30);

constexpr std::size_t kMessagesHeld = 128;
constexpr std::size_t kLeastHeld = 16u << 20;
constexpr std::size_t kMostHeld = 128u << 20;

std::size_t bytes_to_hold(std::size_t largest_message) {
  return std::clamp(kMessagesHeld * largest_message, kLeastHeld, kMostHeld);
}

ByteCount chunk_of(const ShapeOptions& options) {
  if (options.chunk != ByteCount{}) return options.chunk;
  const std::uint64_t rate = options.egress.rate.bytes_per_second();
  if (rate == 0) return ByteCount::kib(64);
  return std::clamp(ByteCount(rate / 50'000), ByteCount::kib(8), ByteCount::kib(64));
}

void check_link(const LinkShape& link) {
  WEFT_CHECK(link.rate == Bandwidth{} || link.rate >= kSlowest, "a rate of {} B/s",
             link.rate.bytes_per_second());
  WEFT_CHECK(link.latency >= Duration{}, "a latency of {} ns", link.latency.ticks());
}

class Shaped final : public ShapedFabric {
 public:
  Shaped(std::unique_ptr<Fabric> inner, const ShapeOptions& options);

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return name_; }
  std::string address() const override { return inner_->address(); }
  Result<void> add_peer(NodeId id, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId id) override;
  Result<Region> expose(std::span<std::byte> memory) override { return inner_->expose(memory); }
  void retract(const Region& region) override { inner_->retract(region); }
  bool is_silent(NodeId peer) const override { return inner_->is_silent(peer); }
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;
  void set_links(const LinkShape& egress, const LinkShape& ingress) override;
  ShapeBacklog backlog() const override { return {egress_.backlog(now_), ingress_.backlog(now_)}; }

 private:
  struct Peer {
    Egress::Queue queue;
    bool inner_up = false;
    std::uint32_t inner_life = 0;  // counts the inner fabric's peer_up
    bool reported_up = false;      // as the user was told
    std::uint32_t reported_life = 0;
    std::uint32_t discard_before = 0;  // lives before this one ended by remove_peer
    Instant last_arrival{};
    // Operations are carried out only in the life of the peer that their poster knows of.
    bool open() const {
      return inner_up && reported_up && inner_life == reported_life && inner_life >= discard_before;
    }
  };

  void see(Instant now);
  bool take(const TxOp& op);
  void pump();
  void take_in();
  void take_in(const Completion& completion);
  void take_in_message(Peer& peer, const Completion& completion);
  void add_arrival(Peer& peer, Arrival arrival);
  bool deliver(Completion& out);
  Peer& known(NodeId id);

  std::unique_ptr<Fabric> inner_;
  std::string name_;
  FabricLimits limits_;
  Egress egress_;
  Ingress ingress_;
  std::unordered_map<NodeId, Peer> peers_;
  std::span<TxOp> unposted_;   // of egress_, refused by the inner fabric for now
  std::vector<Buffer> shown_;  // the last poll handed out their data
  std::array<Completion, kInnerBatch> batch_{};
  bool started_ = false;
  Instant now_{};
};

Shaped::Shaped(std::unique_ptr<Fabric> inner, const ShapeOptions& options)
    : inner_(std::move(inner)),
      name_(fmt::format("shaped({})", inner_->name())),
      limits_(inner_->limits()),
      egress_(options.egress, chunk_of(options), options.catch_up,
              {.operations = limits_.max_outstanding,
               .inner_operations = limits_.max_outstanding,
               .message_bytes = bytes_to_hold(limits_.max_message),
               .largest_message = limits_.max_message - Marker::size}),
      ingress_(options.ingress, options.catch_up, options.cut_through,
               {.message_bytes = bytes_to_hold(limits_.max_message),
                .largest_message = limits_.max_message}) {
  check_link(options.egress);
  check_link(options.ingress);
  WEFT_CHECK(chunk_of(options).value() <= Marker::max_bytes, "chunks of {} bytes",
             chunk_of(options).value());
  WEFT_CHECK(options.catch_up >= Duration{});
  WEFT_CHECK(limits_.max_message >= kSmallestMessage + Marker::size,
             "{} carries messages of {} bytes only", inner_->name(), limits_.max_message);
  limits_.max_message -= Marker::size;
}

// The first instant seen is where the links' time begins.
void Shaped::see(Instant now) {
  if (!started_) {
    started_ = true;
    egress_.start(now);
    ingress_.start(now);
  }
  now_ = std::max(now_, now);
  egress_.see(now_);
}

Shaped::Peer& Shaped::known(NodeId id) {
  Peer& peer = peers_[id];
  peer.queue.peer = id;
  return peer;
}

Result<void> Shaped::add_peer(NodeId id, Incarnation incarnation, std::string_view address) {
  auto added = inner_->add_peer(id, incarnation, address);
  if (added.ok()) known(id);
  return added;
}

void Shaped::remove_peer(NodeId id) {
  const auto it = peers_.find(id);
  if (it == peers_.end()) return;
  // The rest follows when the inner fabric has let go of the operations' memory.
  it->second.discard_before = it->second.inner_life + 1;
  inner_->remove_peer(id);
}

std::size_t Shaped::post(std::span<const TxOp> ops) {
  std::size_t taken = 0;
  while (taken < ops.size() && take(ops[taken])) ++taken;
  return taken;
}

bool Shaped::take(const TxOp& op) {
  const std::size_t limit = op.kind == OpKind::send ? limits_.max_message : limits_.max_write;
  WEFT_CHECK(op.size() <= limit, "operation of {} bytes, at most {} are possible", op.size(),
             limit);
  const auto it = peers_.find(op.peer);
  if (it == peers_.end() || !it->second.open()) return egress_.take_failed(op);
  return egress_.take(it->second.queue, op);
}

// Posts the operations that the egress link had time for.
void Shaped::pump() {
  for (;;) {
    if (unposted_.empty()) {
      (void)egress_.fill(now_);
      unposted_ = egress_.filled();
      if (unposted_.empty()) return;
    }
    const std::size_t n = inner_->post(unposted_);
    unposted_ = unposted_.subspan(n);
    if (!unposted_.empty()) return;
  }
}

std::size_t Shaped::poll(Instant now, std::span<Completion> completions) {
  see(now);
  for (Buffer& buffer : shown_) ingress_.give_back(std::move(buffer));
  shown_.clear();
  take_in();
  pump();
  egress_.advance(now_);
  ingress_.advance(now_);
  std::size_t n = 0;
  while (n < completions.size() && egress_.has_completion()) {
    completions[n++] = egress_.take_completion();
  }
  while (n < completions.size() && ingress_.has_delivery()) {
    if (deliver(completions[n])) ++n;
  }
  return n;
}

// Polls the inner fabric as far as there is room for its completions. Without room it is not
// polled: that stops the senders.
void Shaped::take_in() {
  for (int i = 0; i < kInnerPolls; ++i) {
    const std::size_t room = std::min(batch_.size(), ingress_.room());
    if (room == 0) return;
    const std::size_t n = inner_->poll(now_, std::span(batch_).first(room));
    for (std::size_t c = 0; c < n; ++c) take_in(batch_[c]);
    if (n < room) return;
  }
}

void Shaped::take_in(const Completion& completion) {
  Peer& peer = known(completion.peer);
  switch (completion.kind) {
    case CompletionKind::received:
      take_in_message(peer, completion);
      break;
    case CompletionKind::sent:
    case CompletionKind::written:
    case CompletionKind::failed:
      egress_.on_inner_completion(peer.queue, completion.context,
                                  completion.kind == CompletionKind::failed);
      break;
    case CompletionKind::peer_up:
    case CompletionKind::peer_down: {
      const bool up = completion.kind == CompletionKind::peer_up;
      peer.inner_up = up;
      if (up) {
        ++peer.inner_life;
      } else {
        unposted_ = egress_.end_peer(peer.queue, unposted_);
      }
      Arrival arrival;
      arrival.kind = up ? Arrival::Kind::peer_up : Arrival::Kind::peer_down;
      arrival.at = now_;
      arrival.incarnation = completion.incarnation;
      add_arrival(peer, std::move(arrival));
      break;
    }
  }
}

void Shaped::take_in_message(Peer& peer, const Completion& completion) {
  const auto marker = decode_marker(completion.data);
  if (!marker) {
    spdlog::error("node {} sends what no shaped fabric sends: shape all nodes or none",
                  completion.peer.value());
    remove_peer(completion.peer);
    return;
  }
  Arrival arrival;
  arrival.bytes = marker->bytes;
  arrival.at = std::min(as_own(marker->arrives), now_ + kFarthestAhead);
  if (marker->kind == Marker::Kind::message) {
    const auto payload = completion.data.subspan(Marker::size);
    arrival.kind = Arrival::Kind::message;
    arrival.size = static_cast<std::uint32_t>(payload.size());
    arrival.buffer = ingress_.take_buffer(payload.size());
    if (!payload.empty()) std::memcpy(arrival.buffer.data(), payload.data(), payload.size());
  }
  add_arrival(peer, std::move(arrival));
}

// Messages of one peer stay in order, even if their time stamps do not.
void Shaped::add_arrival(Peer& peer, Arrival arrival) {
  arrival.at = std::max(arrival.at, peer.last_arrival);
  peer.last_arrival = arrival.at;
  arrival.peer = peer.queue.peer;
  arrival.life = peer.inner_life;
  ingress_.add(std::move(arrival));
}

// False when there is nothing to tell: of a peer that was removed.
bool Shaped::deliver(Completion& out) {
  Arrival arrival = ingress_.take_delivery();
  Peer& peer = peers_.at(arrival.peer);
  const bool discarded = arrival.life < peer.discard_before;
  out = {};
  out.peer = arrival.peer;
  out.incarnation = arrival.incarnation;
  switch (arrival.kind) {
    case Arrival::Kind::filler:
      return false;
    case Arrival::Kind::message:
      out.kind = CompletionKind::received;
      out.data = std::span<const std::byte>(arrival.buffer.data(), arrival.size);
      shown_.push_back(std::move(arrival.buffer));
      return !discarded;
    case Arrival::Kind::peer_up:
      if (discarded) return false;
      out.kind = CompletionKind::peer_up;
      peer.reported_up = true;
      peer.reported_life = arrival.life;
      return true;
    case Arrival::Kind::peer_down: {
      const bool told = peer.reported_up;
      peer.reported_up = false;
      out.kind = CompletionKind::peer_down;
      return told;
    }
  }
  return false;
}

WaitHint Shaped::prepare_wait(Instant now) {
  see(now);
  WaitHint hint;
  // While nothing more can be taken in, the inner fabric's news has to wait for the link.
  if (ingress_.room() > 0) hint = inner_->prepare_wait(now);
  hint.poll_by = std::min({hint.poll_by, ingress_.next_deadline(), egress_.next_departure()});
  if (unposted_.empty()) hint.poll_by = std::min(hint.poll_by, egress_.next_fill());
  hint.ready = hint.ready || egress_.has_completion() || hint.poll_by <= now_;
  return hint;
}

void Shaped::set_links(const LinkShape& egress, const LinkShape& ingress) {
  check_link(egress);
  check_link(ingress);
  egress_.set_shape(now_, egress);
  ingress_.set_shape(now_, ingress);
}

}  // namespace
}  // namespace shaped

std::unique_ptr<ShapedFabric> shape(std::unique_ptr<Fabric> inner, const ShapeOptions& options) {
  return std::make_unique<shaped::Shaped>(std::move(inner), options);
}

}  // namespace weft

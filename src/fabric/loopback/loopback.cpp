// SPDX-License-Identifier: Apache-2.0
#include "fabric/loopback/loopback.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/number_text.hpp"

namespace weft {
namespace {

constexpr std::string_view kScheme = "loopback:";

class LoopbackFabric;

}  // namespace

// Endpoints by serial number, which is their address.
struct LoopbackHub::State {
  LoopbackOptions options;
  std::uint64_t next_serial = 1;
  std::map<std::uint64_t, LoopbackFabric*> endpoints;
};

namespace {

// A connection is a pair of LinkEnd records with the same link number. The user of an endpoint
// learns of its making and breaking by events that queue behind everything that happened before;
// until the end of a link was reported, operations posted to it wait to be failed in front of that
// report.
struct LinkEnd {
  NodeId id{};
  Incarnation incarnation{};
  std::uint64_t serial = 0;         // of the endpoint at the other end
  std::uint64_t link = 0;           // 0: not connected
  std::uint64_t reported_link = 0;  // its peer_up was reported and its peer_down was not
  Incarnation reported_incarnation{};
  bool removed = false;
  std::deque<std::pair<TxOp, std::vector<std::byte>>> out;
  std::size_t unread = 0;  // messages of this peer in the event queue
};

struct Event {
  Completion completion;
  std::uint64_t link = 0;
  std::vector<std::byte> data;
};

class LoopbackFabric final : public Fabric {
 public:
  LoopbackFabric(std::shared_ptr<LoopbackHub::State> hub, NodeId self, Incarnation incarnation,
                 int descriptor)
      : hub_(std::move(hub)),
        self_(self),
        incarnation_(incarnation),
        serial_(hub_->next_serial++),
        descriptor_(descriptor),
        limits_{hub_->options.max_message, hub_->options.max_write, hub_->options.max_outstanding,
                true} {
    hub_->endpoints.emplace(serial_, this);
  }
  ~LoopbackFabric() override {
    hub_->endpoints.erase(serial_);
    for (auto& [id, peer] : peers_) disconnect(peer);
    ::close(descriptor_);
  }

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "loopback"; }
  std::string address() const override { return fmt::format("{}{}", kScheme, serial_); }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId peer) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override { regions_.erase(region.remote.key); }
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

  NodeId self() const { return self_; }
  void break_connection(NodeId id) {
    const auto it = peers_.find(id);
    if (it != peers_.end() && it->second.link != 0) disconnect(it->second);
  }

 private:
  static LoopbackFabric* find(LoopbackHub::State& hub, std::uint64_t serial) {
    const auto it = hub.endpoints.find(serial);
    return it == hub.endpoints.end() ? nullptr : it->second;
  }
  void connect_all();
  void connect(LinkEnd& mine, LoopbackFabric& other, LinkEnd& theirs);
  void disconnect(LinkEnd& peer);
  void link_ended(LinkEnd& peer);
  void carry_out(LinkEnd& peer);
  bool deliver(LinkEnd& peer, const TxOp& op, std::span<const std::byte> message);
  void push(CompletionKind kind, NodeId peer, std::uint64_t context, std::uint64_t link);
  void yield_front(Completion& out);
  void wake();

  std::shared_ptr<LoopbackHub::State> hub_;
  NodeId self_;
  Incarnation incarnation_;
  std::uint64_t serial_;
  int descriptor_;
  FabricLimits limits_;
  std::uint64_t next_key_ = 1;
  std::uint64_t next_link_ = 1;
  std::size_t outstanding_ = 0;
  std::map<NodeId, LinkEnd> peers_;
  std::map<std::uint64_t, std::span<std::byte>> regions_;
  std::deque<Event> events_;
  std::deque<Event> shown_;  // the last poll handed out their data
};

Result<void> LoopbackFabric::add_peer(NodeId id, Incarnation incarnation,
                                      std::string_view address) {
  const std::string_view digits =
      address.starts_with(kScheme) ? address.substr(kScheme.size()) : std::string_view();
  const auto serial = parse_number<std::uint64_t>(digits);
  if (!serial) {
    return invalid("peer address '{}': expected {}NUMBER", address, kScheme);
  }
  LinkEnd& peer = peers_[id];
  if (peer.serial != 0 && incarnation < peer.incarnation) return {};
  if (peer.link != 0 && incarnation != peer.incarnation) disconnect(peer);
  peer.id = id;
  peer.incarnation = incarnation;
  peer.serial = *serial;
  peer.removed = false;
  connect_all();
  return {};
}

void LoopbackFabric::remove_peer(NodeId id) {
  const auto it = peers_.find(id);
  if (it == peers_.end()) return;
  it->second.removed = true;
  if (it->second.link != 0) disconnect(it->second);
}

// Connects every pair of which both sides know each other's current life.
void LoopbackFabric::connect_all() {
  for (auto& [id, mine] : peers_) {
    LoopbackFabric* other = find(*hub_, mine.serial);
    if (mine.removed || mine.link != 0 || other == nullptr) continue;
    if (other->self_ != id || other->incarnation_ != mine.incarnation) continue;
    const auto theirs = other->peers_.find(self_);
    if (theirs == other->peers_.end() || theirs->second.removed) continue;
    if (theirs->second.serial != serial_) continue;
    connect(mine, *other, theirs->second);
  }
}

void LoopbackFabric::connect(LinkEnd& mine, LoopbackFabric& other, LinkEnd& theirs) {
  if (theirs.link != 0 && &theirs != &mine) return;
  mine.link = next_link_++;
  push(CompletionKind::peer_up, mine.id, 0, mine.link);
  if (&theirs == &mine) return;
  theirs.link = other.next_link_++;
  other.push(CompletionKind::peer_up, self_, 0, theirs.link);
}

void LoopbackFabric::disconnect(LinkEnd& peer) {
  LoopbackFabric* other = find(*hub_, peer.serial);
  if (other != nullptr && other != this) {
    const auto theirs = other->peers_.find(self_);
    if (theirs != other->peers_.end() && theirs->second.serial == serial_) {
      other->link_ended(theirs->second);
    }
  }
  link_ended(peer);
}

void LoopbackFabric::link_ended(LinkEnd& peer) {
  if (peer.link == 0) return;
  push(CompletionKind::peer_down, peer.id, 0, peer.link);
  peer.link = 0;
}

Result<Region> LoopbackFabric::expose(std::span<std::byte> memory) {
  const std::uint64_t key = (serial_ << 32) + next_key_++;
  regions_.emplace(key, memory);
  return Region{memory, {key, 0, memory.size()}};
}

std::size_t LoopbackFabric::post(std::span<const TxOp> ops) {
  std::size_t taken = 0;
  for (const TxOp& op : ops) {
    const bool is_send = op.kind == OpKind::send;
    WEFT_CHECK(op.size() <= (is_send ? limits_.max_message : limits_.max_write),
               "operation of {} bytes", op.size());
    if (outstanding_ == limits_.max_outstanding) break;
    ++outstanding_;
    ++taken;
    const auto it = peers_.find(op.peer);
    if (it == peers_.end() || it->second.reported_link == 0) {
      push(CompletionKind::failed, op.peer, op.context, 0);
      continue;
    }
    std::vector<std::byte> message;
    if (is_send) {
      for (const auto& segment : op.segments) {
        message.insert(message.end(), segment.begin(), segment.end());
      }
    }
    it->second.out.emplace_back(op, std::move(message));
    carry_out(it->second);
  }
  return taken;
}

// Carries out the operations that the peer has room for.
void LoopbackFabric::carry_out(LinkEnd& peer) {
  while (!peer.out.empty() && peer.link != 0 && peer.link == peer.reported_link) {
    const TxOp& op = peer.out.front().first;
    if (!deliver(peer, op, peer.out.front().second)) return;
    const bool is_send = op.kind == OpKind::send;
    push(is_send ? CompletionKind::sent : CompletionKind::written, peer.id, op.context, 0);
    peer.out.pop_front();
  }
}

// False when it must wait: for room, or, after a bad write, for the report that the link broke.
bool LoopbackFabric::deliver(LinkEnd& peer, const TxOp& op, std::span<const std::byte> message) {
  LoopbackFabric* other = find(*hub_, peer.serial);
  WEFT_CHECK(other != nullptr, "linked to an endpoint that is gone");
  if (op.kind == OpKind::write) {
    const auto region = other->regions_.find(op.region.key);
    if (region == other->regions_.end() || op.region_offset > region->second.size() ||
        op.size() > region->second.size() - op.region_offset) {
      disconnect(peer);
      return false;
    }
    std::byte* at = region->second.data() + op.region_offset;
    for (const auto& segment : op.segments) {
      if (!segment.empty()) std::memcpy(at, segment.data(), segment.size());
      at += segment.size();
    }
    return true;
  }
  LinkEnd& theirs = other->peers_.at(self_);
  if (theirs.unread >= limits_.max_outstanding) return false;
  ++theirs.unread;
  Event event;
  event.completion.kind = CompletionKind::received;
  event.completion.peer = self_;
  event.data.assign(message.begin(), message.end());
  other->events_.push_back(std::move(event));
  other->wake();
  return true;
}

void LoopbackFabric::push(CompletionKind kind, NodeId peer, std::uint64_t context,
                          std::uint64_t link) {
  Event event;
  event.completion.kind = kind;
  event.completion.peer = peer;
  event.completion.context = context;
  event.link = link;
  if (kind == CompletionKind::peer_up) {
    event.completion.incarnation = peers_.at(peer).incarnation;
    event.completion.is_lossless = hub_->options.is_lossless;
  }
  events_.push_back(std::move(event));
  wake();
}

std::size_t LoopbackFabric::poll(Instant, std::span<Completion> completions) {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const auto cleared = ::read(descriptor_, &ignored, sizeof ignored);
  shown_.clear();
  connect_all();
  for (auto& [id, peer] : peers_) carry_out(peer);
  std::size_t n = 0;
  while (n < completions.size() && !events_.empty()) {
    yield_front(completions[n++]);
  }
  // Readable for as long as there is more to yield.
  if (!events_.empty()) wake();
  return n;
}

// Yields the first event, or another that must be reported in front of it.
void LoopbackFabric::yield_front(Completion& out) {
  Event& event = events_.front();
  out = event.completion;
  LinkEnd* peer = peers_.contains(out.peer) ? &peers_.at(out.peer) : nullptr;
  switch (out.kind) {
    case CompletionKind::peer_up:
      peer->reported_link = event.link;
      peer->reported_incarnation = out.incarnation;
      break;
    case CompletionKind::peer_down:
      if (!peer->out.empty()) {
        out.kind = CompletionKind::failed;
        out.context = peer->out.front().first.context;
        peer->out.pop_front();
        --outstanding_;
        return;
      }
      out.incarnation = peer->reported_incarnation;
      peer->reported_link = 0;
      break;
    case CompletionKind::received: {
      --peer->unread;
      // Its sender may be waiting for this room.
      if (LoopbackFabric* other = find(*hub_, peer->serial)) other->wake();
      shown_.push_back(std::move(event));
      out.data = shown_.back().data;
      break;
    }
    case CompletionKind::sent:
    case CompletionKind::written:
    case CompletionKind::failed:
      --outstanding_;
      break;
  }
  events_.pop_front();
}

WaitHint LoopbackFabric::prepare_wait(Instant) {
  return {.ready = !events_.empty(), .descriptor = descriptor_, .poll_by = Instant::never()};
}

void LoopbackFabric::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

}  // namespace

LoopbackHub::LoopbackHub(const LoopbackOptions& options) : state_(std::make_shared<State>()) {
  state_->options = options;
}

LoopbackHub::~LoopbackHub() = default;

Result<std::unique_ptr<Fabric>> LoopbackHub::open(NodeId self, Incarnation incarnation) {
  const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) {
    return make_error(ErrorCode::exhausted, "eventfd: {}; raise the limit of open files",
                      std::strerror(errno));
  }
  return std::unique_ptr<Fabric>(
      std::make_unique<LoopbackFabric>(state_, self, incarnation, descriptor));
}

void LoopbackHub::break_connection(NodeId a, NodeId b) {
  for (auto& [serial, endpoint] : state_->endpoints) {
    if (endpoint->self() == a) endpoint->break_connection(b);
  }
}

}  // namespace weft

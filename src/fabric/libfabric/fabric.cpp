// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/fabric.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/make_error.hpp"
#include "fabric/libfabric/endpoint_address.hpp"
#include "fabric/libfabric/provider_library.hpp"
#include "fabric/libfabric/spin_lock.hpp"

namespace weft::ofi {
namespace {

// Operations beyond the user's: own frames, and those of peers that went down while the provider
// had not given them back.
constexpr std::size_t kSpareOperations = 256;
// Wake-ups have been lost in some versions of some providers; nothing waits longer than this.
constexpr Duration kLongestSleep = Duration::milliseconds(100);
constexpr Duration kRetry = Duration::milliseconds(1);
constexpr Duration kShortestNap = Duration::microseconds(50);
constexpr Duration kLongestNap = Duration::milliseconds(5);
constexpr std::int64_t kNapShare = 32;
constexpr int kToleratedWakes = 8;
constexpr auto kGoodbyeTime = std::chrono::milliseconds(100);

// Endpoints of provider shm in one process share each other's segments, and crash when one of them
// closes (1.17).
std::atomic<bool> g_shm_in_use = false;

struct Range {
  std::string_view option;
  std::int64_t value, low, high;
};

Result<void> validate(const LibfabricOptions& options) {
  if (options.job_secret.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "libfabric option job_secret is empty: give all processes of the job the same "
                 "secret, 16 random bytes or more"};
  }
  const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const std::int64_t heartbeat = options.heartbeat_interval.ticks();
  const std::int64_t hour = Duration::seconds(3600).ticks();
  const Range ranges[] = {
      {"max_message", number(options.max_message), 4096, 65536},
      {"max_outstanding", number(options.max_outstanding), 1, 65536},
      {"receive_window", number(options.receive_window), 2, 4096},
      {"receive_buffers", number(options.receive_buffers), 8, 65536},
      {"service_level", options.service_level.value(), 0, 15},
      {"heartbeat_interval (ns)", heartbeat, 1'000'000, hour},
      {"peer_timeout (ns)", options.peer_timeout.ticks(), 2 * heartbeat, 24 * hour}};
  for (const Range& range : ranges) {
    if (range.value >= range.low && range.value <= range.high) continue;
    return invalid("libfabric option {} = {} is out of range: choose {} … {}", range.option,
                   range.value, range.low, range.high);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Fabric>> LibfabricFabric::open(const LibfabricOptions& options,
                                                      const Restrictions& restrictions) {
  if (auto valid = validate(options); !valid) return std::move(valid).error();
  if (auto loaded = load_library(); !loaded) return std::move(loaded).error();
  std::unique_ptr<LibfabricFabric> fabric(new LibfabricFabric(options));
  if (auto ready = fabric->set_up(restrictions); !ready) return std::move(ready).error();
  return std::unique_ptr<Fabric>(std::move(fabric));
}

Result<void> LibfabricFabric::set_up(const Restrictions& restrictions) {
  const std::string shm_name = shared_name(key_.tag(), options_.self, options_.incarnation);
  if (options_.provider == "shm") {
    if (g_shm_in_use.exchange(true)) {
      return Error{ErrorCode::exhausted,
                   "libfabric provider \"shm\" allows one endpoint per process: open each node in "
                   "a process of its own, or choose provider \"tcp\""};
    }
    holds_shm_ = true;
    remove_leftovers();
    auto doorbell = Doorbell::open(shm_name, !options_.spin);
    if (!doorbell) return std::move(doorbell).error();
    doorbell_ = std::move(*doorbell);
  }
  const std::size_t operations = 2 * options_.max_outstanding + kSpareOperations;
  auto endpoint = Endpoint::open(options_, shm_name, operations + options_.receive_buffers);
  if (!endpoint) return std::move(endpoint).error();
  endpoint_ = std::move(*endpoint);
  endpoint_->restrict_to(restrictions);
  const std::size_t frame_size = sizeof(FrameHeader) + options_.max_message;
  auto pool = SendPool::make(*endpoint_, operations, frame_size);
  if (!pool) return std::move(pool).error();
  operations_ = std::move(*pool);
  auto receives = ReceivePool::make(*endpoint_, options_.receive_buffers, frame_size);
  if (!receives) return std::move(receives).error();
  receives_ = std::move(*receives);
  scratch_.resize(frame_size);

  const Traits& traits = endpoint_->traits();
  if (traits.local_registration) {
    auto monitor = fabric::make_userfault_monitor();
    if (!monitor) spdlog::info("registrations are not kept: {}", monitor.error().message);
    local_memory_ = std::make_unique<LocalMemory>(
        *endpoint_, monitor ? std::move(*monitor) : std::unique_ptr<fabric::MemoryMonitor>());
  }
  limits_ = {.max_message = options_.max_message,
             .max_write = traits.max_write,
             .max_outstanding = options_.max_outstanding,
             .native_write = traits.native_write,
             .needs_polls = true};
  name_ = "libfabric:" + options_.provider;
  if (traits.hides_connections) {
    visitors_.emplace(endpoint_->name(), traits.answers_connections);
  }
  own_nonce_ = fresh_nonce();
  address_ =
      EndpointAddress{
          options_.provider, {endpoint_->name().begin(), endpoint_->name().end()}, own_nonce_}
          .text();
  spdlog::debug(
      "{}: native writes {}, delivery complete {}, ordered send/write {}, ordered writes {}, "
      "inject {} bytes, wait descriptor {}, yielding spin locks {}",
      name_, traits.native_write, traits.delivery_complete, traits.send_after_write,
      traits.write_after_write, traits.inject_size, endpoint_->descriptor() >= 0,
      spin_locks_yield());
  return {};
}

LibfabricFabric::~LibfabricFabric() {
  if (endpoint_ != nullptr) {
    if (options_.farewell && receives_ != nullptr) say_goodbye();
    endpoint_->stop();
  }
  receives_.reset();
  operations_.reset();
  local_memory_.reset();
  regions_.clear();
  endpoint_.reset();
  if (holds_shm_) g_shm_in_use = false;
}

void LibfabricFabric::say_goodbye() {
  std::vector<ProviderOperation*> goodbyes;
  for (auto& [id, peer] : peers_) {
    ProviderOperation* operation = peer->link == Link::up ? operations_->take() : nullptr;
    if (operation == nullptr) continue;
    const FrameHeader header = header_for(*peer, FrameKind::goodbye, 0);
    encode_header(header, operation->buffer);
    operation->purpose = ProviderOperation::Purpose::frame;
    const ssize_t result =
        endpoint_->send(operation->buffer.first(sizeof header), operations_->buffer_description(),
                        *peer->where, operation);
    if (result == 0) goodbyes.push_back(operation);
    if (peer->doorbell) peer->doorbell->ring_if_asleep(*doorbell_);
  }
  const auto give_up = std::chrono::steady_clock::now() + kGoodbyeTime;
  std::array<Event, 16> events;
  while (!goodbyes.empty() && std::chrono::steady_clock::now() < give_up) {
    const std::size_t n = endpoint_->read(events);
    for (std::size_t i = 0; i < n; ++i) std::erase(goodbyes, events[i].what);
  }
}

Result<void> LibfabricFabric::add_peer(NodeId id, Incarnation incarnation,
                                       std::string_view address) {
  const auto refuse = [&](std::string_view why) {
    return invalid("address \"{}\" of node {} {}", address, id.value(), why);
  };
  if (id == options_.self) return refuse("is this node's own: it cannot be its own peer");
  if (!address.starts_with(options_.provider + "/")) {
    return refuse(fmt::format("is not one of {}: all nodes need the same fabric", name_));
  }
  if (address.size() > kMaxAddressText || !parse_endpoint_address(address)) {
    return refuse("cannot be read: pass what the peer's address() returned");
  }
  Life life{incarnation, std::string(address)};
  auto& slot = peers_[id];
  if (slot == nullptr) {
    slot = std::make_unique<ProviderPeer>();
    slot->id = id;
    start_life(*slot, std::move(life));
    return {};
  }
  ProviderPeer& peer = *slot;
  const bool was_removed = std::exchange(peer.removed, false);
  const Life& known = peer.next_life ? *peer.next_life : peer.life;
  if (!was_removed) {
    if (incarnation < known.incarnation) return {};
    if (incarnation == known.incarnation && address == known.address) {
      if (peer.link == Link::waiting) start_connecting(peer);
      return {};
    }
  }
  if (peer.link == Link::up) {
    peer.next_life = std::move(life);
    begin_closing(peer, "it was replaced", kDrain, Link::connecting);
  } else if (peer.link == Link::closing) {
    peer.next_life = std::move(life);
  } else {
    start_life(peer, std::move(life));
  }
  return {};
}

void LibfabricFabric::remove_peer(NodeId id) {
  ProviderPeer* peer = find(id);
  if (peer == nullptr) return;
  peer->removed = true;
  some_removed_ = true;
  peer->next_life.reset();
  if (peer->link == Link::up) {
    send_frame(*peer, FrameKind::goodbye, {});
    ring_doorbells();
    begin_closing(*peer, "it was removed", kDrain, Link::waiting);
  } else if (peer->link == Link::connecting) {
    peer->link = Link::waiting;
  }
}

Result<Region> LibfabricFabric::expose(std::span<std::byte> memory) {
  return regions_.expose(*endpoint_, memory);
}

void LibfabricFabric::retract(const Region& region) {
  const std::uint64_t key = region.remote.key;
  WEFT_CHECK(regions_.retract(key), "retract of a region that is not exposed");
  for (auto& [id, peer] : peers_) {
    if (peer->granted.erase(key) == 0) continue;
    queue_region_frame(*peer, FrameKind::region_closed, {key, 0, 0});
    send_due(*peer);
  }
  ring_doorbells();
}

std::size_t LibfabricFabric::poll(Instant now, std::span<Completion> completions) {
  begin_poll(now);
  out_ = completions;
  out_used_ = 0;
  drain_ready();
  read_events();
  if (now_ >= next_tick_) tick();
  if (visitors_ && now_ >= visitors_->next_look()) visitors_->look(now_);
  send_listed();
  receives_->post_backlog();
  drain_ready();
  if (some_removed_) forget_removed();
  ring_doorbells();
  out_ = {};
  return out_used_;
}

void LibfabricFabric::begin_poll(Instant now) {
  if (doorbell_ != nullptr) doorbell_->wake_up();
  const Duration pause = now - now_;
  // Time without a poll was not silence of the peers: this process was stopped or busy, and their
  // messages are still in the queue.
  if (polled_ && pause > options_.heartbeat_interval) {
    for (auto& [id, peer] : peers_) {
      peer->last_heard = peer->last_heard + pause;
      if (peer->stalled) peer->stalled = now;
      peer->gap_since = now;
    }
  }
  if (!polled_) {
    for (auto& [id, peer] : peers_) peer->next_hello = now;
  }
  polled_ = true;
  now_ = now;
  for (Receive* receive : held_) receives_->give_back(*receive);
  held_.clear();
}

// Reads some events and notes which peers are in trouble; returns how many.
std::size_t LibfabricFabric::read_ahead() {
  const std::size_t n = endpoint_->read(batch_);
  for (const Event& event : std::span(batch_).first(n)) {
    events_.push_back(event);
    if (event.error == 0 || event.what->type == Tracked::Type::receive) continue;
    const ProviderOperation& operation = static_cast<const ProviderOperation&>(*event.what);
    const ProviderOperation& whole = operation.whole != nullptr ? *operation.whole : operation;
    if (whole.peer != nullptr && whole.peer->link == Link::up) whole.peer->broken = true;
  }
  if (n > 0) {
    last_event_ = now_;
    events_read_ = true;
  } else {
    unread_ = false;
  }
  return n;
}

void LibfabricFabric::act_on_events() {
  while (!events_.empty() && ready_.empty() && out_used_ < out_.size()) {
    const Event event = events_.front();
    events_.pop_front();
    on_event(event);
  }
}

void LibfabricFabric::read_events() {
  unread_ = true;
  act_on_events();
  for (int i = 0; i < kMaxReads && out_used_ < out_.size() && ready_.empty(); ++i) {
    const std::size_t n = read_ahead();
    if (n == 0) break;
    act_on_events();
    // Asking once more would cost a system call or two before the caller sees the completions there
    // are.
    if (writes_issued_ == 0 && out_used_ > 0 && n == 1) break;
  }
}

void LibfabricFabric::send_listed() {
  // Sending may list a peer again; that is for the next poll.
  const std::size_t count = listed_.size();
  for (std::size_t i = 0; i < count; ++i) {
    listed_[i]->listed = false;
    send_due(*listed_[i]);
  }
  listed_.erase(listed_.begin(), listed_.begin() + static_cast<std::ptrdiff_t>(count));
}

void LibfabricFabric::list(ProviderPeer& peer) {
  if (peer.listed) return;
  peer.listed = true;
  listed_.push_back(&peer);
}

void LibfabricFabric::forget_removed() {
  bool left = false;
  for (auto it = peers_.begin(); it != peers_.end();) {
    ProviderPeer& peer = *it->second;
    if (peer.removed && peer.link == Link::waiting && peer.issued.empty()) {
      std::erase(listed_, &peer);
      std::erase(to_ring_, &peer);
      if (last_found_ == &peer) last_found_ = nullptr;
      if (peer.where) endpoint_->remove(*peer.where);
      it = peers_.erase(it);
    } else {
      left = left || peer.removed;
      ++it;
    }
  }
  some_removed_ = left;
}

ProviderPeer* LibfabricFabric::find(NodeId id) {
  if (last_found_ != nullptr && last_found_->id == id) return last_found_;
  const auto found = peers_.find(id);
  if (found == peers_.end()) return nullptr;
  return last_found_ = found->second.get();
}

void LibfabricFabric::emit(const Completion& completion, Receive* receive) {
  if (ready_.empty() && out_used_ < out_.size()) {
    place({completion, receive});
  } else {
    ready_.push_back({completion, receive});
  }
}

void LibfabricFabric::end_operation(CompletionKind kind, NodeId peer, std::uint64_t context) {
  Completion completion;
  completion.kind = kind;
  completion.peer = peer;
  completion.context = context;
  emit(completion);
}

void LibfabricFabric::place(const Ready& ready) {
  out_[out_used_++] = ready.completion;
  if (ready.receive != nullptr) held_.push_back(ready.receive);
  const CompletionKind kind = ready.completion.kind;
  if (kind == CompletionKind::sent || kind == CompletionKind::written ||
      kind == CompletionKind::failed) {
    --outstanding_;
  }
}

void LibfabricFabric::drain_ready() {
  while (!ready_.empty() && out_used_ < out_.size()) {
    place(ready_.front());
    ready_.pop_front();
  }
}

// Some providers' descriptors stay readable though there is nothing to read (net in 1.17 does):
// sleeping on such a one is polling at full rate.
bool LibfabricFabric::descriptor_lies() {
  if (std::exchange(events_read_, false)) {
    needless_wakes_ = 0;
    return false;
  }
  pollfd readable{endpoint_->descriptor(), POLLIN, 0};
  if (::poll(&readable, 1, 0) == 1) ++needless_wakes_;
  return needless_wakes_ > kToleratedWakes;
}

// How long to sleep while the provider cannot wake us: a small share of how long it has been
// silent, so that a message after the silence is late by no more than that share. One-sided writes
// that arrive are no events; their writers speak up meanwhile, see tick_session.
Duration LibfabricFabric::nap(Instant now) const {
  return std::clamp((now - last_event_) / kNapShare, kShortestNap, kLongestNap);
}

WaitHint LibfabricFabric::prepare_wait(Instant now) {
  WaitHint hint;
  hint.descriptor = doorbell_ != nullptr ? doorbell_->descriptor() : endpoint_->descriptor();
  if (doorbell_ == nullptr && hint.descriptor >= 0 && descriptor_lies()) hint.descriptor = -1;
  hint.poll_by = std::min(next_tick_, now + kLongestSleep);
  hint.ready =
      options_.spin || !ready_.empty() || !events_.empty() || next_tick_ <= now || !polled_;
  if (hint.ready) return hint;
  if (!listed_.empty()) hint.poll_by = std::min(hint.poll_by, now + kRetry);
  // Events without a wake-up are polled at growing intervals: all of them if there is no
  // descriptor, completions of our own operations if the descriptor is a doorbell.
  if (hint.descriptor < 0 || (doorbell_ != nullptr && (issued_ > 0 || !listed_.empty()))) {
    hint.poll_by = std::min(hint.poll_by, now + nap(now));
  }
  if (doorbell_ != nullptr) doorbell_->fall_asleep();
  if (!endpoint_->may_sleep()) {
    hint.ready = true;
    return hint;
  }
  if (endpoint_->descriptor() < 0) {
    hint.ready = read_ahead() > 0;
  }
  return hint;
}

}  // namespace weft::ofi

namespace weft {

Result<std::unique_ptr<Fabric>> open_libfabric(const LibfabricOptions& options) {
  return ofi::LibfabricFabric::open(options);
}

}  // namespace weft

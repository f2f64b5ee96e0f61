// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/endpoint.hpp"

#include <sched.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "fabric/tcp/handshake.hpp"
#include "fabric/tcp/tcp.hpp"

namespace weft {

Result<std::unique_ptr<ShmFabric>> open_shm(const ShmOptions& options) {
  return shm::Endpoint::open(options);
}

namespace shm {
namespace {

constexpr std::size_t kMinMessage = 4096;
// A writer that waits for a fetch does not sleep for so long: a MiB takes a tenth of that.
constexpr Duration kLongestFetch = Duration::milliseconds(1);
// Records that a peer published before it looked whether this side sleeps become visible within far
// less: a microsecond of looking, and then a sleep that ends by itself, in case they did not.
constexpr int kLooksBeforeSleep = 512;
/// Rings of quiet peers that a poll looks at; with no more peers than that, none is quiet.
constexpr std::size_t kQuietLooks = 16;
/// Polls until a peer with nothing to do counts as quiet, and how often such are looked for.
constexpr std::uint32_t kQuietAfter = 1024, kLeaveEvery = 256;
constexpr Duration kFirstSleep = Duration::milliseconds(1);
// A companion has all bytes of writes but this part.
constexpr std::uint64_t kOthersPart = 16;
// A switch costs more than shorter writes gain when both sides share a core.
constexpr std::uint64_t kLong = std::uint64_t{256} << 10;
constexpr std::string_view kScheme = "shm:";
constexpr std::size_t kHostDigits = 16;
constexpr std::size_t kLongestName = 64;
constexpr std::string_view kSocketPrefix = "unix:@weft-shm-";

Result<void> check(const ShmOptions& options) {
  if (!std::has_single_bit(options.ring_size) || options.ring_size < kSmallestRing ||
      options.ring_size > kLargestRing) {
    return invalid("ring_size {}: choose a power of two from {} bytes to {} MiB", options.ring_size,
                   kSmallestRing, kLargestRing >> 20);
  }
  if (options.max_message < kMinMessage ||
      options.max_message > largest_payload(options.ring_size)) {
    return invalid(
        "max_message {}: choose from {} bytes to {}, a little less than half of ring_size",
        options.max_message, kMinMessage, largest_payload(options.ring_size));
  }
  const auto& name = options.name;
  if (name.size() > kLongestName || !std::all_of(name.begin(), name.end(), ::isalnum)) {
    return invalid("name '{}': choose at most {} letters and digits", name, kLongestName);
  }
  if (options.max_outstanding == 0) return invalid("max_outstanding 0: choose at least 1");
  if (options.max_write < options.max_message) {
    return invalid("max_write {}: choose at least max_message, {}", options.max_write,
                   options.max_message);
  }
  return {};
}

// The control endpoint's address: a name that no other machine can have, unless the caller chose
// one and takes care of that.
TcpOptions control_options(const ShmOptions& options) {
  TcpOptions control;
  control.self = options.self;
  control.incarnation = options.incarnation;
  control.life = options.life;
  control.job_id = "shm " + options.job_id;
  control.secret = options.secret;
  control.listen =
      std::string(kSocketPrefix) +
      (options.name.empty() ? fmt::format("{:016x}{:016x}", tcp::random_id(), tcp::random_id())
                            : options.name);
  control.max_message = kMinMessage;
  control.handshake_timeout = options.handshake_timeout;
  control.retry_first = options.retry_first;
  control.retry_last = options.retry_last;
  return control;
}

struct Address {
  std::uint64_t host = 0;
  std::string_view control;
};

// "shm:" host "," control
std::optional<Address> parse(std::string_view text) {
  if (!text.starts_with(kScheme)) return std::nullopt;
  text.remove_prefix(kScheme.size());
  Address address;
  const char* const digits = text.data();
  if (text.size() < kHostDigits + 1 || text[kHostDigits] != ',') return std::nullopt;
  const auto read = std::from_chars(digits, digits + kHostDigits, address.host, 16);
  if (read.ec != std::errc{} || read.ptr != digits + kHostDigits) return std::nullopt;
  address.control = text.substr(kHostDigits + 1);
  return address;
}

std::string address_text(std::uint64_t host, std::string_view control) {
  return fmt::format("{}{:016x},{}", kScheme, host, control);
}

}  // namespace

Result<std::unique_ptr<ShmFabric>> Endpoint::open(const ShmOptions& options) {
  if (auto checked = check(options); !checked.ok()) return checked.error();
  if (auto checked = check_segments(); !checked.ok()) return checked.error();
  auto control = open_tcp(control_options(options));
  if (!control.ok()) return control.error();
  return std::unique_ptr<ShmFabric>(std::make_unique<Endpoint>(options, std::move(*control)));
}

Endpoint::Endpoint(const ShmOptions& options, std::unique_ptr<Fabric> control)
    : options_(options),
      limits_{options.max_message, options.max_write, options.max_outstanding, false},
      control_(std::move(control)),
      host_(host_identity()),
      processes_(process_namespace()),
      operations_(options.max_outstanding) {
  std::ranges::fill(options_.secret, std::byte{0});  // the control endpoint has it
}

Endpoint::~Endpoint() = default;

std::string Endpoint::address() const {
  return address_text(host_, control_->address());
}

bool Endpoint::may_reach(std::string_view address) const {
  const auto parsed = parse(address);
  return parsed && parsed->host == host_;
}

Result<void> Endpoint::add_peer(NodeId id, Incarnation incarnation, std::string_view address) {
  const auto parsed = parse(address);
  if (!parsed) {
    return invalid("peer {} at '{}': expected the address of a shared-memory endpoint", id.value(),
                   address);
  }
  if (parsed->host != host_) {
    return make_error(
        ErrorCode::unavailable,
        "peer {} at '{}': on another host, in another container or of another user; use tcp",
        id.value(), address);
  }
  if (auto added = control_->add_peer(id, incarnation, parsed->control); !added.ok()) return added;
  if (id.value() >= peers_.size()) peers_.resize(id.value() + 1);
  auto& slot = peers_[id.value()];
  if (slot == nullptr) slot = std::make_unique<MappedPeer>(*this);
  slot->id = id;
  if (incarnation >= slot->incarnation) {
    slot->incarnation = incarnation;
    slot->address = parsed->control;
  }
  slot->is_known = true;
  control_pace_.expect_something();
  return {};
}

// A process may have begun its part of the link before it began to compute. The control session
// ends only with one of the two processes.
bool Endpoint::is_silent(NodeId id) const {
  if (control_->is_silent(id)) return true;
  const MappedPeer* const peer = find_peer(id);
  return peer != nullptr && peer->is_linked && !peer->is_broken && !peer->is_up;
}

/// Null: there is none on this side. `exchanged`: bytes with it; 0: unknown.
MappedPeer* Endpoint::find_companion(std::uint64_t bytes, std::uint64_t& exchanged) {
  std::uint64_t all = 0;
  Exchange most;
  MappedPeer* found = nullptr;
  for (MappedPeer* const peer : up_) {
    const Exchange exchange = std::exchange(peer->exchange, {});
    all += exchange.bytes;
    if (exchange.bytes <= most.bytes) continue;
    most = exchange;
    found = peer;
  }
  exchanged = most.bytes;
  // A write that is fetched has counted when it was posted.
  const bool goes_on = told_companion_ != nullptr && !told_companion_->fetching.empty();
  if (all < bytes && goes_on && (found == nullptr || found == told_companion_)) {
    exchanged = 0;
    return told_companion_;
  }
  const bool is_only_one = all >= bytes && all - most.bytes <= all / kOthersPart;
  return is_only_one && most.bytes >= most.writes * kLong ? found : nullptr;
}

std::optional<Companion> Endpoint::take_companion(std::uint64_t bytes) {
  Companion result;
  MappedPeer* const found = find_companion(bytes, result.bytes);
  MappedPeer* const before = std::exchange(told_companion_, found);
  if (before != nullptr && before != found) before->consumer.say_companion(0);
  const std::uint64_t here = static_cast<std::uint64_t>(::sched_getcpu()) + 1;
  if (found != nullptr) found->consumer.say_companion(here);
  const std::uint64_t there = found != nullptr ? found->producer.companion() : 0;
  MappedPeer* const old = std::exchange(companion_, there != 0 ? found : nullptr);
  const bool did_share = std::exchange(shares_core_, there == here);
  // Its writes went one way, and the next ones may go the other.
  const bool has_changed = old != companion_ || did_share != shares_core_;
  if (old != nullptr && has_changed && !options_.pull_when_faster) old->trial = {};
  if (companion_ == nullptr) return std::nullopt;
  result.peer = companion_->id;
  return result;
}

void Endpoint::remove_peer(NodeId id) {
  MappedPeer* const peer = find_peer(id);
  if (peer == nullptr || !peer->is_known) return;
  peer->is_known = false;
  peer->is_broken = true;
  control_->remove_peer(id);
  control_pace_.expect_something();
}

Result<Region> Endpoint::expose(std::span<std::byte> memory) {
  const RemoteRegion remote{tcp::random_id(), 0, memory.size()};
  expose_as(memory, remote);
  return Region{memory, remote};
}

void Endpoint::expose_as(std::span<std::byte> memory, const RemoteRegion& remote) {
  const bool is_new = regions_.emplace(remote.key, memory).second;
  WEFT_CHECK(is_new, "region key {:#x} is in use", remote.key);
}

void Endpoint::retract(const Region& region) {
  regions_.erase(region.remote.key);
}

std::size_t Endpoint::post(std::span<const TxOp> ops) {
  std::size_t taken = 0;
  while (taken < ops.size() && post_one(ops[taken])) ++taken;
  for (MappedPeer* peer = std::exchange(touched_, nullptr); peer != nullptr;
       peer = std::exchange(peer->next_touched, nullptr)) {
    peer->is_touched = false;
    wake_if_sleeping(*peer);
  }
  return taken;
}

bool Endpoint::post_one(const TxOp& op) {
  const bool is_send = op.kind == OpKind::send;
  const std::size_t limit = is_send ? limits_.max_message : limits_.max_write;
  WEFT_CHECK(op.size() <= limit, "{} of {} bytes, the limit is {}", is_send ? "send" : "write",
             op.size(), limit);
  if (outstanding_ == limits_.max_outstanding) return false;
  ++outstanding_;
  MappedPeer* const peer = find_peer(op.peer);
  if (peer == nullptr || !peer->is_up) {
    complete(CompletionKind::failed, op);
    return true;
  }
  if (!peer->is_touched) {
    if (!peer->is_busy) become_busy(*peer);
    peer->is_touched = true;
    peer->next_touched = std::exchange(touched_, peer);
  }
  if (!peer->queue.empty() || peer->is_broken || !start(*peer, op)) {
    peer->queue.push(operations_.take().begin(op));
  }
  return true;
}

void Endpoint::complete(CompletionKind kind, const TxOp& op) {
  Completion& completion = completed_.emplace_back();
  completion.kind = kind;
  completion.peer = op.peer;
  completion.context = op.context;
}

void Endpoint::yield_completed(Yield& yield) {
  while (!completed_.empty() && !yield.full()) {
    yield.out[yield.count++] = completed_.front();
    completed_.pop_front();
    --outstanding_;
  }
}

std::size_t Endpoint::poll(Instant now, std::span<Completion> completions) {
  now_ = now;
  Yield yield{completions};
  if (!graveyard_.empty()) graveyard_.clear();
  if (!completed_.empty()) yield_completed(yield);
  if (!up_.empty()) serve_peers(yield);
  if (is_control_due()) serve_control(yield);
  if (!completed_.empty()) yield_completed(yield);
  if (is_said_asleep_ && yield.count > 0) wake_up();
  return yield.count;
}

// A look at a ring costs little, at hundreds of them more than a message takes. Of many peers most
// are quiet: they are looked at by turns, so that one that speaks is heard within the time that a
// look at all takes.
void Endpoint::serve_peers(Yield& yield) {
  if (++first_served_ >= busy_.size()) first_served_ = 0;
  for (std::size_t i = first_served_; i < busy_.size(); ++i) serve(*busy_[i], yield);
  for (std::size_t i = 0; i < first_served_; ++i) serve(*busy_[i], yield);
  if (up_.size() <= kQuietLooks) return;  // all are busy
  if (busy_.size() < up_.size()) look_at_quiet_peers(yield);
  if (++polls_ % kLeaveEvery == 0) leave_quiet_peers();
}

void Endpoint::look_at_quiet_peers(Yield& yield) {
  for (std::size_t looks = 0; looks < kQuietLooks; ++looks) {
    if (++next_quiet_ >= up_.size()) next_quiet_ = 0;
    MappedPeer& peer = *up_[next_quiet_];
    if (peer.is_busy || !peer.consumer.has_next()) continue;
    become_busy(peer);
    serve(peer, yield);
  }
}

void Endpoint::become_busy(MappedPeer& peer) {
  peer.quiet_for = 0;
  if (!std::exchange(peer.is_busy, true)) busy_.push_back(&peer);
}

void Endpoint::wake_quiet_peers_if_few() {
  if (up_.size() > kQuietLooks) return;
  for (MappedPeer* const peer : up_) become_busy(*peer);
}

void Endpoint::leave_quiet_peers() {
  std::erase_if(busy_, [](MappedPeer* peer) {
    const std::uint64_t moved = peer->consumer.position() + peer->producer.position();
    const bool has_work = !peer->queue.empty() || !peer->fetching.empty() || peer->trial.is_open ||
                          peer->consumer.unreleased() > 0;
    const bool has_moved = std::exchange(peer->moved, moved) != moved;
    peer->quiet_for = has_work || has_moved ? 0 : peer->quiet_for + kLeaveEvery;
    if (peer->quiet_for <= kQuietAfter) return false;
    peer->is_busy = false;
    return true;
  });
}

// Nobody needs to wake this side any more.
void Endpoint::wake_up() {
  is_said_asleep_ = false;
  for (MappedPeer* const peer : up_) {
    peer->consumer.take_back_sleeping();
    peer->producer.take_back_space_wanted();
  }
}

void Endpoint::say_asleep(Instant now) {
  is_said_asleep_ = true;
  bool was_said = true;
  for (MappedPeer* const peer : up_) {
    was_said = peer->consumer.say_sleeping() && was_said;
    if (peer->queue.empty() && peer->fetching.empty()) continue;
    was_said = peer->producer.say_space_wanted() && was_said;
  }
  full_fence();
  if (!was_said) said_asleep_at_ = now;
}

// After having said that it sleeps: whether something came in between.
bool Endpoint::sees_work(MappedPeer& peer) {
  if (peer.is_broken) return false;
  if (peer.consumer.has_next() || peer.consumer.unreleased() > 0) return true;
  if (peer.queue.empty() && peer.fetching.empty()) return false;
  const std::uint64_t before = peer.producer.consumed();
  return !peer.producer.refresh() || peer.producer.consumed() != before;
}

bool Endpoint::sees_any_work(int looks) {
  const auto sees = [this](MappedPeer* peer) {
    if (!sees_work(*peer)) return false;
    become_busy(*peer);
    return true;
  };
  do {
    if (std::any_of(up_.begin(), up_.end(), sees)) return true;
    looks -= static_cast<int>(up_.size());
  } while (!up_.empty() && looks > 0);
  return false;
}

WaitHint Endpoint::prepare_wait(Instant now) {
  control_pace_.expect_something();
  say_asleep(now);
  // Before this instant a peer may have looked when it could not see the word yet.
  const Instant safe_from = said_asleep_at_ + kFirstSleep;
  WaitHint hint = control_->prepare_wait(now);
  hint.ready = hint.ready || !completed_.empty() || event_first_ < event_count_ ||
               owed_wakes_ > 0 || sees_any_work(now < safe_from ? kLooksBeforeSleep : 1);
  if (now < safe_from) hint.poll_by = std::min(hint.poll_by, safe_from);
  const bool is_fetched_from = std::any_of(
      up_.begin(), up_.end(), [](const MappedPeer* peer) { return !peer->fetching.empty(); });
  hint.moving = std::exchange(has_moved_, false) ||
                (is_fetched_from && now - fetching_since_ < kLongestFetch);
  return hint;
}

}  // namespace shm

std::string address_beside(std::string_view own, std::string_view name) {
  const auto parsed = shm::parse(own);
  if (!parsed) return {};
  return shm::address_text(parsed->host, fmt::format("{}{}", shm::kSocketPrefix, name));
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "fabric/hybrid/endpoint.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/make_error.hpp"
#include "fabric/hybrid/absent_memory.hpp"

namespace weft {

Result<std::unique_ptr<Fabric>> open_hybrid(const HybridOptions& options,
                                            std::unique_ptr<ShmFabric> near,
                                            std::unique_ptr<Fabric> far) {
  WEFT_CHECK(far != nullptr);
  if (near == nullptr) near = std::make_unique<hybrid::AbsentMemory>();
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.open()) {
    return make_error(ErrorCode::exhausted, "epoll: {}; raise the limit of open files",
                      std::strerror(errno));
  }
  return std::unique_ptr<Fabric>(std::make_unique<hybrid::Endpoint>(
      options, std::move(near), std::move(far), std::move(epoll)));
}

HybridAddress split_address(std::string_view address) {
  const std::size_t bar = address.find('|');
  if (bar != std::string_view::npos) {
    return {std::string(address.substr(0, bar)), std::string(address.substr(bar + 1))};
  }
  if (address.starts_with("shm:")) return {std::string(address), ""};
  return {"", std::string(address)};
}

namespace hybrid {
namespace {

// The two notes, and the context by which their completions are known.
constexpr std::uint64_t kPropose = 0x3150'5942'4854'4657;
constexpr std::uint64_t kAgree = 0x3141'5942'4854'4657;
constexpr std::uint64_t kNoteContext = 0x3145'544F'4E54'4657;

// How often a process that does not sleep polls a silent network: seldom, since asking costs a
// system call, during which shared memory is not looked at.
constexpr Duration kShortestFarInterval = Duration::microseconds(2);
constexpr Duration kLongestFarInterval = Duration::microseconds(32);
constexpr Duration kLongestUnusedFarInterval = Duration::microseconds(500);
// For drivers whose time stands still between sleeps.
constexpr std::uint32_t kMostPollsWithoutFar = 1 << 16;

}  // namespace

Endpoint::Endpoint(const HybridOptions& options, std::unique_ptr<ShmFabric> near,
                   std::unique_ptr<Fabric> far, Descriptor epoll)
    : self_(options.self),
      patience_(options.patience),
      near_(std::move(near)),
      far_(std::move(far)),
      epoll_(std::move(epoll)),
      far_pace_(kShortestFarInterval, kLongestUnusedFarInterval) {
  const FabricLimits& a = near_->limits();
  const FabricLimits& b = far_->limits();
  limits_ = {std::min(a.max_message, b.max_message),
             std::min(a.max_write, b.max_write),
             std::min(a.max_outstanding, b.max_outstanding),
             a.native_write && b.native_write,
             a.needs_polls || b.needs_polls,
             b.write_window};
  name_ = fmt::format("{}+{}", near_->name(), far_->name());
  failed_.reserve(limits_.max_outstanding);
}

std::string Endpoint::address() const {
  return fmt::format("{}|{}", near_->address(), far_->address());
}

Result<void> Endpoint::add_peer(NodeId id, Incarnation incarnation, std::string_view address) {
  HybridAddress parts = split_address(address);
  const bool is_near = near_->may_reach(parts.near);
  if (!is_near && parts.far.empty()) {
    return make_error(
        ErrorCode::unavailable,
        "peer {} at '{}': on another host and without an address in the network; give it one",
        id.value(), address);
  }
  if (id.value() < peers_.size() && peers_[id.value()] != nullptr) {
    if (incarnation < peers_[id.value()]->incarnation) return {};
  }
  if (id.value() >= peers_.size()) peers_.resize(id.value() + 1);
  auto& slot = peers_[id.value()];
  if (slot == nullptr) slot = std::make_unique<SplitPeer>();
  SplitPeer& peer = *slot;
  peer.id = id;
  peer.incarnation = incarnation;
  peer.address = std::move(parts);
  peer.is_known = true;
  far_pace_.expect_something();
  if (!is_near) {
    remove_from(peer, kNear);
    return add_to(peer, kFar);
  }
  if (auto added = add_to(peer, kNear); !added.ok()) return added;
  if (peer.links[kFar].is_added && !peer.address.far.empty()) return add_to(peer, kFar);
  // The patience begins with the next poll, which knows the time.
  need_attention(peer);
  return {};
}

// A part may be up while the peer has yet to say which one it chooses.
bool Endpoint::is_silent(NodeId id) const {
  if (near_->is_silent(id) || far_->is_silent(id)) return true;
  const SplitPeer* const peer = find_peer(id);
  return peer != nullptr && peer->chosen == kNone &&
         (peer->links[kNear].is_up || peer->links[kFar].is_up);
}

void Endpoint::remove_peer(NodeId id) {
  SplitPeer* const peer = find_peer(id);
  if (peer == nullptr || !peer->is_known) return;
  peer->is_known = false;
  peer->far_at = Instant::never();
  for (const std::size_t k : {kNear, kFar}) remove_from(*peer, k);
}

Result<void> Endpoint::add_to(SplitPeer& peer, std::size_t k) {
  auto added = part(k).add_peer(peer.id, peer.incarnation,
                                k == kNear ? peer.address.near : peer.address.far);
  if (!added.ok()) return added;
  if (k == kFar && !peer.links[k].is_added) ++far_links_;
  peer.links[k].is_added = true;
  return {};
}

void Endpoint::remove_from(SplitPeer& peer, std::size_t k) {
  if (!std::exchange(peer.links[k].is_added, false)) return;
  if (k == kFar) --far_links_;
  part(k).remove_peer(peer.id);
  far_pace_.expect_something();
}

void Endpoint::try_far_later(SplitPeer& peer) {
  if (peer.address.far.empty() || peer.links[kFar].is_added) return;
  peer.far_at = now_ + patience_;
  next_timer_ = std::min(next_timer_, peer.far_at);
}

void Endpoint::run_timers() {
  next_timer_ = Instant::never();
  for (const auto& peer : peers_) {
    if (peer == nullptr || peer->far_at == Instant::never()) continue;
    if (now_ < peer->far_at) {
      next_timer_ = std::min(next_timer_, peer->far_at);
      continue;
    }
    peer->far_at = Instant::never();
    if (!peer->is_known || peer->chosen != kNone) continue;
    far_pace_.expect_something();
    if (const auto added = add_to(*peer, kFar); !added.ok()) {
      spdlog::warn("hybrid: {}", added.error().message);
    }
  }
}

Result<Region> Endpoint::expose(std::span<std::byte> memory) {
  auto region = far_->expose(memory);
  if (region.ok()) near_->expose_as(memory, region->remote);
  return region;
}

void Endpoint::retract(const Region& region) {
  near_->retract(region);
  far_->retract(region);
}

std::size_t Endpoint::post(std::span<const TxOp> ops) {
  ops = ops.first(std::min(ops.size(), limits_.max_outstanding - outstanding_));
  std::size_t taken = 0;
  while (taken < ops.size()) {
    // As many as go the same way.
    const std::size_t k = part_of(ops[taken].peer);
    std::size_t end = taken + 1;
    while (end < ops.size() && part_of(ops[end].peer) == k) ++end;
    const auto run = ops.subspan(taken, end - taken);
    if (k == kNone) {
      for (const TxOp& op : run) {
        failed_.push_back({});
        failed_.back().kind = CompletionKind::failed;
        failed_.back().peer = op.peer;
        failed_.back().context = op.context;
      }
      taken = end;
      continue;
    }
    const std::size_t accepted = part(k).post(run);
    taken += accepted;
    if (accepted < run.size()) break;
  }
  outstanding_ += taken;
  return taken;
}

std::size_t Endpoint::yield_failed(std::span<Completion> room) {
  std::size_t count = 0;
  while (count < room.size() && failed_first_ < failed_.size()) {
    room[count++] = failed_[failed_first_++];
  }
  outstanding_ -= count;
  if (failed_first_ == failed_.size()) {
    failed_.clear();
    failed_first_ = 0;
  }
  return count;
}

bool Endpoint::is_far_due() const {
  return far_pace_.is_due(now_) || polls_without_far_ >= kMostPollsWithoutFar;
}

std::size_t Endpoint::poll(Instant now, std::span<Completion> completions) {
  now_ = now;
  // As mostly: nothing but shared memory to look at.
  const bool has_chores = !attention_.empty() || !failed_.empty() || now >= next_timer_;
  if (!has_chores && !is_far_due()) {
    ++polls_without_far_;
    return translate_all(kNear, completions.first(near_->poll(now, completions)));
  }
  return poll_all(completions);
}

std::size_t Endpoint::poll_all(std::span<Completion> completions) {
  if (now_ >= next_timer_) run_timers();
  std::size_t count = failed_.empty() ? 0 : yield_failed(completions);
  if (!attention_.empty()) count += attend_all(completions.subspan(count));
  ++polls_without_far_;
  const bool asks_far = is_far_due();
  // In turn, so that one that always has something to say does not silence the other.
  far_first_ = asks_far && !far_first_;
  if (far_first_) count += poll_part(kFar, completions.subspan(count));
  count += poll_part(kNear, completions.subspan(count));
  if (asks_far && !far_first_) count += poll_part(kFar, completions.subspan(count));
  if (!attention_.empty()) count += attend_all(completions.subspan(count));
  return count;
}

std::size_t Endpoint::poll_part(std::size_t k, std::span<Completion> room) {
  if (room.empty()) return 0;
  const std::size_t n = part(k).poll(now_, room);
  if (k == kFar) {
    far_pace_.set_longest(far_links_ > 0 ? kLongestFarInterval : kLongestUnusedFarInterval);
    far_pace_.asked(now_, n > 0);
    polls_without_far_ = 0;
  }
  return translate_all(k, room.first(n));
}

std::size_t Endpoint::translate_all(std::size_t k, std::span<Completion> completions) {
  std::size_t kept = 0;
  for (Completion& completion : completions) {
    // As mostly: a message of a peer that is up.
    const SplitPeer* const peer = find_peer(completion.peer);
    const bool is_message =
        completion.kind == CompletionKind::received && peer != nullptr && peer->chosen == k;
    if (!is_message && !translate(k, completion)) continue;
    if (&completions[kept] != &completion) completions[kept] = completion;
    ++kept;
  }
  return kept;
}

bool Endpoint::translate(std::size_t k, Completion& completion) {
  SplitPeer* const peer = find_peer(completion.peer);
  if (peer == nullptr) return false;
  switch (completion.kind) {
    case CompletionKind::received:
      return on_received(*peer, k, completion);
    case CompletionKind::sent:
    case CompletionKind::written:
    case CompletionKind::failed:
      return on_ended(*peer, k, completion);
    case CompletionKind::peer_up:
      on_up(*peer, k, completion);
      return false;
    case CompletionKind::peer_down:
      return on_down(*peer, k, completion);
  }
  return false;
}

bool Endpoint::on_received(SplitPeer& peer, std::size_t k, Completion& completion) {
  if (peer.chosen == k) return true;
  std::uint64_t note = 0;
  if (completion.data.size() == sizeof note) {
    std::memcpy(&note, completion.data.data(), sizeof note);
  }
  Link& link = peer.links[k];
  if (decides(peer) && note == kAgree && link.is_proposed && peer.chosen == kNone) {
    choose(peer, k);
    report_up(peer, k, completion);
    return true;
  }
  if (!decides(peer) && note == kPropose && !link.is_proposed) {
    link.is_proposed = true;
    // The other side gave up the part in use before this one noticed.
    if (peer.chosen != kNone) remove_from(peer, peer.chosen);
    need_attention(peer);
    return false;
  }
  spdlog::warn("hybrid: node {} said something before it was decided how to reach it",
               peer.id.value());
  remove_from(peer, k);
  try_far_later(peer);
  return false;
}

// The first completion with that context is the note's. Should the user's have the same context, it
// does not matter which is which.
bool Endpoint::on_ended(SplitPeer& peer, std::size_t k, const Completion& completion) {
  if (completion.context == kNoteContext && std::exchange(peer.links[k].owes_note, false)) {
    return false;
  }
  --outstanding_;
  return true;
}

void Endpoint::report_up(const SplitPeer& peer, std::size_t k, Completion& completion) {
  completion = {};
  completion.kind = CompletionKind::peer_up;
  completion.peer = peer.id;
  completion.incarnation = peer.links[k].incarnation;
  completion.is_lossless = peer.links[k].is_lossless;
}

void Endpoint::on_up(SplitPeer& peer, std::size_t k, const Completion& up) {
  const Incarnation incarnation = up.incarnation;
  peer.links[k].is_up = true;
  peer.links[k].is_lossless = up.is_lossless;
  peer.links[k].is_proposed = false;
  peer.links[k].incarnation = incarnation;
  if (incarnation < peer.incarnation) {
    // Only the other part knew of a later life. Told of it, this part turns the peer away, which
    // learns of that life by this.
    peer.links[k].is_up = false;
    if (const auto added = add_to(peer, k); !added.ok()) {
      spdlog::warn("hybrid: {}", added.error().message);
    }
    return;
  }
  peer.incarnation = incarnation;
  need_attention(peer);
}

bool Endpoint::on_down(SplitPeer& peer, std::size_t k, Completion& completion) {
  Link& link = peer.links[k];
  link.is_up = link.is_proposed = false;
  need_attention(peer);
  if (peer.chosen != k) return false;
  peer.chosen = kNone;
  completion.incarnation = link.incarnation;
  return true;
}

void Endpoint::need_attention(SplitPeer& peer) {
  if (std::exchange(peer.needs_attention, true)) return;
  attention_.push_back(&peer);
}

// Decides how to reach peers that are not up. Returns how many completions it wrote.
std::size_t Endpoint::attend_all(std::span<Completion> room) {
  std::size_t count = 0;
  attention_now_.swap(attention_);
  for (SplitPeer* const peer : attention_now_) {
    peer->needs_attention = false;
    if (peer->chosen != kNone || !peer->is_known) continue;
    if (!peer->links[kNear].is_added && near_->may_reach(peer->address.near)) {
      [[maybe_unused]] const auto added = add_to(*peer, kNear);
      try_far_later(*peer);
    } else if (!peer->links[kFar].is_added && peer->far_at == Instant::never()) {
      try_far_later(*peer);
    }
    if (decides(*peer)) {
      if (!propose(*peer)) need_attention(*peer);
      continue;
    }
    for (const std::size_t k : {kNear, kFar}) {
      if (peer->chosen != kNone || !peer->links[k].is_up || !peer->links[k].is_proposed) continue;
      if (count == room.size() || !agree(*peer, k)) {
        need_attention(*peer);
        continue;
      }
      report_up(*peer, k, room[count++]);
    }
  }
  attention_now_.clear();
  return count;
}

// One proposal at a time. False when the part takes no message at the moment.
bool Endpoint::propose(SplitPeer& peer) {
  for (const Link& link : peer.links) {
    if (link.is_up && link.is_proposed) return true;
  }
  for (const std::size_t k : {kNear, kFar}) {
    Link& link = peer.links[k];
    if (!link.is_up || !link.is_added) continue;
    link.is_proposed = tell(peer, k, kPropose);
    return link.is_proposed;
  }
  return true;
}

bool Endpoint::agree(SplitPeer& peer, std::size_t k) {
  if (!tell(peer, k, kAgree)) return false;
  choose(peer, k);
  return true;
}

bool Endpoint::tell(SplitPeer& peer, std::size_t k, std::uint64_t what) {
  TxOp op;
  op.peer = peer.id;
  op.context = kNoteContext;
  op.segments[0] = std::as_bytes(std::span(&what, 1));
  if (part(k).post({&op, 1}) == 0) return false;
  peer.links[k].owes_note = true;
  return true;
}

void Endpoint::choose(SplitPeer& peer, std::size_t k) {
  peer.chosen = k;
  peer.far_at = Instant::never();
  remove_from(peer, k == kNear ? kFar : kNear);
  spdlog::debug("hybrid: node {} is reached over {}", peer.id.value(), part(k).name());
}

void Endpoint::watch(std::size_t k, int descriptor) {
  if (watched_[k] == descriptor) return;
  if (watched_[k] >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched_[k], nullptr);
  watched_[k] = descriptor;
  epoll_event event{.events = EPOLLIN, .data = {.u64 = k}};
  if (descriptor >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

WaitHint Endpoint::prepare_wait(Instant now) {
  const WaitHint near = near_->prepare_wait(now);
  const WaitHint far = far_->prepare_wait(now);
  watch(kNear, near.descriptor);
  watch(kFar, far.descriptor);
  far_pace_.expect_something();
  WaitHint hint;
  hint.ready =
      near.ready || far.ready || !failed_.empty() || !attention_.empty() || now >= next_timer_;
  hint.moving = near.moving || far.moving;
  hint.descriptor = epoll_.get();
  hint.poll_by = std::min({near.poll_by, far.poll_by, next_timer_});
  return hint;
}

}  // namespace hybrid
}  // namespace weft

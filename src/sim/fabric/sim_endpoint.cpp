// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/sim_endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/check.hpp"

namespace weft::sim {
namespace {

constexpr std::string_view kScheme = "sim:";
constexpr std::size_t kSpareBuffers = 64;
/// Greetings on their way out of the host: one goes after the other there anyway.
constexpr std::size_t kMostGreetings = 64;

}  // namespace

SimEndpoint::SimEndpoint(SimHub& hub, std::uint64_t serial, NodeId self, Incarnation incarnation,
                         std::function<void()> on_ready)
    : hub_(hub),
      serial_(serial),
      self_(self),
      incarnation_(incarnation),
      on_ready_(std::move(on_ready)),
      limits_{hub.options().max_message, hub.options().max_write, hub.options().max_outstanding,
              true} {}

SimEndpoint::~SimEndpoint() {
  hub_.endpoints_[serial_ - 1] = nullptr;
  for (Peer& p : peers_) {
    drop_early(p);
    if (p.link != 0) hub_.notify_death(*this, p.serial, p.link);
  }
}

std::string SimEndpoint::address() const {
  return fmt::format("{}{}", kScheme, serial_);
}

SimEndpoint::Peer& SimEndpoint::peer(NodeId id) {
  if (peers_.size() <= id.value()) peers_.resize(std::size_t{id.value()} + 1);
  return peers_[id.value()];
}

Result<void> SimEndpoint::add_peer(NodeId id, Incarnation incarnation, std::string_view address) {
  std::uint64_t serial = 0;
  const std::string_view digits =
      address.starts_with(kScheme) ? address.substr(kScheme.size()) : std::string_view();
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), serial);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() ||
      id.value() >= hub_.hosts_.size() || id == self_) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("peer {} at '{}': expected another node of the job at {}NUMBER",
                             id.value(), address, kScheme)};
  }
  Peer& p = peer(id);
  if (p.serial != 0 && incarnation < p.incarnation) return {};
  if (p.link != 0 && incarnation != p.incarnation) break_link(id);
  p.incarnation = incarnation;
  p.serial = serial;
  p.removed = false;
  try_to_connect(id);
  return {};
}

void SimEndpoint::remove_peer(NodeId id) {
  if (id.value() >= peers_.size()) return;
  peer(id).removed = true;
  break_link(id);
}

void SimEndpoint::connect_all() {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) try_to_connect(NodeId(i));
}

void SimEndpoint::try_to_connect(NodeId id) {
  Peer& mine = peers_[id.value()];
  if (mine.serial == 0 || mine.removed || mine.link != 0) return;
  SimEndpoint* other = hub_.find(mine.serial);
  if (other == nullptr || other->self_ != id || other->incarnation_ != mine.incarnation) return;
  if (self_.value() >= other->peers_.size() || hub_.blocked(self_, id)) return;
  Peer& theirs = other->peer(self_);
  if (theirs.removed || theirs.serial != serial_ || theirs.link != 0) return;
  connect(id, mine, *other, theirs);
}

// Both ends agree on the number at once; each may use the connection when the other's greeting has
// come over the network.
void SimEndpoint::connect(NodeId id, Peer& mine, SimEndpoint& other, Peer& theirs) {
  const std::uint64_t link = hub_.next_link_++;
  for (Peer* p : {&mine, &theirs}) {
    p->link = link;
    p->welcome = false;
    p->next_sequence = 0;
    p->expected = 0;
  }
  greet(id, mine);
  other.greet(self_, theirs);
}

void SimEndpoint::greet(NodeId id, const Peer& p) {
  greetings_.push_back({p.link, id});
  send_greetings();
}

void SimEndpoint::greeting_left() {
  --greetings_out_;
  send_greetings();
}

void SimEndpoint::send_greetings() {
  while (!greetings_.empty() && greetings_out_ < kMostGreetings) {
    const Greeting greeting = greetings_.front();
    greetings_.pop_front();
    const Peer& p = peers_[greeting.to.value()];
    if (p.link != greeting.link) continue;  // that connection is over
    const std::uint32_t f = hub_.flights_.take();
    hub_.flights_[f] = {.kind = Flight::Kind::welcome,
                        .leads_on = true,
                        .from = self_,
                        .to = greeting.to,
                        .to_serial = p.serial,
                        .link = p.link,
                        .sequence = serial_};
    ++greetings_out_;
    if (hub_.launch(f, 0)) continue;
    hub_.flights_[f].leads_on = false;
    --greetings_out_;
  }
}

void SimEndpoint::break_link(NodeId id) {
  Peer& p = peer(id);
  if (p.link == 0) return;
  const std::uint64_t link = p.link;
  SimEndpoint* other = hub_.find(p.serial);
  end_link(id, p);
  if (other != nullptr) other->link_ended(self_, link);
}

void SimEndpoint::link_ended(NodeId id, std::uint64_t link) {
  if (id.value() >= peers_.size() || peer(id).link != link) return;
  end_link(id, peer(id));
}

void SimEndpoint::end_link(NodeId id, Peer& p) {
  drop_early(p);
  // Only what was reported up is reported down; the report fails what is still outstanding.
  if (p.welcome) push(CompletionKind::peer_down, id, 0, p.link);
  p.link = 0;
  p.welcome = false;
}

void SimEndpoint::drop_unreachable() {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].link != 0 && hub_.given_up(self_, NodeId(i))) break_link(NodeId(i));
  }
}

Result<Region> SimEndpoint::expose(std::span<std::byte> memory) {
  const std::uint64_t key = (serial_ << 32) + regions_.size();
  regions_.push_back(memory);
  return Region{memory, {key, 0, memory.size()}};
}

void SimEndpoint::retract(const Region& region) {
  const std::uint64_t key = region.remote.key;
  if (!region_of(key).empty()) regions_[key & 0xffff'ffff] = {};
}

std::span<std::byte> SimEndpoint::region_of(std::uint64_t key) const {
  const std::uint64_t index = key & 0xffff'ffff;
  return key >> 32 == serial_ && index < regions_.size() ? regions_[index] : std::span<std::byte>();
}

std::vector<std::byte> SimEndpoint::buffer() {
  if (spare_.empty()) return {};
  std::vector<std::byte> b = std::move(spare_.back());
  spare_.pop_back();
  b.clear();
  return b;
}

std::size_t SimEndpoint::post(std::span<const TxOp> ops) {
  std::size_t taken = 0;
  for (const TxOp& op : ops) {
    const bool is_send = op.kind == OpKind::send;
    WEFT_CHECK(op.size() <= (is_send ? limits_.max_message : limits_.max_write),
               "operation of {} bytes", op.size());
    if (outstanding_ == limits_.max_outstanding) break;
    ++outstanding_;
    ++taken;
    Peer* p = op.peer.value() < peers_.size() ? &peers_[op.peer.value()] : nullptr;
    if (p == nullptr || p->reported_link == 0) {
      push(CompletionKind::failed, op.peer, op.context, 0);
      continue;
    }
    add_posted(*p, op);
    // A broken connection is known here before its end is reported: that fails the operation.
    if (p->link != p->reported_link) continue;
    const std::uint32_t f = hub_.flights_.take();
    Flight& flight = hub_.flights_[f];
    flight = {.kind = is_send ? Flight::Kind::send : Flight::Kind::write,
              .from = self_,
              .to = op.peer,
              .to_serial = p->serial,
              .link = p->link,
              .sequence = p->next_sequence++,
              .region = op.region,
              .region_offset = op.region_offset,
              .segments = op.segments,
              .data = is_send ? buffer() : std::vector<std::byte>()};
    if (is_send) {
      for (const auto& segment : op.segments) {
        flight.data.insert(flight.data.end(), segment.begin(), segment.end());
      }
    }
    hub_.launch(f, op.service_level.value());
  }
  return taken;
}

void SimEndpoint::take(std::uint32_t f) {
  const Flight& flight = hub_.flights_[f];
  const NodeId from = flight.from;
  Peer& p = peer(from);
  // Of a connection that is over, or from a process that is gone and its memory with it.
  if (p.link != flight.link || hub_.find(p.serial) == nullptr) {
    hub_.flights_.give_back(f);
    return;
  }
  if (flight.kind == Flight::Kind::welcome) {
    hub_.flights_.give_back(f);
    p.welcome = true;
    push(CompletionKind::peer_up, from, 0, p.link);
  } else {
    keep_early(p, f);
  }
  if (p.welcome) take_in_order(from, p);
}

/// What comes is mostly the next one, and nothing is early: then it is alone in the list.
void SimEndpoint::keep_early(Peer& p, std::uint32_t f) {
  auto& flights = hub_.flights_;
  const std::uint64_t sequence = flights[f].sequence;
  const bool is_last = p.first_early == kNone || flights[p.last_early].sequence < sequence;
  std::uint32_t* link = &p.first_early;
  if (is_last && p.first_early != kNone) link = &flights[p.last_early].next;
  if (is_last) p.last_early = f;
  while (*link != kNone && flights[*link].sequence < sequence) link = &flights[*link].next;
  flights[f].next = *link;
  *link = f;
}

std::uint32_t SimEndpoint::take_early(Peer& p) {
  const std::uint32_t f = p.first_early;
  p.first_early = hub_.flights_[f].next;
  return f;
}

void SimEndpoint::drop_early(Peer& p) {
  while (p.first_early != kNone) hub_.flights_.give_back(take_early(p));
}

void SimEndpoint::take_in_order(NodeId id, Peer& p) {
  while (p.first_early != kNone && hub_.flights_[p.first_early].sequence == p.expected) {
    if (hub_.find(p.serial) == nullptr) return;
    const std::uint32_t f = p.first_early;
    const bool is_send = hub_.flights_[f].kind == Flight::Kind::send;
    if (is_send && p.unread >= limits_.max_outstanding) return;  // until the user polls
    take_early(p);
    ++p.expected;
    const bool good = process(id, p, f);
    hub_.flights_.give_back(f);
    if (!good) {
      break_link(id);
      connect_all();
      return;
    }
    acknowledge(p);
  }
}

// False for a write that must not be.
bool SimEndpoint::process(NodeId id, Peer& p, std::uint32_t f) {
  Flight& flight = hub_.flights_[f];
  if (flight.kind == Flight::Kind::write) return write_into(flight);
  ++p.unread;
  Queued queued;
  queued.completion.kind = CompletionKind::received;
  queued.completion.peer = id;
  queued.data = std::move(flight.data);
  queue_.push_back(std::move(queued));
  on_ready_();
  return true;
}

bool SimEndpoint::write_into(const Flight& flight) {
  const std::span<std::byte> region = region_of(flight.region.key);
  const std::uint64_t size = flight.bytes();
  if (region.empty() || flight.region_offset > region.size() ||
      size > region.size() - flight.region_offset) {
    return false;
  }
  std::byte* at = region.data() + flight.region_offset;
  std::size_t left = hub_.options().copied_bytes;
  for (const auto& segment : flight.segments) {
    const std::size_t n = std::min(segment.size(), left);
    if (n > 0) std::memcpy(at, segment.data(), n);
    at += segment.size();
    left -= n;
  }
  return true;
}

void SimEndpoint::acknowledge(const Peer& p) {
  SimEndpoint* other = hub_.find(p.serial);
  if (other == nullptr) return;
  other->acknowledgements_.push_back({hub_.now() + hub_.options().acknowledgement, self_, p.link});
  other->on_ready_();
}

void SimEndpoint::add_posted(Peer& p, const TxOp& op) {
  const std::uint32_t index = posted_.take();
  posted_[index] = {.context = op.context, .kind = op.kind, .next = kNone};
  if (p.oldest_posted == kNone) {
    p.oldest_posted = index;
  } else {
    posted_[p.newest_posted].next = index;
  }
  p.newest_posted = index;
}

SimEndpoint::Posted SimEndpoint::take_posted(Peer& p) {
  const Posted posted = posted_[p.oldest_posted];
  posted_.give_back(p.oldest_posted);
  p.oldest_posted = posted.next;
  return posted;
}

void SimEndpoint::complete_one(NodeId id, Peer& p) {
  const Posted done = take_posted(p);
  push(done.kind == OpKind::send ? CompletionKind::sent : CompletionKind::written, id, done.context,
       0);
}

void SimEndpoint::push(CompletionKind kind, NodeId id, std::uint64_t context, std::uint64_t link) {
  Queued queued;
  queued.completion.kind = kind;
  queued.completion.peer = id;
  queued.completion.context = context;
  queued.link = link;
  if (kind == CompletionKind::peer_up) queued.completion.incarnation = peer(id).incarnation;
  queue_.push_back(std::move(queued));
  on_ready_();
}

PicoInstant SimEndpoint::ready_at() const {
  if (!queue_.empty()) return hub_.now();
  return acknowledgements_.empty() ? PicoInstant::never() : acknowledgements_.front().at;
}

std::size_t SimEndpoint::poll(Instant, std::span<Completion> completions) {
  for (Queued& q : shown_) {
    if (q.data.capacity() > 0 && spare_.size() < kSpareBuffers) {
      spare_.push_back(std::move(q.data));
    }
  }
  shown_.clear();
  while (!acknowledgements_.empty() && acknowledgements_.front().at <= hub_.now()) {
    const Acknowledgement a = acknowledgements_.front();
    acknowledgements_.pop_front();
    Peer& p = peer(a.peer);
    if (p.link == a.link) complete_one(a.peer, p);
  }
  std::size_t n = 0;
  while (n < completions.size() && !queue_.empty()) yield_front(completions[n++]);
  return n;
}

// Yields the first event, or what must be reported in front of it.
void SimEndpoint::yield_front(Completion& out) {
  Queued& front = queue_.front();
  out = front.completion;
  switch (out.kind) {
    case CompletionKind::peer_up: {
      Peer& p = peer(out.peer);
      p.reported_link = front.link;
      p.reported_incarnation = out.incarnation;
      break;
    }
    case CompletionKind::peer_down: {
      Peer& p = peer(out.peer);
      if (p.oldest_posted != kNone) {
        out.kind = CompletionKind::failed;
        out.context = take_posted(p).context;
        --outstanding_;
        return;
      }
      out.incarnation = p.reported_incarnation;
      p.reported_link = 0;
      break;
    }
    case CompletionKind::received: {
      Peer& p = peer(out.peer);
      --p.unread;
      shown_.push_back(std::move(front));
      out.data = shown_.back().data;
      queue_.pop_front();
      if (p.link != 0) take_in_order(out.peer, p);  // there is room again
      return;
    }
    case CompletionKind::sent:
    case CompletionKind::written:
    case CompletionKind::failed:
      --outstanding_;
      break;
  }
  queue_.pop_front();
}

WaitHint SimEndpoint::prepare_wait(Instant) {
  return {.ready = !queue_.empty() || ready_at() <= hub_.now(),
          .descriptor = -1,
          .poll_by = Instant::never()};
}

}  // namespace weft::sim

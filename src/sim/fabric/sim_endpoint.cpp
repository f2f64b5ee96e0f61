// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/sim_endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/number_text.hpp"

namespace weft::sim {
namespace {

constexpr std::string_view kScheme = "sim:";
constexpr std::size_t kSpareBuffers = 64;
/// Greetings on their way out of the host: one goes after the other there anyway.
constexpr std::size_t kMostGreetings = 64;

}  // namespace

SimEndpoint::SimEndpoint(SimHub& hub, Process process, std::function<void()> on_ready)
    : hub_(hub),
      process_(process),
      on_ready_(std::move(on_ready)),
      limits_{hub.options().max_message, hub.options().max_write, hub.options().max_outstanding,
              true} {}

SimEndpoint::~SimEndpoint() {
  for (Peer& p : peers_) drop_early(p);
  hub_.end_life(process_);
}

std::string SimEndpoint::address_of(Process process) {
  return fmt::format("{}{}", kScheme, std::uint64_t{process.life} << 32 | process.node.value());
}

SimEndpoint::Peer& SimEndpoint::peer(NodeId id) {
  if (peers_.size() <= id.value()) peers_.resize(std::size_t{id.value()} + 1);
  return peers_[id.value()];
}

Result<void> SimEndpoint::add_peer(NodeId id, Incarnation incarnation, std::string_view address) {
  const std::string_view digits =
      address.starts_with(kScheme) ? address.substr(kScheme.size()) : std::string_view();
  const auto number = parse_number<std::uint64_t>(digits);
  if (!number || id.value() >= hub_.hosts_.size() || id == self() ||
      (*number & 0xffff'ffff) != id.value()) {
    return invalid("peer {} at '{}': expected another node of the job at the address that it says",
                   id.value(), address);
  }
  const auto life = static_cast<std::uint32_t>(*number >> 32);
  Peer& p = peer(id);
  if (p.life != 0 && incarnation < p.incarnation) return {};
  if (p.life != life) quit(id, p);
  if (p.heard_life != life) p.heard_life = p.heard = p.over = 0;
  hear(p, life);
  p.incarnation = incarnation;
  p.life = life;
  p.removed = false;
  try_to_connect(id);
  return {};
}

void SimEndpoint::remove_peer(NodeId id) {
  if (id.value() >= peers_.size()) return;
  peer(id).removed = true;
  quit(id, peer(id));
}

void SimEndpoint::connect_all() {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) try_to_connect(NodeId(i));
}

void SimEndpoint::try_to_connect(NodeId id) {
  Peer& p = peers_[id.value()];
  if (p.life == 0 || p.removed || p.mine != 0 || hub_.blocked(self(), id)) return;
  const SimHub::Life* life = hub_.life_of(process_at(id, p));
  if (life == nullptr || !life->runs || life->incarnation != p.incarnation) return;
  p.mine = ++p.last_mine;
  p.next_sequence = p.expected = 0;
  const std::uint32_t heard = p.heard_life == p.life ? std::exchange(p.heard, 0) : 0;
  if (heard != 0) meet(id, p, heard);
  greetings_.push_back({p.mine, id});
  send_greetings();
}

/// A later life of the peer: attempts of former ones matter no more.
void SimEndpoint::hear(Peer& p, std::uint32_t life) {
  if (life <= p.heard_life) return;
  p.heard_life = life;
  p.heard = p.over = 0;
}

/// The other end's attempt is known, a former one over.
void SimEndpoint::meet(NodeId id, Peer& p, std::uint32_t theirs) {
  end_link(id, p);
  p.theirs = theirs;
  push(CompletionKind::peer_up, id, 0, p.link());
}

/// The other end has given up a connection that this one still has: both need another attempt.
void SimEndpoint::meet_anew(NodeId id, Peer& p, std::uint32_t theirs) {
  p.over = std::max(p.over, p.theirs);
  p.heard = theirs;
  end_link(id, p);
  p.mine = 0;
  try_to_connect(id);
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
    if (p.mine != greeting.attempt) continue;  // that one is over
    const std::uint32_t f = hub_.flights_.take();
    hub_.flights_[f] = {.kind = Flight::Kind::welcome,
                        .leads_on = true,
                        .from = process_,
                        .to = process_at(greeting.to, p),
                        .from_attempt = p.mine,
                        .to_attempt = p.theirs};
    ++greetings_out_;
    if (hub_.launch(f, 0)) continue;
    hub_.flights_[f].leads_on = false;
    --greetings_out_;
  }
}

bool SimEndpoint::is_connecting_to(Process other) const {
  if (other.node.value() >= peers_.size()) return false;
  const Peer& p = peers_[other.node.value()];
  return p.life == other.life && p.mine != 0;
}

bool SimEndpoint::is_current(const Flight& flight) const {
  const Peer& p = peers_[flight.to.node.value()];
  return p.life == flight.to.life && p.mine == flight.from_attempt &&
         (flight.kind == Flight::Kind::welcome || p.theirs == flight.to_attempt);
}

/// This end is the one that ends it. The other end's attempt is still there for a next one.
void SimEndpoint::quit(NodeId id, Peer& p) {
  if (p.mine == 0) return;
  if (p.heard_life == p.life) p.heard = p.theirs;
  end_link(id, p);
  hub_.notify_quit(process_, process_at(id, p), std::exchange(p.mine, 0));
}

void SimEndpoint::peer_quit(Process other, std::uint32_t attempt) {
  Peer& p = peer(other.node);
  hear(p, other.life);
  if (p.heard_life == other.life) {
    p.over = std::max(p.over, attempt);
    if (p.heard <= p.over) p.heard = 0;
  }
  if (p.life == other.life && p.theirs <= attempt) end_link(other.node, p);
}

void SimEndpoint::peer_died(Process other) {
  if (!is_connecting_to(other)) return;
  Peer& p = peer(other.node);
  end_link(other.node, p);
  p.mine = 0;
}

void SimEndpoint::end_link(NodeId id, Peer& p) {
  if (p.theirs == 0) return;
  drop_early(p);
  detach_writes(id, p);
  // The report fails outstanding operations.
  push(CompletionKind::peer_down, id, 0, p.link());
  hub_.disconnect({process_, p.mine}, {process_at(id, p), p.theirs});
  p.theirs = 0;
  p.next_sequence = p.expected = 0;
}

/// Before the user learns that it may reuse its memory, while the other end does not know of the
/// end.
void SimEndpoint::detach_writes(NodeId id, const Peer& p) {
  for (std::uint32_t i = p.oldest_posted; i != kNone; i = posted_[i].next) {
    const Posted& posted = posted_[i];
    if (posted.flight == kNone || posted.kind != OpKind::write) continue;
    Flight& flight = hub_.flights_[posted.flight];
    // It may have arrived, and its record be that of another one.
    const bool is_its_own = flight.from == process_ && flight.to == process_at(id, p) &&
                            is_current(flight) && flight.kind == Flight::Kind::write &&
                            flight.sequence == posted.sequence;
    if (is_its_own) flight.detach(hub_.options().copied_bytes);
  }
}

void SimEndpoint::drop_unreachable() {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    Peer& p = peers_[i];
    if (p.mine == 0 || !hub_.given_up(self(), NodeId(i))) continue;
    if (p.heard_life == p.life) {
      p.over = std::max(p.over, p.theirs);
      p.heard = 0;
    }
    end_link(NodeId(i), p);
    p.mine = 0;
  }
}

Result<Region> SimEndpoint::expose(std::span<std::byte> memory) {
  const std::uint64_t key = (std::uint64_t{process_.life} << 32) + regions_.size();
  regions_.push_back(memory);
  addresses_.push_back(hub_.add_memory(self(), memory.size()));
  return Region{memory, {key, 0, memory.size()}};
}

void SimEndpoint::retract(const Region& region) {
  const std::uint64_t key = region.remote.key;
  if (!region_of(key).empty()) regions_[key & 0xffff'ffff] = {};
}

std::span<std::byte> SimEndpoint::region_of(std::uint64_t key) const {
  const std::uint64_t index = key & 0xffff'ffff;
  return key >> 32 == process_.life && index < regions_.size() ? regions_[index]
                                                               : std::span<std::byte>();
}

std::uint64_t SimEndpoint::address_in(const RemoteRegion& region, std::uint64_t offset) const {
  const bool exists = !region_of(region.key).empty();
  return exists ? addresses_[region.key & 0xffff'ffff] + offset : 0;
}

void SimEndpoint::connection_failed(NodeId id) {
  quit(id, peer(id));
  try_to_connect(id);
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
    Posted& posted = add_posted(*p, op);
    // A broken connection is known here before its end is reported: that fails the operation.
    if (p->link() != p->reported_link) continue;
    const std::uint32_t f = hub_.flights_.take();
    posted.flight = f;
    posted.sequence = p->next_sequence++;
    Flight& flight = hub_.flights_[f];
    flight = {.kind = is_send ? Flight::Kind::send : Flight::Kind::write,
              .from = process_,
              .to = process_at(op.peer, *p),
              .from_attempt = p->mine,
              .to_attempt = p->theirs,
              .sequence = posted.sequence,
              .region = op.region,
              .region_offset = op.region_offset,
              .bytes = op.size(),
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
  const NodeId from = flight.from.node;
  const std::uint32_t attempt = flight.from_attempt;
  const bool is_greeting = flight.kind == Flight::Kind::welcome;
  Peer& p = peer(from);
  const bool is_wanted = p.life == flight.from.life && p.mine != 0;
  const bool is_for_this = is_greeting || p.mine == flight.to_attempt;
  hear(p, flight.from.life);
  const bool is_over = p.heard_life == flight.from.life && attempt <= p.over;
  // Drops a flight of a dead process, whose memory is gone, or of an ended connection.
  if (!hub_.runs(flight.from) || !is_wanted || !is_for_this || is_over || attempt < p.theirs) {
    const bool is_early = is_greeting && !is_wanted && p.heard_life == flight.from.life;
    if (is_early && !is_over) p.heard = std::max(p.heard, attempt);
    hub_.flights_.give_back(f);
    return;
  }
  const bool knows_no_attempt = is_greeting && flight.to_attempt == 0;
  if (attempt > p.theirs && p.theirs != 0 && knows_no_attempt) {
    meet_anew(from, p, attempt);
  } else if (attempt > p.theirs) {
    meet(from, p, attempt);  // a message may overtake the greeting
  }
  if (is_greeting) {
    hub_.flights_.give_back(f);
  } else {
    keep_early(p, f);
    take_in_order(from, p);
  }
}

/// A flight mostly is the next one, and none is early: then it is alone in the list.
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
    if (!hub_.runs(process_at(id, p))) return;
    const std::uint32_t f = p.first_early;
    const bool is_send = hub_.flights_[f].kind == Flight::Kind::send;
    if (is_send && p.unread >= limits_.max_outstanding) return;  // until the user polls
    take_early(p);
    ++p.expected;
    const bool good = process(id, p, f);
    if (good) hub_.acknowledge(f);
    hub_.flights_.give_back(f);
    if (!good) {
      quit(id, p);
      try_to_connect(id);
      return;
    }
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
  const std::uint64_t size = flight.bytes;
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

/// They come in the order of their times, but for those from other parts.
void SimEndpoint::acknowledged(const Acknowledgement& a) {
  const auto is_later = [&a](const Acknowledgement& other) {
    return other.at != a.at ? other.at > a.at : other.peer > a.peer;
  };
  auto place = acknowledgements_.end();
  while (place != acknowledgements_.begin() && is_later(*std::prev(place))) --place;
  acknowledgements_.insert(place, a);
  on_ready_();
}

SimEndpoint::Posted& SimEndpoint::add_posted(Peer& p, const TxOp& op) {
  const std::uint32_t index = posted_.take();
  posted_[index] = {.context = op.context, .kind = op.kind};
  if (p.oldest_posted == kNone) {
    p.oldest_posted = index;
  } else {
    posted_[p.newest_posted].next = index;
  }
  p.newest_posted = index;
  return posted_[index];
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
    if (p.link() == a.link) complete_one(a.peer, p);
  }
  std::size_t n = 0;
  while (n < completions.size() && !queue_.empty()) yield_front(completions[n++]);
  return n;
}

// Yields the first event, or another that must be reported in front of it.
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
      if (p.theirs != 0) take_in_order(out.peer, p);  // there is room again
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

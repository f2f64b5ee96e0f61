// SPDX-License-Identifier: Apache-2.0
#include "core/message/machine.hpp"

#include <algorithm>
#include <limits>

#include "net/job_levels.hpp"

namespace weft::message {
namespace {

/// Context of the message that says this process leaves.
constexpr std::uint64_t left_context = 1;

/// When all programs are over, nobody waits longer for one that has lost its connection.
constexpr Duration longest_farewell = Duration::seconds(5);

std::uint64_t window_of(const MessageOptions& o) {
  const std::uint64_t share = o.inbox.value() / std::max(1u, o.nodes - 1);
  return std::max(share, 2 * credit_cost(4096));
}

MessageOptions adjusted(MessageOptions o) {
  WEFT_CHECK(o.self.value() < o.nodes, "node {} of {}", o.self.value(), o.nodes);
  const std::uint64_t room = window_of(o) / 2 - credit_cost(0);
  if (o.fabric.max_message > 0) {
    o.eager_limit = std::min(o.eager_limit, o.fabric.max_message - header_bytes);
  }
  o.eager_limit = std::min<std::size_t>(o.eager_limit, room);
  return o;
}

}  // namespace

MessageMachine::MessageMachine(const MessageOptions& options, Instant now, const OutboxRoom& outbox)
    : options_(adjusted(options)),
      sent_bodies_(outbox.limit, outbox.memory),
      received_bodies_(ByteCount(std::numeric_limits<std::uint64_t>::max())),
      peers_(options.nodes),
      outstanding_(options.fabric.max_outstanding, options.nodes),
      departure_(options.self, options.nodes) {
  for (Peer& peer : peers_) peer.down_since = now;
}

MessageMachine::Pair& MessageMachine::pair(NodeId id) {
  Peer& peer = peers_[id.value()];
  if (peer.pair == nullptr) {
    peer.pair = std::make_unique<Pair>(options_, id, window_of(options_), sent_bodies_,
                                       received_bodies_, operations_);
    if (peer.up) begin_connection(id, *peer.pair);
  }
  return *peer.pair;
}

Operation MessageMachine::send(NodeId to, const FlowKey& flow, std::span<const std::byte> bytes) {
  WEFT_CHECK(to.value() < options_.nodes, "node {} of {}", to.value(), options_.nodes);
  Pair& p = pair(to);
  if (to != options_.self) {
    touch(to);
    const Operation operation = p.out.send(flow, bytes);
    note_divergence(to, p);
    if (p.out.waits_for_room() && !std::exchange(p.waits_for_room, true)) {
      waiting_for_room_.push_back(to);
    }
    if (!peers_[to.value()].up) miss(to);
    return operation;
  }
  p.in.deliver(flow, p.out.skip(flow), bytes);
  return Operations::done(bytes.size());
}

Operation MessageMachine::receive(NodeId from, const FlowKey& flow, std::span<std::byte> into,
                                  const RemoteRegion& region) {
  WEFT_CHECK(from.value() < options_.nodes, "node {} of {}", from.value(), options_.nodes);
  Pair& p = pair(from);
  const Operation operation = p.in.receive(flow, into, region);
  if (p.in.has_word()) touch(from);
  if (!peers_[from.value()].up) miss(from);
  return operation;
}

void MessageMachine::listen(NodeId from, const FlowKey& flow, Sink& sink, bool is_awaited) {
  WEFT_CHECK(from.value() < options_.nodes, "node {} of {}", from.value(), options_.nodes);
  Pair& p = pair(from);
  Peer& peer = peers_[from.value()];
  if (from != options_.self && !std::exchange(peer.listened, true) && !peer.up) ++listened_down_;
  p.in.listen(flow, sink, is_awaited);
  if (p.in.has_word()) touch(from);
  if (!peer.up) miss(from);
}

void MessageMachine::on_other_completion(Instant now, const Completion& completion,
                                         TransmitQueue& out) {
  const NodeId id = completion.peer;
  switch (completion.kind) {
    case CompletionKind::received:
      if (!on_bytes(id, completion.data)) refuse(id);
      break;
    case CompletionKind::peer_up:
      on_up(completion);
      break;
    case CompletionKind::peer_down:
      on_down(now, id, out);
      break;
    case CompletionKind::sent:
    case CompletionKind::written:
    case CompletionKind::failed:
      on_operation_over(now, completion);
      break;
  }
}

void MessageMachine::refuse(NodeId id) {
  ++refused_;
  if (std::find(offenders_.begin(), offenders_.end(), id) == offenders_.end()) {
    offenders_.push_back(id);
  }
}

void MessageMachine::on_operation_over(Instant now, const Completion& completion) {
  Peer& peer = peers_[completion.peer.value()];
  if (peer.outstanding > 0) end_operations(peer, 1);
  if (std::exchange(peer.stalled, false)) touch(completion.peer);
  if ((completion.context & write_context) != 0) {
    PairOut& to = pair(completion.peer).out;
    to.on_write_over(now, completion.context & ~write_context);
    if (to.has_work()) touch(completion.peer);
  } else if (completion.context == left_context && completion.kind == CompletionKind::sent) {
    departure_.left_is_out();
  }
}

void MessageMachine::on_up(const Completion& up) {
  const NodeId id = up.peer;
  Peer& peer = peers_[id.value()];
  if (!peer.up && peer.listened) --listened_down_;
  peer.up = peer.has_been_up = true;
  peer.incarnation = up.incarnation;
  peer.lossless = up.is_lossless;
  if (peer.pair != nullptr) begin_connection(id, *peer.pair);
  touch(id);  // it may have to hear that this process is done
}

void MessageMachine::begin_connection(NodeId id, Pair& pair) {
  const Incarnation life = peers_[id.value()].incarnation;
  pair.greeted = false;
  pair.owes_hello = true;
  pair.owes_pull = false;
  pair.granted = pair.in.begin(life);
  pair.pulls = pair.went_on || (pair.heard && *pair.heard != life);
  touch(id);
}

void MessageMachine::on_down(Instant now, NodeId id, TransmitQueue& out) {
  Peer& peer = peers_[id.value()];
  if (peer.up && peer.listened) ++listened_down_;
  peer.up = false;
  peer.down_since = now;
  end_operations(peer, peer.outstanding);
  peer.stalled = false;
  departure_.on_down(id);
  peer.missing = false;  // since another time
  miss(id);
  std::erase(offenders_, id);
  // Operations not handed to the fabric yet refer to memory that may be given up now.
  out.drop(id, [&](const TxOp& op) {
    if ((op.context & write_context) != 0) {
      pair(id).out.on_write_over(now, op.context & ~write_context);
    }
  });
  if (peer.pair == nullptr) return;
  peer.pair->greeted = peer.pair->owes_hello = false;
  peer.pair->out.disconnected();
  peer.pair->in.disconnected();
  note_writing(*peer.pair);
}

void MessageMachine::note_writing(Pair& pair) {
  const bool is = pair.out.is_writing();
  if (std::exchange(pair.is_writing, is) != is) writing_ += is ? 1 : std::size_t(-1);
}

bool MessageMachine::on_bytes(NodeId from, std::span<const std::byte> bytes) {
  const auto eager = decode_eager(bytes);
  const auto next = eager ? std::nullopt : decode_next(bytes);
  if (eager || next) {
    Pair* const p = peers_[from.value()].pair.get();
    if (p == nullptr || !p->greeted) return false;
    if (!(eager ? p->in.on_eager(*eager) : p->in.on_next(*next))) return false;
    on_heard(from, *p);
    return true;
  }
  const auto frame = decode(bytes);
  return frame && on_frame(from, *frame);
}

bool MessageMachine::on_frame(NodeId from, const Frame& frame) {
  if (is_departure(frame.kind)) {
    touch(from);
    return on_departure_frame(from, frame.kind);
  }
  Pair& p = pair(from);
  if (frame.kind == FrameKind::hello) {
    touch(from);
    return on_hello(from, frame);
  }
  if (!p.greeted || !on_message_frame(from, p, frame)) return false;
  on_heard(from, p);
  return true;
}

bool MessageMachine::on_hello(NodeId from, const Frame& hello) {
  Pair& p = pair(from);
  if (p.greeted) return false;
  if (hello.version != protocol_version) {
    p.in.fail_all(Failure::bad_protocol);
    p.out.fail_all(Failure::bad_protocol);
    return false;
  }
  p.greeted = true;
  const Peer& peer = peers_[from.value()];
  p.out.connected({.granted = hello.granted,
                   .pull = p.pulls,
                   .is_lossless = peer.lossless,
                   .is_to_newest = peer.incarnation >= peer.newest});
  if (p.out.has_lost() && !lost_link_) lost_link_ = from;
  p.in.connected(hello.pulls);
  return true;
}

bool MessageMachine::on_message_frame(NodeId from, Pair& pair, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::announce:
      return pair.in.on_announce(frame);
    case FrameKind::written:
      return pair.in.on_written(frame);
    case FrameKind::gone:
      pair.in.on_gone(frame);
      return true;
    case FrameKind::too_long:
      pair.in.on_too_long(frame);
      return true;
    case FrameKind::get:
      return pair.out.on_get(frame);
    case FrameKind::credit: {
      const bool good = pair.out.on_credit(frame);
      use_room();
      return good;
    }
    case FrameKind::forget:
      pair.out.on_forget(frame);
      touch(from);
      use_room();
      return true;
    case FrameKind::diverged:
      if (!divergence_) divergence_ = Divergence{from, frame.flow, frame.serial};
      return true;
    case FrameKind::pull:
      pair.in.pull();
      return true;
    case FrameKind::have:
    case FrameKind::had:
      pair.out.on_have(frame);
      note_divergence(from, pair);
      use_room();
      return true;
    default:
      return false;
  }
}

bool MessageMachine::on_departure_frame(NodeId from, FrameKind kind) {
  const bool leads = options_.self == NodeId(0);
  const bool is_of_leader = kind == FrameKind::leave || kind == FrameKind::begin;
  if (is_of_leader == leads) return false;
  if (is_of_leader && from != NodeId(0)) return false;
  if (kind == FrameKind::done) departure_.on_done(from);
  if (kind == FrameKind::left) departure_.on_left(from);
  if (kind == FrameKind::leave) departure_.on_leave();
  if (kind == FrameKind::ask) departure_.on_ask(from);
  if (kind == FrameKind::begin) departure_.on_begin();
  return true;
}

void MessageMachine::set_levels(std::span<const std::optional<std::uint8_t>> of_processes) {
  WEFT_CHECK(of_processes.size() == options_.nodes);
  net::JobLevels levels(options_.nodes, net::service_levels);
  for (std::uint32_t i = 0; i < options_.nodes; ++i) levels.set(i, of_processes[i]);
  options_.levels.clear();
  for (std::uint32_t i = 0; i < options_.nodes; ++i) {
    const std::uint8_t level = levels.of(options_.self.value(), i, options_.level.value());
    options_.levels.emplace_back(level);
  }
}

void MessageMachine::ask_to_begin() {
  departure_.ask();
  touch(NodeId(0));
  if (!peers_[0].up) miss(NodeId(0));
}

void MessageMachine::finish() {
  departure_.finish();
  for (std::uint32_t i = 0; i < peers_.size(); ++i) touch(NodeId(i));
  miss_all();
}

void MessageMachine::let_go() {
  departure_.let_go();
  for (std::uint32_t i = 0; i < peers_.size(); ++i) touch(NodeId(i));
}

void MessageMachine::cancel_all() {
  for (Peer& peer : peers_) {
    if (peer.pair == nullptr) continue;
    peer.pair->in.fail_all(Failure::cancelled);
    peer.pair->out.fail_all(Failure::cancelled);
  }
}

/// Receivers have forgotten something: others wait for that.
void MessageMachine::use_room() {
  while (!waiting_for_room_.empty()) {
    Pair& p = pair(waiting_for_room_.back());
    if (!p.out.copy_waiting()) return;
    p.waits_for_room = false;
    waiting_for_room_.pop_back();
  }
}

MessageMachine::FullOutbox MessageMachine::full_outbox() const {
  WEFT_CHECK(waits_for_room());
  FullOutbox full{.limit = sent_bodies_.limit()};
  full.receiver = full.most_kept_for = waiting_for_room_.back();
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].pair == nullptr) continue;
    const ByteCount kept = peers_[i].pair->out.kept();
    if (kept <= full.kept_for_it) continue;
    full.kept_for_it = kept;
    full.most_kept_for = NodeId(i);
  }
  return full;
}

bool MessageMachine::say(NodeId to, const Frame& frame, std::uint64_t context, TransmitQueue& out) {
  if (!out.has_room(1, longest_control_frame)) return false;
  out.send(to, options_.level_to(to), longest_control_frame,
           [&](wire::Writer& w) { encode(w, frame); });
  out.tx[out.tx.size() - 1].context = context;
  return true;
}

bool MessageMachine::pump(TransmitQueue& out) {
  while (!dirty_.empty()) {
    const NodeId id = dirty_.back();
    if (!pump_within_share(id, out)) {
      // The others first, the next time.
      std::rotate(dirty_.begin(), dirty_.end() - 1, dirty_.end());
      return false;
    }
    dirty_.pop_back();
    peers_[id.value()].dirty = false;
  }
  // Messages forgotten while they were in the fabric's queue, or being written, are free only now.
  if (waits_for_room()) use_room();
  return true;
}

/// True: all that the peer may be sent before some of its operations complete is in the queue.
bool MessageMachine::pump_within_share(NodeId id, TransmitQueue& out) {
  Peer& peer = peers_[id.value()];
  const std::size_t before = out.tx.size();
  const std::size_t share = outstanding_.room(peer.outstanding);
  out.limit(share);
  const bool had_room = pump_peer(id, out);
  out.end_limit();
  const std::size_t more = out.tx.size() - before;
  begin_operations(peer, more);
  // What writes wait for is that others are over.
  peer.stalled = !had_room && share - more < 2 && out.has_room(2, 0);
  return had_room || peer.stalled;
}

bool MessageMachine::pump_peer(NodeId id, TransmitQueue& out) {
  Peer& peer = peers_[id.value()];
  if (!peer.up) return true;
  if (Pair* p = peer.pair.get()) {
    if (p->owes_hello) {
      const Frame hello{.kind = FrameKind::hello,
                        .pulls = p->pulls,
                        .version = protocol_version,
                        .granted = p->granted};
      if (!say(id, hello, 0, out)) return false;
      p->owes_hello = false;
    }
    if (p->owes_pull) {
      if (!say(id, {.kind = FrameKind::pull}, 0, out)) return false;
      p->owes_pull = false;
    }
    const bool had_room = !p->greeted || (p->in.pump(out) && p->out.pump(out));
    note_writing(*p);
    if (!had_room) return false;
  }
  return pump_departure(id, out);
}

bool MessageMachine::pump_departure(NodeId id, TransmitQueue& out) {
  if (departure_.owes_ask(id)) {
    if (!say(id, {.kind = FrameKind::ask}, 0, out)) return false;
    departure_.asked();
  }
  if (departure_.owes_begin(id)) {
    if (!say(id, {.kind = FrameKind::begin}, 0, out)) return false;
    departure_.told_begin(id);
  }
  if (departure_.owes_done(id)) {
    if (!say(id, {.kind = FrameKind::done}, 0, out)) return false;
    departure_.told_done();
  }
  if (departure_.owes_leave(id)) {
    if (!say(id, {.kind = FrameKind::leave}, 0, out)) return false;
    departure_.told_leave(id);
  }
  if (departure_.owes_left(id)) {
    if (!say(id, {.kind = FrameKind::left}, left_context, out)) return false;
    departure_.told_left();
  }
  return true;
}

bool MessageMachine::is_waited_for(NodeId id) const {
  const Peer& peer = peers_[id.value()];
  if (departure_.waits_for(id)) return true;
  if (peer.pair == nullptr) return false;
  if (peer.pair->in.waits() || peer.pair->out.waits()) return true;
  // A process listens from its beginning, and to the end of its program: to those that are still
  // to come, and to those that compute for long.
  return peer.pair->in.listens() && peer.has_been_up && !departure_.finished() &&
         !options_.fabric.needs_polls;
}

Duration MessageMachine::patience() const {
  return departure_.decided() ? std::min(longest_farewell, options_.give_up_after)
                              : options_.give_up_after;
}

/// Schedules the failure of operations that wait for a peer without a connection.
void MessageMachine::miss(NodeId id) {
  Peer& peer = peers_[id.value()];
  if (peer.missing || id == options_.self || !is_waited_for(id)) return;
  peer.missing = true;
  missing_.push({.since = peer.down_since, .id = id});
}

void MessageMachine::miss_all() {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].up) miss(NodeId(i));
  }
}

void MessageMachine::drop_found() {
  while (!missing_.empty()) {
    const auto [since, id] = missing_.top();
    Peer& peer = peers_[id.value()];
    ++deadline_looks_;
    const bool is_this = peer.missing && peer.down_since == since;
    if (is_this && !peer.up && is_waited_for(id)) return;
    if (is_this) peer.missing = false;
    missing_.pop();
  }
}

std::uint64_t MessageMachine::looks() const {
  std::uint64_t sum = 0;
  for (const Peer& peer : peers_) sum += peer.pair != nullptr ? peer.pair->in.looks() : 0;
  return sum;
}

std::size_t MessageMachine::active_flows() const {
  std::size_t sum = 0;
  for (const Peer& peer : peers_) {
    if (peer.pair != nullptr) sum += peer.pair->in.active_flows() + peer.pair->out.active_flows();
  }
  return sum;
}

Instant MessageMachine::next_deadline() {
  drop_found();
  if (missing_.empty() || patience() == Duration::max()) return Instant::never();
  return missing_.top().since + patience();
}

std::optional<NodeId> MessageMachine::overdue(Instant now) {
  if (now < next_deadline()) return std::nullopt;
  return missing_.top().id;
}

void MessageMachine::excuse(Instant now, NodeId id) {
  Peer& peer = peers_[id.value()];
  peer.missing = false;  // since another time
  if (peer.up) return;
  peer.down_since = now;
  miss(id);
}

void MessageMachine::on_deadline(Instant now) {
  if (now < next_deadline()) return;
  const NodeId id = missing_.top().id;
  missing_.pop();
  Peer& peer = peers_[id.value()];
  peer.missing = false;
  departure_.on_gone(id);
  if (departure_.waits_for(id)) missed_ = id;
  if (peer.pair == nullptr) return;
  peer.pair->in.fail_all(Failure::peer_gone);
  peer.pair->out.fail_all(Failure::peer_gone);
}

}  // namespace weft::message

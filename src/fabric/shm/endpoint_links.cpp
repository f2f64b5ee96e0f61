// SPDX-License-Identifier: Apache-2.0
// Endpoint: peers going up and down.
#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "fabric/shm/endpoint.hpp"
#include "fabric/tcp/handshake.hpp"

namespace weft::shm {

bool Endpoint::is_control_due() const {
  return event_first_ < event_count_ || owed_wakes_ > 0 || control_pace_.is_due(now_);
}

void Endpoint::serve_control(Yield& yield) {
  if (owed_wakes_ > 0) {
    for (MappedPeer* const peer : up_) {
      if (peer->owes_wake) wake(*peer);
    }
  }
  if (event_first_ == event_count_) {
    event_first_ = 0;
    event_count_ = control_->poll(now_, events_);
    control_pace_.asked(now_, event_count_ > 0);
  }
  while (event_first_ < event_count_ && !yield.full()) {
    if (!take_event(events_[event_first_], yield)) return;
    ++event_first_;
  }
}

// False when there is no room for the notes to send.
bool Endpoint::take_event(const Completion& event, Yield& yield) {
  MappedPeer* const peer = find_peer(event.peer);
  if (peer == nullptr) return true;
  switch (event.kind) {
    case CompletionKind::peer_up:
      begin_link(*peer, event.incarnation);
      return true;
    case CompletionKind::peer_down:
      return end_link(*peer, yield);
    case CompletionKind::received:
      if (peer->is_linked && !peer->is_broken) on_note(*peer, event.data, yield);
      return true;
    default:
      return true;  // the session shows whether a note arrived
  }
}

void Endpoint::tell(MappedPeer& peer, const Note& note) {
  const NoteBytes bytes = encode(note);
  TxOp op;
  op.peer = peer.id;
  op.segments[0] = bytes;
  if (control_->post({&op, 1}) == 1) return;
  break_link(peer, "too much to tell it");
}

void Endpoint::begin_link(MappedPeer& peer, Incarnation incarnation) {
  peer.is_linked = true;
  peer.is_broken = !peer.is_known;
  peer.is_mapped_there = false;
  peer.incarnation = std::max(peer.incarnation, incarnation);
  peer.reported_incarnation = incarnation;
  peer.nonce = tcp::random_id();
  auto inbound = Segment::make(options_.ring_size, peer.nonce);
  if (!inbound.ok()) {
    break_link(peer, inbound.error().message);
    return;
  }
  peer.inbound = std::move(*inbound);
  peer.consumer = Consumer(peer.inbound.ring());
  Note hello;
  hello.kind = NoteKind::hello;
  hello.segment = peer.inbound.name();
  hello.processes = processes_;
  hello.probe = reinterpret_cast<std::uintptr_t>(&peer.nonce);
  tell(peer, hello);
}

void Endpoint::on_note(MappedPeer& peer, std::span<const std::byte> bytes, Yield& yield) {
  const auto note = decode_note(bytes);
  if (!note) {
    break_link(peer, "it said something unknown");
    return;
  }
  switch (note->kind) {
    case NoteKind::wake:
      return;
    case NoteKind::refused:
      break_link(peer, "it cannot map this side's memory");
      return;
    case NoteKind::hello:
      if (!on_hello(peer, *note)) return;
      break;
    case NoteKind::ready:
      peer.is_mapped_there = true;
      peer.may_pull = note->can_pull && options_.pull_from > 0;
      peer.inbound.forget_descriptor();
      break;
  }
  if (peer.is_mapped_there && peer.outbound.is_open() && !peer.is_up) report_up(peer, yield);
}

// False when the link is broken.
bool Endpoint::on_hello(MappedPeer& peer, const Note& hello) {
  const auto refuse = [&](std::string_view why) {
    tell(peer, {.kind = NoteKind::refused});
    break_link(peer, why);
    return false;
  };
  if (peer.outbound.is_open()) return refuse("it said hello twice");
  if (hello.processes != processes_) return refuse("it lives among other processes");
  auto found = Segment::find(hello.segment);
  if (!found.ok()) return refuse(found.error().message);
  peer.outbound = std::move(*found);
  const RingMemory ring = peer.outbound.ring();
  if (limits_.max_message > largest_payload(ring.size)) {
    return refuse(fmt::format("its ring of {} bytes is too small for messages of {}", ring.size,
                              limits_.max_message));
  }
  peer.producer = Producer(ring);
  peer.memory = {static_cast<pid_t>(hello.segment.process), hello.probe, hello.segment.nonce};
  // Whether the kernel lets this process read there: tried, since it depends on more than one can
  // ask for (ptrace_scope, seccomp, capabilities).
  std::byte one{};
  const bool can_pull =
      !peer.had_no_memory && copy_from(peer.memory, hello.probe, &one, sizeof one) == sizeof one;
  tell(peer, {.kind = NoteKind::ready, .can_pull = can_pull});
  return !peer.is_broken;
}

// There is room: serve_control looked.
void Endpoint::report_up(MappedPeer& peer, Yield& yield) {
  peer.is_up = true;
  up_.push_back(&peer);
  become_busy(peer);
  Completion& up = yield.push(CompletionKind::peer_up, peer.id);
  up.incarnation = peer.reported_incarnation;
  // The session on a Unix socket ends only with one of the processes.
  up.is_lossless = true;
}

// First messages that the peer sent before it went, then the operations, then the peer. False when
// there is no room for all of that yet.
bool Endpoint::end_link(MappedPeer& peer, Yield& yield) {
  peer.is_linked = false;
  if (peer.is_up) {
    while (!peer.is_broken && !yield.full() && peer.consumer.has_next()) receive(peer, yield);
    if (!peer.is_broken && peer.consumer.has_next()) return false;
    retire_fetched(peer);
    fail_operations(peer);
    yield_completed(yield);
    if (!completed_.empty() || yield.full()) return false;
    peer.is_up = false;
    std::erase(up_, &peer);
    std::erase(busy_, &peer);
    peer.is_busy = false;
    peer.exchange = {};
    if (told_companion_ == &peer) told_companion_ = companion_ = nullptr;
    wake_quiet_peers_if_few();
    yield.push(CompletionKind::peer_down, peer.id).incarnation = peer.reported_incarnation;
  }
  if (peer.owes_wake) --owed_wakes_;
  peer.owes_wake = peer.is_pulling = peer.owes_release = peer.may_pull = false;
  peer.trial = {};
  if (peer.inbound.is_open()) graveyard_.push_back(std::move(peer.inbound));
  peer.inbound = Segment();
  peer.outbound = Segment();
  return true;
}

void Endpoint::fail_operations(MappedPeer& peer) {
  for (OperationList* const list : {&peer.fetching, &peer.queue}) {
    while (!list->empty()) {
      QueuedOperation& operation = list->pop();
      complete(CompletionKind::failed, operation.op);
      operations_.give(operation);
    }
  }
}

void Endpoint::break_link(MappedPeer& peer, std::string_view why) {
  if (peer.is_broken) return;
  if (peer.is_linked && peer.is_known) {
    spdlog::warn("shm: link to node {} ended: {}", peer.id.value(), why);
  }
  end_session(peer);
}

// The control session ends, which the peer notices, and then begins anew.
void Endpoint::end_session(MappedPeer& peer) {
  if (std::exchange(peer.is_broken, true)) return;
  control_pace_.expect_something();
  if (!peer.is_linked || !peer.is_known) return;
  control_->remove_peer(peer.id);
  if (const auto added = control_->add_peer(peer.id, peer.incarnation, peer.address); !added.ok()) {
    spdlog::warn("shm: node {}: {}", peer.id.value(), added.error().message);
  }
}

}  // namespace weft::shm

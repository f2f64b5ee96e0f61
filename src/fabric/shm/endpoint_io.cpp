// SPDX-License-Identifier: Apache-2.0
// Endpoint: records in, records out.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/copy.hpp"
#include "fabric/shm/endpoint.hpp"

namespace weft::shm {
namespace {

// A long write goes through the ring in pieces, so that both sides copy at the same time.
constexpr std::size_t kChunk = 16 * 1024;
// Bounds on what one call does for one peer, so that the others have their turn.
constexpr std::size_t kBytesPerServe = std::size_t{1} << 20;
// The producer learns of free space when so much of the ring is free: a fraction of it.
constexpr std::uint64_t kReleaseFraction = 8;
// A trial ends when its writes have arrived, and takes no more of them than this.
constexpr std::size_t kLargestTrial = std::size_t{16} << 20;

// `size` bytes of the operation from `from` on.
void gather(const TxOp& op, std::uint64_t from, std::byte* to, std::size_t size) {
  for (std::span<const std::byte> segment : op.segments) {
    const std::size_t skipped = std::min<std::uint64_t>(from, segment.size());
    from -= skipped;
    segment = segment.subspan(skipped);
    const std::size_t taken = std::min(size, segment.size());
    if (taken == 0) continue;
    copy_bytes(to, segment.data(), taken);
    to += taken;
    size -= taken;
  }
}

}  // namespace

inline bool Endpoint::put_message(MappedPeer& peer, std::span<const std::byte> head,
                                  std::span<const std::byte> body) {
  std::byte* const place = peer.producer.reserve(head.size() + body.size());
  if (place == nullptr) return false;
  copy_bytes(place, head.data(), head.size());
  copy_bytes(place + head.size(), body.data(), body.size());
  peer.producer.publish(RecordKind::message);
  return true;
}

bool Endpoint::may_fetch(const MappedPeer& peer, const TxOp& op) const {
  return op.kind == OpKind::write && peer.may_pull && op.size() >= options_.pull_from;
}

// Where processes share cores a turn through the ring takes a core from another process. Not if the
// companion has this one's, whose cache has the ring.
bool Endpoint::tries_ways(const MappedPeer& peer) const {
  return options_.pull_when_faster || (&peer == companion_ && shares_core_);
}

bool Endpoint::is_to_fetch(const MappedPeer& peer, const TxOp& op) const {
  return may_fetch(peer, op) && (!tries_ways(peer) || peer.way.fetches());
}

// With a write that nothing else of this side delays.
void Endpoint::begin_trial(MappedPeer& peer, const TxOp& op) {
  if (!tries_ways(peer) || peer.trial.is_open || !peer.fetching.empty() || !may_fetch(peer, op)) {
    return;
  }
  peer.trial = {
      .is_open = true, .fetched = is_to_fetch(peer, op), .begun = std::chrono::steady_clock::now()};
}

// A write that is in the ring: its receiver has it when it is as far.
void Endpoint::add_to_trial(MappedPeer& peer, const TxOp& op) {
  if (!peer.trial.is_open || peer.trial.bytes >= kLargestTrial) return;
  peer.trial.bytes += op.size();
  peer.trial.end = peer.producer.position();
}

void Endpoint::end_trial(MappedPeer& peer) {
  Trial& trial = peer.trial;
  if (trial.end == 0 || !peer.producer.refresh() || peer.producer.consumed() < trial.end) return;
  const std::chrono::duration<double, std::nano> took =
      std::chrono::steady_clock::now() - trial.begun;
  peer.way.took(trial.fetched, trial.bytes, took.count());
  trial = {};
}

// Begins an operation whose turn it is. False when nothing of it happened for want of room.
bool Endpoint::start(MappedPeer& peer, const TxOp& op) {
  if (op.kind == OpKind::send) {
    if (!put_message(peer, op.segments[0], op.segments[1])) return false;
    complete(CompletionKind::sent, op);
    return true;
  }
  begin_trial(peer, op);
  if (is_to_fetch(peer, op)) {
    if (!put_pull(peer, op)) return false;
    await_fetch(peer, operations_.take().begin(op));
    return true;
  }
  std::uint64_t done = 0;
  if (put_chunks(peer, op, done)) {
    complete(CompletionKind::written, op);
    return true;
  }
  if (done == 0) return false;
  QueuedOperation& operation = operations_.take().begin(op);
  operation.put = done;
  peer.queue.push(operation);
  return true;
}

// True when nothing of the operation is left to be put into the ring; it is complete then, or among
// those whose bytes are awaited.
bool Endpoint::transmit(MappedPeer& peer, QueuedOperation& operation) {
  if (operation.put == 0 && is_to_fetch(peer, operation.op)) {
    if (!put_pull(peer, operation.op)) return false;
    await_fetch(peer, peer.queue.pop());
    return true;
  }
  const bool is_send = operation.op.kind == OpKind::send;
  const auto& segments = operation.op.segments;
  if (!(is_send ? put_message(peer, segments[0], segments[1])
                : put_chunks(peer, operation.op, operation.put))) {
    return false;
  }
  complete(is_send ? CompletionKind::sent : CompletionKind::written, operation.op);
  operations_.give(peer.queue.pop());
  return true;
}

void Endpoint::await_fetch(MappedPeer& peer, QueuedOperation& operation) {
  operation.end = peer.producer.position();
  fetching_since_ = now_;
  peer.fetching.push(operation);
}

SendLane* Endpoint::lane(NodeId to) {
  MappedPeer* const peer = find_peer(to);
  return peer != nullptr ? &peer->lane : nullptr;
}

std::byte* Lane::reserve(std::size_t bytes) {
  if (!peer_.is_up || peer_.is_broken || !peer_.queue.empty()) return nullptr;
  if (!peer_.is_busy) endpoint_.become_busy(peer_);
  return peer_.producer.reserve(bytes);
}

void Lane::send() {
  peer_.producer.publish(RecordKind::message);
  if (peer_.producer.must_wake()) endpoint_.wake(peer_);
}

bool Endpoint::put_chunks(MappedPeer& peer, const TxOp& op, std::uint64_t& done) {
  const std::size_t largest = std::min(kChunk, peer.outbound.ring().size / 4);
  do {
    WriteHeader header{op.region.key, op.region_offset + done, op.size() - done};
    const std::size_t size = std::min<std::uint64_t>(header.rest, largest);
    std::byte* const place = peer.producer.reserve(sizeof header + size);
    if (place == nullptr) return false;
    std::memcpy(place, &header, sizeof header);
    gather(op, done, place + sizeof header, size);
    peer.producer.publish(RecordKind::write);
    peer.exchange.bytes += size;
    has_moved_ = true;
    done += size;
  } while (done < op.size());
  ++peer.exchange.writes;
  add_to_trial(peer, op);
  return true;
}

bool Endpoint::put_pull(MappedPeer& peer, const TxOp& op) {
  PullRequest request{op.region.key, op.region_offset, {}};
  std::byte* const place = peer.producer.reserve(sizeof request);
  if (place == nullptr) return false;
  for (std::size_t i = 0; i < request.pieces.size(); ++i) {
    request.pieces[i] = {reinterpret_cast<std::uintptr_t>(op.segments[i].data()),
                         op.segments[i].size()};
  }
  std::memcpy(place, &request, sizeof request);
  peer.producer.publish(RecordKind::pull);
  peer.exchange.bytes += op.size();
  ++peer.exchange.writes;
  add_to_trial(peer, op);
  return true;
}

void Endpoint::flush(MappedPeer& peer) {
  bool any = false;
  while (!peer.queue.empty()) {
    const std::uint64_t before = peer.producer.position();
    const bool all = transmit(peer, peer.queue.front());
    any = any || peer.producer.position() != before;
    if (!all) break;
  }
  if (any) wake_if_sleeping(peer);
}

// The receiver has fetched all writes before its position.
void Endpoint::retire_fetched(MappedPeer& peer) {
  if (peer.fetching.empty() || !peer.producer.refresh()) return;
  while (!peer.fetching.empty() && peer.fetching.front().end <= peer.producer.consumed()) {
    QueuedOperation& operation = peer.fetching.pop();
    fetching_since_ = now_;
    complete(CompletionKind::written, operation.op);
    operations_.give(operation);
  }
}

void Endpoint::wake_if_sleeping(MappedPeer& peer) {
  if (peer.is_up && !peer.is_broken && peer.producer.must_wake()) wake(peer);
}

void Endpoint::wake(MappedPeer& peer) {
  const NoteBytes bytes = encode(Note{});
  TxOp op;
  op.peer = peer.id;
  op.segments[0] = bytes;
  const bool is_owed = control_->post({&op, 1}) == 0;
  if (std::exchange(peer.owes_wake, is_owed) != is_owed) owed_wakes_ += is_owed ? 1 : -1;
}

// One turn for one peer.
void Endpoint::serve(MappedPeer& peer, Yield& yield) {
  if (peer.is_broken) return;
  // Messages of earlier polls are read by now.
  const bool has_next = peer.consumer.has_next();
  if (const std::uint64_t unreleased = peer.consumer.unreleased();
      unreleased > 0 &&
      (!has_next || peer.owes_release || unreleased >= options_.ring_size / kReleaseFraction)) {
    release(peer);
  }
  if (has_next && !yield.full()) receive(peer, yield);
  peer.is_streaming = has_next;
  if (!peer.fetching.empty()) retire_fetched(peer);
  if (peer.trial.end != 0) end_trial(peer);
  if (!peer.queue.empty() && !peer.is_broken) flush(peer);
  if (!peer.producer.is_valid()) break_link(peer, "it put nonsense beside its ring");
}

void Endpoint::receive(MappedPeer& peer, Yield& yield) {
  bool is_held = false;  // a message was handed out: nothing is released before the next poll
  std::size_t budget = kBytesPerServe;
  while (!yield.full() && budget > 0) {
    Consumer::Record record;
    const Consumer::Look look = peer.consumer.look(record);
    if (look == Consumer::Look::nothing) return;
    if (look == Consumer::Look::bad) {
      break_link(peer, "it put nonsense into its ring");
      return;
    }
    if (record.kind == RecordKind::message) {
      yield.push(CompletionKind::received, peer.id).data = record.payload;
      is_held = true;
      peer.consumer.advance();
      peer.producer.keep_line();
      // Whether there is another is in a line that the sender has just written: to look costs as
      // long as a message takes. One that comes after none mostly comes alone.
      if (!peer.is_streaming) return;
      // Where many come they are short, and each line takes as long to come over as it is waited
      // for.
      peer.consumer.prefetch();
      continue;
    }
    const bool is_pull = record.kind == RecordKind::pull;
    const bool done = is_pull ? take_pull(peer, record.payload) : take_write(peer, record.payload);
    if (!done) return;
    peer.consumer.advance();
    budget -= std::min(budget, is_pull ? kBytesPerServe / 4 : record.payload.size());
    // The sender waits for the end of a pull.
    const std::uint64_t enough = is_pull ? 1 : options_.ring_size / kReleaseFraction;
    peer.owes_release |= is_held && is_pull;
    if (!is_held && peer.is_linked && peer.consumer.unreleased() >= enough) release(peer);
  }
}

std::byte* Endpoint::find_region(std::uint64_t key, std::uint64_t offset, std::uint64_t length) {
  static std::byte nowhere{};
  const auto found = regions_.find(key);
  if (found == regions_.end()) return nullptr;
  const std::span<std::byte> memory = found->second;
  if (offset > memory.size() || length > memory.size() - offset) return nullptr;
  return memory.data() == nullptr ? &nowhere : memory.data() + offset;
}

bool Endpoint::take_write(MappedPeer& peer, std::span<const std::byte> payload) {
  const auto header = decode_write(payload);
  std::byte* const target =
      header ? find_region(header->key, header->offset, header->rest) : nullptr;
  if (target == nullptr) {
    break_link(peer, "it wrote outside of the exposed memory");
    return false;
  }
  const auto bytes = payload.subspan(sizeof *header);
  if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
  peer.exchange.bytes += bytes.size();
  if (bytes.size() == header->rest) ++peer.exchange.writes;
  has_moved_ = true;
  return true;
}

// True when all bytes were fetched. Otherwise some were, or the link is broken.
bool Endpoint::take_pull(MappedPeer& peer, std::span<const std::byte> payload) {
  if (!peer.is_pulling) {
    const auto request = decode_pull(payload);
    if (!request || !peer.is_linked) {
      break_link(peer, "it went with bytes that were to be fetched");
      return false;
    }
    peer.pull = *request;
    peer.pulled = 0;
    peer.is_pulling = true;
  }
  const PullRequest& pull = peer.pull;
  // Looked up each time: the region may have been retracted meanwhile.
  std::byte* const target = find_region(pull.key, pull.offset, pull.size());
  if (target == nullptr) {
    break_link(peer, "it wrote outside of the exposed memory");
    return false;
  }
  std::size_t budget = kBytesPerServe;
  while (peer.pulled < pull.size()) {
    if (budget == 0) return false;
    const bool in_first = peer.pulled < pull.pieces[0].size;
    const PullRequest::Piece& piece = pull.pieces[in_first ? 0 : 1];
    const std::uint64_t skip = in_first ? peer.pulled : peer.pulled - pull.pieces[0].size;
    const std::size_t size = std::min<std::uint64_t>(budget, piece.size - skip);
    const ssize_t n = copy_from(peer.memory, piece.address + skip, target + peer.pulled, size);
    if (n < 0 && errno == ESRCH) {
      end_session(peer);  // it died, as the session was about to say
      return false;
    }
    if (n <= 0) {
      // It copies by itself next time, so that a wild pointer ends the process which has it.
      peer.had_no_memory = true;
      break_link(peer, fmt::format("its memory cannot be read: {}",
                                   n < 0 ? std::strerror(errno) : "there is none"));
      return false;
    }
    peer.pulled += static_cast<std::uint64_t>(n);
    peer.exchange.bytes += static_cast<std::uint64_t>(n);
    has_moved_ = true;
    budget -= static_cast<std::size_t>(n);
  }
  peer.is_pulling = false;
  ++peer.exchange.writes;
  return true;
}

void Endpoint::release(MappedPeer& peer) {
  peer.owes_release = false;
  if (peer.consumer.release()) wake(peer);
}

}  // namespace weft::shm

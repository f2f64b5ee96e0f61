// SPDX-License-Identifier: Apache-2.0
// The sending side. Per peer everything goes in the order posted: operations that cannot go now,
// for want of room, credits or permission, wait in the peer's queue and hold up those behind them.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "fabric/libfabric/fabric.hpp"

namespace weft::ofi {
namespace {

constexpr std::size_t kMaxRegionFrames = 4096;

std::size_t copy_segments(const TxOp& op, std::span<std::byte> out) {
  std::size_t at = 0;
  for (const auto& segment : op.segments) {
    if (segment.empty()) continue;
    std::memcpy(out.data() + at, segment.data(), segment.size());
    at += segment.size();
  }
  return at;
}

// Copies [from, from + size) of the operation's bytes.
void copy_part(const ProviderOperation& operation, std::size_t from, std::span<std::byte> out) {
  for (std::size_t i = 0; i < operation.segment_count && !out.empty(); ++i) {
    const iovec& segment = operation.segments[i];
    if (from >= segment.iov_len) {
      from -= segment.iov_len;
      continue;
    }
    const std::size_t n = std::min(segment.iov_len - from, out.size());
    std::memcpy(out.data(), static_cast<const std::byte*>(segment.iov_base) + from, n);
    out = out.subspan(n);
    from = 0;
  }
}

}  // namespace

std::size_t LibfabricFabric::post(std::span<const TxOp> ops) {
  std::size_t taken = 0;
  while (taken < ops.size() && accept(ops[taken])) ++taken;
  ring_doorbells();
  return taken;
}

bool LibfabricFabric::accept(const TxOp& op) {
  if (outstanding_ >= options_.max_outstanding) return false;
  const std::size_t limit = op.kind == OpKind::send ? limits_.max_message : limits_.max_write;
  WEFT_CHECK(op.size() <= limit, "operation of {} bytes, the limit is {}", op.size(), limit);
  ProviderPeer* peer = find(op.peer);
  if (peer == nullptr || peer->link != Link::up) {
    ++outstanding_;
    end_operation(CompletionKind::failed, op.peer, op.context);
    return true;
  }
  if (op.kind == OpKind::send) announce_regions(*peer);
  if (op.kind == OpKind::send && send_at_once(*peer, op)) return true;
  if (peer->link != Link::up) return accept(op);  // sending found the link broken
  ProviderOperation* operation = operations_->take();
  if (operation == nullptr) return false;
  ++outstanding_;
  fill(*operation, *peer, op);
  const bool first = peer->queued.empty();
  peer->queued.push_back(*operation);
  // Not when its turn comes: each region's answer would take a round trip of its own.
  const bool asks = op.kind == OpKind::write && ask_permission(*peer, op.region.key);
  if (first || asks) send_due(*peer);
  return true;
}

bool LibfabricFabric::send_at_once(ProviderPeer& peer, const TxOp& op) {
  const std::size_t size = sizeof(FrameHeader) + op.size();
  const Traits& traits = endpoint_->traits();
  if (size > traits.inject_size || size > scratch_.size()) return false;
  if (!peer.queued.empty() || peer.dues.welcome || !peer.region_frames.empty() ||
      peer.credits == 0 || !may_send(peer) ||
      (!traits.send_after_write && peer.writes_issued > 0)) {
    return false;
  }
  const FrameHeader header = header_for(peer, FrameKind::message, op.size());
  encode_header(header, scratch_);
  copy_segments(op, std::span(scratch_).subspan(sizeof header));
  const ssize_t result = endpoint_->inject(std::span(scratch_).first(size), *peer.where);
  if (judge(peer, result) != Outcome::sent) return false;
  frame_left(peer, header);
  --peer.credits;
  ++outstanding_;
  end_operation(CompletionKind::sent, op.peer, op.context);
  return true;
}

void LibfabricFabric::fill(ProviderOperation& operation, ProviderPeer& peer, const TxOp& op) {
  operation.purpose = ProviderOperation::Purpose::user;
  operation.kind = op.kind;
  operation.peer = &peer;
  operation.user_context = op.context;
  operation.size = op.size();
  if (op.kind == OpKind::send) {
    copy_segments(op, operation.buffer.subspan(sizeof(FrameHeader)));
    operation.frame_size = sizeof(FrameHeader) + op.size();
    return;
  }
  for (const auto& segment : op.segments) {
    if (segment.empty()) continue;
    operation.segments[operation.segment_count++] = {const_cast<std::byte*>(segment.data()),
                                                     segment.size()};
  }
  operation.region = op.region;
  operation.offset = op.region_offset;
}

FrameHeader LibfabricFabric::header_for(const ProviderPeer& peer, FrameKind kind,
                                        std::size_t payload_size) const {
  FrameHeader header;
  header.kind = kind;
  header.credits = static_cast<std::uint16_t>(std::min<std::size_t>(peer.credits_due, 0xFFFF));
  header.from = options_.self.value();
  header.token = peer.token_out;
  header.sequence = peer.frames_out;
  header.size = static_cast<std::uint32_t>(payload_size);
  return header;
}

// The provider took a frame of the session.
void LibfabricFabric::frame_left(ProviderPeer& peer, const FrameHeader& header) {
  ++peer.frames_out;
  peer.credits_due -= header.credits;
  if (peer.credits_due == 0) peer.dues.credit = false;
  peer.last_said = now_;
}

// A provider that connects by itself loses and makes connections again silently. A write that is
// lost fails, but messages sent after it must not arrive: they would do so without the write. So
// while the provider has writes, nothing is sent before all its events were read; and nothing more
// once an event has said that a write failed.
bool LibfabricFabric::may_send(const ProviderPeer& peer) {
  if (peer.writes_issued > 0) {
    for (int i = 0; i < kMaxReads && unread_; ++i) read_ahead();
    if (unread_) return false;
  }
  return !peer.broken;
}

LibfabricFabric::Outcome LibfabricFabric::judge(ProviderPeer& peer, ssize_t result) {
  if (result == 0) {
    peer.stalled.reset();
    if (doorbell_ != nullptr && !peer.to_be_rung) {
      peer.to_be_rung = true;
      to_ring_.push_back(&peer);
    }
    return Outcome::sent;
  }
  if (result == -FI_EAGAIN || result == -FI_ENOMEM || result == -FI_ENOBUFS) {
    unread_ = true;  // the provider made progress meanwhile
    if (peer.link == Link::up && endpoint_->traits().hides_connections && peer.issued.empty() &&
        !peer.stalled) {
      peer.stalled = now_;
      next_tick_ = now_;
    }
    return Outcome::later;
  }
  if (peer.link != Link::up) return Outcome::later;
  begin_closing(peer, fi_strerror(static_cast<int>(-result)), kDrain, Link::connecting);
  return Outcome::broken;
}

LibfabricFabric::Outcome LibfabricFabric::send_frame(ProviderPeer& peer, FrameKind kind,
                                                     std::span<const std::byte> payload,
                                                     bool in_session) {
  FrameHeader header = header_for(peer, kind, payload.size());
  if (!in_session) header.credits = 0, header.token = 0, header.sequence = 0;
  const std::size_t size = sizeof header + payload.size();
  const bool small = size <= endpoint_->traits().inject_size;
  ProviderOperation* operation = small ? nullptr : operations_->take();
  if (!small && operation == nullptr) return Outcome::later;
  const std::span<std::byte> bytes =
      (small ? std::span<std::byte>(scratch_) : operation->buffer).first(size);
  encode_header(header, bytes);
  if (!payload.empty()) std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
  ssize_t result = 0;
  if (small) {
    result = endpoint_->inject(bytes, *peer.where);
  } else {
    operation->purpose = ProviderOperation::Purpose::frame;
    operation->kind = OpKind::send;
    result = endpoint_->send(bytes, operations_->buffer_description(), *peer.where, operation);
    if (result != 0) operations_->give_back(*operation);
  }
  const Outcome outcome = judge(peer, result);
  if (outcome != Outcome::sent) return outcome;
  if (!small) {
    operation->peer = &peer;
    peer.issued.push_back(*operation);
    ++issued_;
  }
  if (in_session) frame_left(peer, header);
  return outcome;
}

// Sends all that can go; the peer is listed when trying again soon makes sense.
void LibfabricFabric::send_due(ProviderPeer& peer) {
  if (peer.link != Link::up && peer.link != Link::connecting) return;
  if (!may_send(peer)) {
    list(peer);
    return;
  }
  Outcome outcome = send_own_frames(peer);
  if (outcome == Outcome::sent) outcome = send_queued(peer);
  if (outcome == Outcome::later) list(peer);
}

LibfabricFabric::Outcome LibfabricFabric::send_own_frames(ProviderPeer& peer) {
  if (peer.dues.welcome) {
    const Outcome outcome = send_welcome(peer);
    if (outcome != Outcome::sent) return outcome;
    peer.dues.welcome = false;
  }
  if (peer.link != Link::up) return Outcome::blocked;
  while (!peer.region_frames.empty()) {
    const RegionFrame frame = peer.region_frames.front();
    const auto grant = std::as_bytes(std::span(&frame.grant, 1));
    const std::size_t size =
        frame.kind == FrameKind::region_open ? grant.size() : sizeof(RegionKey);
    const Outcome outcome = send_frame(peer, frame.kind, grant.first(size));
    if (outcome != Outcome::sent) return outcome;
    peer.region_frames.pop_front();
  }
  // Frames that carry credits anyway and show that we are here make these needless.
  if (peer.dues.credit && peer.queued.empty()) {
    const Outcome outcome = send_frame(peer, FrameKind::credit, {});
    if (outcome != Outcome::sent) return outcome;
  }
  if (peer.dues.heartbeat) {
    const Outcome outcome = send_frame(peer, FrameKind::heartbeat, {});
    if (outcome != Outcome::sent) return outcome;
    peer.dues.heartbeat = false;
    next_tick_ = std::min(next_tick_, now_ + options_.heartbeat_interval);
  }
  return Outcome::sent;
}

LibfabricFabric::Outcome LibfabricFabric::send_queued(ProviderPeer& peer) {
  while (ProviderOperation* operation = peer.queued.first()) {
    const Outcome outcome = operation->kind == OpKind::send ? issue_send(peer, *operation)
                                                            : issue_write(peer, *operation);
    if (outcome == Outcome::blocked && peer.dues.credit) {
      // Both sides may wait for each other's credits.
      return send_frame(peer, FrameKind::credit, {}) == Outcome::sent ? Outcome::blocked
                                                                      : Outcome::later;
    }
    if (outcome != Outcome::sent) return outcome;
  }
  return Outcome::sent;
}

LibfabricFabric::Outcome LibfabricFabric::issue_send(ProviderPeer& peer,
                                                     ProviderOperation& operation) {
  if (peer.credits == 0) return Outcome::blocked;
  if (!endpoint_->traits().send_after_write && peer.writes_issued > 0) return Outcome::blocked;
  const FrameHeader header = header_for(peer, FrameKind::message, operation.size);
  encode_header(header, operation.buffer);
  const ssize_t result =
      endpoint_->send(operation.buffer.first(operation.frame_size),
                      operations_->buffer_description(), *peer.where, &operation);
  const Outcome outcome = judge(peer, result);
  if (outcome != Outcome::sent) return outcome;
  frame_left(peer, header);
  --peer.credits;
  move_to_issued(peer, operation);
  return Outcome::sent;
}

void LibfabricFabric::move_to_issued(ProviderPeer& peer, ProviderOperation& operation) {
  peer.queued.remove(operation);
  peer.issued.push_back(operation);
  ++issued_;
  if (operation.kind == OpKind::write) {
    ++peer.writes_issued;
    ++writes_issued_;
    next_tick_ = std::min(next_tick_, peer.last_said + longest_silence(peer));
  }
}

LibfabricFabric::Outcome LibfabricFabric::issue_write(ProviderPeer& peer,
                                                      ProviderOperation& operation) {
  const Outcome allowed = check_permission(peer, operation);
  if (allowed != Outcome::sent) return allowed;
  if (operation.size == 0) {
    peer.queued.remove(operation);
    end_operation(CompletionKind::written, peer.id, operation.user_context);
    operations_->give_back(operation);
    return Outcome::sent;
  }
  if (!limits_.native_write) return issue_chunks(peer, operation);
  if (!endpoint_->traits().write_after_write && overlaps_issued(peer, operation)) {
    return Outcome::blocked;
  }
  return issue_segments(peer, operation);
}

// Tells the peer of regions that are new since it was sent something: the message to come may
// invite it to write there, and it need not ask then.
void LibfabricFabric::announce_regions(ProviderPeer& peer) {
  if (peer.announced == regions_.exposed()) return;
  for (const RegionGrant& grant : regions_.exposed_since(peer.announced)) {
    if (peer.granted.insert(grant.key).second) {
      queue_region_frame(peer, FrameKind::region_open, grant);
    }
  }
  peer.announced = regions_.exposed();
}

// Asks whether writes to the peer's region are allowed, unless that is known or asked already.
// False when nothing was asked.
bool LibfabricFabric::ask_permission(ProviderPeer& peer, std::uint64_t key) {
  if (peer.regions.permission(key) != Permission::unknown) return false;
  if (!peer.regions.note_asked(key)) return false;
  queue_region_frame(peer, FrameKind::region_query, {key, 0, 0});
  return true;
}

LibfabricFabric::Outcome LibfabricFabric::check_permission(ProviderPeer& peer,
                                                           const ProviderOperation& operation) {
  const std::uint64_t key = operation.region.key;
  switch (peer.regions.permission(key)) {
    case Permission::unknown:  // withdrawn since it was asked for
      if (!ask_permission(peer, key)) {
        begin_closing(peer, "it has too many regions", kDrain, Link::connecting);
        return Outcome::broken;
      }
      return send_own_frames(peer) == Outcome::later ? Outcome::later : Outcome::blocked;
    case Permission::asked:
      return Outcome::blocked;
    case Permission::refused:
      break;
    case Permission::open:
      if (peer.regions.allows(operation.region, operation.offset, operation.size)) {
        return Outcome::sent;
      }
      break;
  }
  begin_closing(peer, "a write was outside of its regions", kDrain, Link::connecting);
  return Outcome::broken;
}

bool LibfabricFabric::overlaps_issued(const ProviderPeer& peer,
                                      const ProviderOperation& operation) const {
  if (peer.writes_issued == 0) return false;
  for (const ProviderOperation* other = peer.issued.first(); other != nullptr;
       other = other->next) {
    if (other->kind == OpKind::write && other->region.key == operation.region.key &&
        other->offset < operation.offset + operation.size &&
        operation.offset < other->offset + other->size) {
      return true;
    }
  }
  return false;
}

bool LibfabricFabric::register_segments(ProviderOperation& operation,
                                        std::array<void*, 2>& descriptions) {
  for (std::size_t i = 0; i < operation.segment_count; ++i) {
    if (!operation.registrations[i]) {
      const iovec& segment = operation.segments[i];
      auto registration = local_memory_->acquire(
          {static_cast<const std::byte*>(segment.iov_base), segment.iov_len});
      if (!registration) return false;
      operation.registrations[i] = std::move(*registration);
    }
    descriptions[i] = fi_mr_desc(operation.registrations[i].get());
  }
  return true;
}

LibfabricFabric::Outcome LibfabricFabric::issue_segments(ProviderPeer& peer,
                                                         ProviderOperation& operation) {
  std::array<void*, 2> descriptions{};
  if (endpoint_->traits().local_registration && !register_segments(operation, descriptions)) {
    return Outcome::later;
  }
  while (operation.segments_issued < operation.segment_count) {
    const std::size_t first = operation.segments_issued;
    const std::size_t count =
        std::min(endpoint_->traits().segments, operation.segment_count - first);
    ProviderOperation* carrier = &operation;
    if (first > 0) {
      carrier = operations_->take();
      if (carrier == nullptr) return Outcome::later;
      carrier->purpose = ProviderOperation::Purpose::part;
      carrier->whole = &operation;
    }
    std::size_t size = 0, before = 0;
    for (std::size_t i = 0; i < first; ++i) before += operation.segments[i].iov_len;
    for (std::size_t i = first; i < first + count; ++i) size += operation.segments[i].iov_len;
    const fi_rma_iov target{operation.region.base + operation.offset + before, size,
                            operation.region.key};
    const ssize_t result =
        endpoint_->write(std::span(operation.segments).subspan(first, count),
                         descriptions.data() + first, *peer.where, target, carrier);
    if (result != 0 && first > 0) operations_->give_back(*carrier);
    const Outcome outcome = judge(peer, result);
    if (outcome != Outcome::sent) return outcome;
    operation.segments_issued += count;
    ++operation.parts_pending;
  }
  move_to_issued(peer, operation);
  return Outcome::sent;
}

// The bytes are copied into messages, so that the operation ends when the last one was taken.
LibfabricFabric::Outcome LibfabricFabric::issue_chunks(ProviderPeer& peer,
                                                       ProviderOperation& operation) {
  constexpr std::size_t kPrefix = sizeof(FrameHeader) + sizeof(WriteChunk);
  while (operation.chunked < operation.size) {
    if (peer.credits == 0) return Outcome::blocked;
    ProviderOperation* carrier = operations_->take();
    if (carrier == nullptr) return Outcome::later;
    const std::size_t n =
        std::min(carrier->buffer.size() - kPrefix, operation.size - operation.chunked);
    const FrameHeader header = header_for(peer, FrameKind::write_chunk, sizeof(WriteChunk) + n);
    const WriteChunk chunk{operation.region.key, operation.offset + operation.chunked};
    encode_header(header, carrier->buffer);
    std::memcpy(carrier->buffer.data() + sizeof header, &chunk, sizeof chunk);
    copy_part(operation, operation.chunked, carrier->buffer.subspan(kPrefix, n));
    carrier->purpose = ProviderOperation::Purpose::frame;
    carrier->kind = OpKind::send;
    const ssize_t result = endpoint_->send(carrier->buffer.first(kPrefix + n),
                                           operations_->buffer_description(), *peer.where, carrier);
    if (result != 0) operations_->give_back(*carrier);
    const Outcome outcome = judge(peer, result);
    if (outcome != Outcome::sent) return outcome;
    carrier->peer = &peer;
    peer.issued.push_back(*carrier);
    ++issued_;
    frame_left(peer, header);
    --peer.credits;
    operation.chunked += n;
  }
  peer.queued.remove(operation);
  end_operation(CompletionKind::written, peer.id, operation.user_context);
  operations_->give_back(operation);
  return Outcome::sent;
}

void LibfabricFabric::queue_region_frame(ProviderPeer& peer, FrameKind kind,
                                         const RegionGrant& grant) {
  if (peer.link != Link::up) return;
  if (peer.region_frames.size() >= kMaxRegionFrames) {
    begin_closing(peer, "it asked for too many regions at once", kDrain, Link::connecting);
    return;
  }
  peer.region_frames.push_back({kind, grant});
}

void LibfabricFabric::ring_doorbells() {
  for (ProviderPeer* peer : to_ring_) {
    peer->to_be_rung = false;
    if (peer->doorbell) peer->doorbell->ring_if_asleep(*doorbell_);
  }
  to_ring_.clear();
}

}  // namespace weft::ofi

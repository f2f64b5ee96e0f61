// SPDX-License-Identifier: Apache-2.0
// The receiving side: events of the provider, and the frames in them.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "fabric/libfabric/fabric.hpp"

namespace weft::ofi {
namespace {

// Frames that may be kept until an earlier one arrives. Their senders are bound by the receive
// window; own frames are few.
constexpr std::size_t kMaxAhead = 8192;

}  // namespace

void LibfabricFabric::on_event(const Event& event) {
  if (event.what->type == Tracked::Type::receive) {
    Receive& receive = static_cast<Receive&>(*event.what);
    // A message that is too long for any frame is an error of the provider's: dropped.
    const bool kept = event.error == 0 && on_frame(receive, event.length);
    if (!kept) receives_->give_back(receive);
    return;
  }
  ProviderOperation& operation = static_cast<ProviderOperation&>(*event.what);
  if (operation.purpose == ProviderOperation::Purpose::part) {
    ProviderOperation& whole = *operation.whole;
    operations_->give_back(operation);
    on_part(whole, event.error);
  } else if (operation.kind == OpKind::write) {
    on_part(operation, event.error);
  } else {
    on_operation(operation, event.error);
  }
}

// One of the provider's writes that make up `whole` ended.
void LibfabricFabric::on_part(ProviderOperation& whole, int error) {
  WEFT_CHECK(whole.parts_pending > 0);
  --whole.parts_pending;
  if (error != 0 && whole.peer != nullptr && whole.peer->link == Link::up) {
    // Keep `whole` where it is: closing the link sorts out pending operations.
    ++whole.parts_pending;
    begin_closing(*whole.peer, fi_strerror(error), kDrain, Link::connecting);
    --whole.parts_pending;
  }
  if (whole.parts_pending == 0 && whole.segments_issued == whole.segment_count) {
    on_operation(whole, error);
  }
}

void LibfabricFabric::on_operation(ProviderOperation& operation, int error) {
  ProviderPeer* peer = operation.peer;
  if (peer == nullptr) {
    operations_->give_back(operation);
    return;
  }
  peer->issued.remove(operation);
  --issued_;
  if (operation.kind == OpKind::write) {
    --peer->writes_issued;
    --writes_issued_;
  }
  if (operation.purpose == ProviderOperation::Purpose::user) {
    const CompletionKind done =
        operation.kind == OpKind::send ? CompletionKind::sent : CompletionKind::written;
    end_operation(error == 0 ? done : CompletionKind::failed, peer->id, operation.user_context);
  }
  operations_->give_back(operation);
  if (error != 0 && peer->link == Link::up) {
    begin_closing(*peer, fi_strerror(error), kDrain, Link::connecting);
  } else if (peer->link == Link::closing && peer->issued.empty()) {
    finish_closing(*peer);
  } else if (!peer->queued.empty()) {
    list(*peer);
  }
}

// Returns whether the application holds the buffer now.
bool LibfabricFabric::on_frame(Receive& receive, std::size_t length) {
  const auto frame = decode_frame(receive.buffer.first(std::min(length, receive.buffer.size())));
  if (!frame) return false;
  ProviderPeer* peer = find(NodeId(frame->header.from));
  if (peer == nullptr) return false;
  switch (frame->header.kind) {
    case FrameKind::hello:
      on_hello(*peer, frame->payload);
      return false;
    case FrameKind::welcome:
      on_welcome(*peer, frame->payload);
      return false;
    default:
      break;
  }
  if (peer->link != Link::up || frame->header.token != peer->token_in) return false;
  // A gap does not age while the peer is silent: it may be stopped, and go on.
  if (now_ - peer->last_heard > options_.heartbeat_interval * 2) peer->gap_since = now_;
  peer->last_heard = now_;
  if (frame->header.sequence != peer->frames_in) return keep_early(*peer, receive, *frame);
  const bool kept = on_next_frame(*peer, *frame, receive);
  if (!peer->early.empty()) take_early(*peer);
  return kept;
}

// The frame that was due.
bool LibfabricFabric::on_next_frame(ProviderPeer& peer, const Frame& frame, Receive& receive) {
  ++peer.frames_in;
  peer.credits = std::min<std::size_t>(peer.credits + frame.header.credits, 0xFFFF);
  if (!peer.queued.empty()) list(peer);
  return on_session_frame(peer, frame, receive);
}

bool LibfabricFabric::keep_early(ProviderPeer& peer, Receive& receive, const Frame& frame) {
  const std::uint32_t ahead = frame.header.sequence - peer.frames_in;
  if (ahead > kMaxAhead || peer.early.size() >= kMaxAhead) {
    begin_closing(peer, "something it sent was lost", kDrain, Link::connecting);
    return false;
  }
  if (peer.early.empty()) {
    peer.gap_since = now_;
    next_tick_ = now_;
  }
  const std::size_t length = sizeof(FrameHeader) + frame.payload.size();
  peer.early.push_back({&receive, length});
  return true;
}

// Takes the early frames that are due now.
void LibfabricFabric::take_early(ProviderPeer& peer) {
  for (std::size_t i = 0; i < peer.early.size() && peer.link == Link::up;) {
    const EarlyFrame early = peer.early[i];
    const auto frame = decode_frame(early.receive->buffer.first(early.length));
    WEFT_CHECK(frame.has_value());
    if (frame->header.sequence != peer.frames_in) {
      ++i;
      continue;
    }
    peer.early[i] = peer.early.back();
    peer.early.pop_back();
    if (!on_next_frame(peer, *frame, *early.receive)) receives_->give_back(*early.receive);
    peer.gap_since = now_;
    i = 0;
  }
}

bool LibfabricFabric::on_session_frame(ProviderPeer& peer, const Frame& frame, Receive& receive) {
  switch (frame.header.kind) {
    case FrameKind::message: {
      Completion completion;
      completion.kind = CompletionKind::received;
      completion.peer = peer.id;
      completion.data = frame.payload;
      emit(completion, &receive);
      note_room_used(peer);
      return true;
    }
    case FrameKind::write_chunk:
      on_write_chunk(peer, frame.payload);
      break;
    case FrameKind::region_query:
      on_region_query(peer, frame.payload);
      break;
    case FrameKind::region_open:
    case FrameKind::region_unknown:
    case FrameKind::region_closed:
      on_region_answer(peer, frame.header.kind, frame.payload);
      break;
    case FrameKind::goodbye:
      begin_closing(peer, "it said goodbye", kDrain, Link::waiting);
      break;
    case FrameKind::heartbeat:
    case FrameKind::credit:
    case FrameKind::hello:
    case FrameKind::welcome:
      break;
  }
  return false;
}

void LibfabricFabric::note_room_used(ProviderPeer& peer) {
  ++peer.credits_due;
  if (peer.credits_due > options_.receive_window) {
    begin_closing(peer, "it sent more than it was allowed to", kDrain, Link::connecting);
  } else if (peer.credits_due * 2 >= options_.receive_window && !peer.dues.credit) {
    peer.dues.credit = true;
    list(peer);
  }
}

void LibfabricFabric::on_write_chunk(ProviderPeer& peer, std::span<const std::byte> payload) {
  WriteChunk chunk;
  if (payload.size() < sizeof chunk) {
    begin_closing(peer, "a write of it made no sense", kDrain, Link::connecting);
    return;
  }
  std::memcpy(&chunk, payload.data(), sizeof chunk);
  const auto bytes = payload.subspan(sizeof chunk);
  const auto target = regions_.resolve(chunk.key, chunk.offset, bytes.size());
  if (!target) {
    begin_closing(peer, "it wrote outside of our regions", kDrain, Link::connecting);
    return;
  }
  if (!bytes.empty()) std::memcpy(target->data(), bytes.data(), bytes.size());
  note_room_used(peer);
}

void LibfabricFabric::on_region_query(ProviderPeer& peer, std::span<const std::byte> payload) {
  const auto query = decode_region_key(payload);
  if (!query) {
    begin_closing(peer, "a question of it made no sense", kDrain, Link::connecting);
    return;
  }
  const auto grant = regions_.grant(query->key);
  if (grant) peer.granted.insert(query->key);
  queue_region_frame(peer, grant ? FrameKind::region_open : FrameKind::region_unknown,
                     grant.value_or(RegionGrant{query->key, 0, 0}));
  send_due(peer);
}

void LibfabricFabric::on_region_answer(ProviderPeer& peer, FrameKind kind,
                                       std::span<const std::byte> payload) {
  if (kind == FrameKind::region_open) {
    if (const auto grant = decode_region_grant(payload)) peer.regions.note_open(*grant);
  } else if (const auto key = decode_region_key(payload)) {
    if (kind == FrameKind::region_closed) {
      peer.regions.note_closed(key->key);
      on_region_closed(peer, key->key);
    } else {
      peer.regions.note_refused(key->key);
    }
  }
}

// A write that is still under way to a region that was withdrawn may never be answered.
void LibfabricFabric::on_region_closed(ProviderPeer& peer, std::uint64_t key) {
  for (const ProviderOperation* operation = peer.issued.first(); operation != nullptr;
       operation = operation->next) {
    if (operation->kind != OpKind::write || operation->region.key != key) continue;
    begin_closing(peer, "it withdrew a region that was being written", kDrain, Link::connecting);
    return;
  }
}

}  // namespace weft::ofi

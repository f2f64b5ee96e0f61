// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/egress.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace weft::shaped {
namespace {

// Contexts of inner operations: a marker that carries nothing, or slot + 1.
constexpr std::uint64_t kFillerContext = 0;

}  // namespace

Egress::Egress(const LinkShape& shape, ByteCount chunk, Duration catch_up, const Limits& limits)
    : link_(shape, catch_up),
      chunk_(chunk.value()),
      inner_limit_(limits.inner_operations),
      pool_(limits.message_bytes, limits.largest_message + Marker::size),
      operations_(limits.operations),
      leaving_(limits.operations),
      done_(limits.operations) {
  free_slots_.reserve(limits.operations);
  for (std::size_t i = limits.operations; i > 0; --i) {
    free_slots_.push_back(static_cast<std::uint32_t>(i - 1));
  }
}

std::uint32_t Egress::new_slot() {
  if (free_slots_.empty()) return kNone;
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void Egress::see(Instant now) {
  for (const std::uint32_t slot : fresh_) operations_[slot].posted = now;
  fresh_.clear();
}

bool Egress::take(Queue& queue, const TxOp& op) {
  Buffer buffer;
  if (op.kind == OpKind::send) {
    if (free_slots_.empty()) return false;
    buffer = pool_.take(Marker::size + op.size());
    if (!buffer) return false;
    std::byte* at = buffer.data() + Marker::size;
    for (const auto& segment : op.segments) {
      if (!segment.empty()) std::memcpy(at, segment.data(), segment.size());
      at += segment.size();
    }
  }
  const std::uint32_t slot = new_slot();
  if (slot == kNone) return false;
  Operation& operation = operations_[slot];
  operation = {.op = op, .queue = &queue, .buffer = std::move(buffer)};
  fresh_.push_back(slot);
  waiting_bytes_ += op.size();
  (queue.last == kNone ? queue.first : operations_[queue.last].next) = slot;
  queue.last = slot;
  if (!queue.listed) {
    queue.listed = true;
    // Before the queue that just had its turn, if that is still there.
    round_.insert(round_.end() - (served_last_ ? 1 : 0), &queue);
  }
  return true;
}

bool Egress::take_failed(const TxOp& op) {
  const std::uint32_t slot = new_slot();
  if (slot == kNone) return false;
  operations_[slot] = {.op = op, .failed = true, .buffer = {}};
  done_.push_back(slot);
  return true;
}

// Half of the inner fabric's free operations for each peer: one that is stuck leaves half to the
// others, two leave a quarter, and so on.
bool Egress::may_send(const Queue& queue) const {
  const std::size_t left = inner_limit_ - std::min(inner_limit_, inner_in_flight_);
  return left >= 2 && queue.in_flight <= left / 2;
}

// Where in the round the queue is whose turn it is; past the end if none may send.
std::size_t Egress::next_in_round() const {
  const auto it =
      std::ranges::find_if(round_, [&](const Queue* queue) { return may_send(*queue); });
  return static_cast<std::size_t>(it - round_.begin());
}

std::uint64_t Egress::next_piece(const Queue& queue) const {
  const Operation& operation = operations_[queue.first];
  return std::min(operation.op.size() - operation.passed, chunk_);
}

bool Egress::may_pass(Instant now, const Queue& queue) const {
  return link_.free_from() <= now || next_piece(queue) <= turn_left_;
}

// The queue that is served goes to the end of the round; those before it, which may not send, stay.
Egress::Queue& Egress::serve(std::size_t turn) {
  const auto it = round_.begin() + static_cast<std::ptrdiff_t>(turn);
  std::rotate(it, it + 1, round_.end());
  served_last_ = true;
  return *round_.back();
}

std::span<const TxOp> Egress::fill(Instant now) {
  made_count_ = 0;
  while (made_count_ + 2 <= kBatch) {
    const std::size_t turn = next_in_round();
    if (turn == round_.size() || !may_pass(now, *round_[turn])) break;
    if (link_.free_from() <= now) turn_left_ = chunk_;
    pass_piece(now, serve(turn));
  }
  return filled();
}

// The front operation's next piece, a chunk at most, passes the link.
void Egress::pass_piece(Instant now, Queue& queue) {
  const std::uint32_t slot = queue.first;
  Operation& operation = operations_[slot];
  const std::uint64_t bytes = next_piece(queue);
  const bool first = operation.passed == 0;
  const bool last = operation.passed + bytes == operation.op.size();
  const auto passage = link_.send(now, operation.posted, ByteCount(bytes));
  operation.passed += bytes;
  waiting_bytes_ -= bytes;
  turn_left_ -= bytes;

  Marker marker{Marker::Kind::filler, static_cast<std::uint32_t>(bytes),
                own_as<HostClock>(passage.arrival)};
  if (operation.op.kind == OpKind::send && last) {
    marker.kind = Marker::Kind::message;
    encode(marker, std::span<std::byte, Marker::size>(operation.buffer.data(), Marker::size));
    make_carrier(queue, slot);
  } else {
    make_filler(queue, operation, marker);
    if (operation.op.kind == OpKind::write && first) make_carrier(queue, slot);
  }
  if (last) {
    // A rate that was raised must not let the later leave before the earlier.
    const Instant before = leaving_.empty() ? Instant{} : leaving_[leaving_.size() - 1].departs;
    leaving_.push_back({std::max(passage.departure, before), slot});
    pop_operation(queue);
  }
}

void Egress::make_filler(Queue& queue, const Operation& operation, const Marker& marker) {
  auto& header = headers_[made_count_];
  encode(marker, header);
  TxOp& op = made_[made_count_++];
  op = {};
  op.service_level = operation.op.service_level;
  op.peer = queue.peer;
  op.context = kFillerContext;
  op.segments[0] = header;
  ++queue.in_flight;
  ++inner_in_flight_;
}

void Egress::make_carrier(Queue& queue, std::uint32_t slot) {
  Operation& operation = operations_[slot];
  TxOp& op = made_[made_count_++];
  op = operation.op;
  op.context = slot + 1;
  if (op.kind == OpKind::send) {
    op.segments = {
        std::span<const std::byte>(operation.buffer.data(), Marker::size + operation.op.size()),
        std::span<const std::byte>()};
  }
  ++operation.pending;
  ++queue.in_flight;
  ++inner_in_flight_;
}

void Egress::pop_operation(Queue& queue) {
  queue.first = operations_[queue.first].next;
  if (queue.first != kNone) return;
  queue.last = kNone;
  queue.listed = false;
  if (round_.back() == &queue) served_last_ = false;
  std::erase(round_, &queue);
}

void Egress::on_inner_completion(Queue& queue, std::uint64_t context, bool failed) {
  WEFT_CHECK(queue.in_flight > 0 && context <= operations_.size());
  --queue.in_flight;
  --inner_in_flight_;
  if (context == kFillerContext) return;
  const auto slot = static_cast<std::uint32_t>(context - 1);
  Operation& operation = operations_[slot];
  WEFT_CHECK(operation.pending > 0);
  --operation.pending;
  operation.failed = operation.failed || failed;
  finish_if_gone(slot);
}

std::span<TxOp> Egress::end_peer(Queue& queue, std::span<TxOp> unposted) {
  const auto end = std::remove_if(unposted.begin(), unposted.end(), [&](const TxOp& op) {
    if (op.peer != queue.peer) return false;
    --queue.in_flight;
    --inner_in_flight_;
    if (op.context != kFillerContext) --operations_[op.context - 1].pending;
    return true;
  });
  WEFT_CHECK(queue.in_flight == 0, "{} operations outlived their peer", queue.in_flight);
  while (queue.first != kNone) pop_operation(queue);
  leaving_.remove_if([&](const Leaving& l) { return operations_[l.slot].queue == &queue; });
  for (std::uint32_t slot = 0; slot < operations_.size(); ++slot) {
    Operation& operation = operations_[slot];
    if (operation.queue != &queue) continue;
    const std::uint64_t left = operation.op.size() - operation.passed;
    waiting_bytes_ -= left;
    operation.failed = operation.failed || !operation.departed;
    finish(slot);
  }
  return unposted.first(static_cast<std::size_t>(end - unposted.begin()));
}

void Egress::advance(Instant now) {
  while (!leaving_.empty() && leaving_.front().departs <= now) {
    const std::uint32_t slot = leaving_.pop_front().slot;
    operations_[slot].departed = true;
    finish_if_gone(slot);
  }
}

void Egress::finish_if_gone(std::uint32_t slot) {
  const Operation& operation = operations_[slot];
  if (operation.departed && operation.pending == 0) finish(slot);
}

void Egress::finish(std::uint32_t slot) {
  operations_[slot].queue = nullptr;
  pool_.give_back(std::move(operations_[slot].buffer));
  done_.push_back(slot);
}

Completion Egress::take_completion() {
  const std::uint32_t slot = done_.pop_front();
  const Operation& operation = operations_[slot];
  Completion completion;
  completion.kind = operation.failed                    ? CompletionKind::failed
                    : operation.op.kind == OpKind::send ? CompletionKind::sent
                                                        : CompletionKind::written;
  completion.peer = operation.op.peer;
  completion.context = operation.op.context;
  free_slots_.push_back(slot);
  return completion;
}

Instant Egress::next_fill() const {
  const std::size_t turn = next_in_round();
  if (turn == round_.size()) return Instant::never();
  return next_piece(*round_[turn]) <= turn_left_ ? Instant{} : link_.free_from();
}

Instant Egress::next_departure() const {
  if (leaving_.empty()) return Instant::never();
  const std::size_t last = leaving_.size() - 1;
  return leaving_[next_in_round() < round_.size() ? last : last / 2].departs;
}

}  // namespace weft::shaped

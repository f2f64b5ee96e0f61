// SPDX-License-Identifier: Apache-2.0
#include "fabric/mpi/endpoint.hpp"

#include <sched.h>

#include <algorithm>

#include "base/check.hpp"
#include "fabric/mpi/protocol.hpp"

namespace weft::mpi {
namespace {

constexpr std::size_t most_outstanding = 256;
constexpr std::size_t rooms = 32;
constexpr std::size_t room_size = message_header + largest_message;
/// So many events are fetched ahead of a caller that takes few at a time.
constexpr std::size_t most_events = 64;
/// MPI has nothing to sleep on. After so long without an event it is looked at less and less often,
/// each time after an eighth of the time since.
constexpr Duration spin = Duration::milliseconds(1);
constexpr Duration longest_sleep = Duration::milliseconds(1);

}  // namespace

Endpoint::Endpoint(const TransportCalls& calls, std::string name, const World& world)
    : calls_(calls),
      name_(std::move(name)),
      world_(world),
      limits_{.max_message = largest_message,
              .max_write = std::size_t{1} << 40,
              .max_outstanding = most_outstanding,
              .native_write = false},
      peers_(world.size),
      rooms_(rooms * room_size),
      room_sizes_(rooms) {
  for (RoomIndex i = 0; i < rooms; ++i) listen(i);
}

void Endpoint::listen(RoomIndex room) {
  listening_.push_back(room);
  calls_.listen(rooms_.data() + room * room_size, room_size, stream_tag);
}

Result<Region> Endpoint::expose(std::span<std::byte> memory) {
  return regions_.expose(memory);
}

void Endpoint::retract(const Region& region) {
  regions_.retract(region.remote.key);
}

std::size_t Endpoint::post(std::span<const TxOp> ops) {
  std::size_t taken = 0;
  while (taken < ops.size() && outstanding_ < limits_.max_outstanding) take(ops[taken++]);
  return taken;
}

void Endpoint::take(const TxOp& op) {
  const bool is_send = op.kind == OpKind::send;
  WEFT_CHECK(op.size() <= (is_send ? limits_.max_message : limits_.max_write),
             "an operation of {} bytes", op.size());
  ++outstanding_;
  const bool known = op.peer.value() < peers_.size();
  if (known) ++peers_[op.peer.value()].operations;
  if (!known || !peers_[op.peer.value()].usable()) {
    events_.push_back(
        {.completion = {.kind = CompletionKind::failed, .peer = op.peer, .context = op.context}});
    return;
  }
  std::uint32_t operation = 0;
  if (is_send) {
    operation = start_operation(op.peer, {.kind = FrameKind::message, .body = op.segments[0]},
                                op.segments[1]);
  } else {
    operation = start_operation(op.peer,
                                {.kind = FrameKind::write,
                                 .key = op.region.key,
                                 .offset = op.region_offset,
                                 .sizes = {op.segments[0].size(), op.segments[1].size()}},
                                {});
  }
  operations_[operation].kind = op.kind;
  operations_[operation].context = op.context;
  send_frame(operation);
  if (is_send) return;
  for (const auto segment : op.segments) send_segment(operation, segment);
}

/// A place for it, with the frame's bytes.
std::uint32_t Endpoint::start_operation(NodeId peer, const Frame& frame,
                                        std::span<const std::byte> more) {
  if (free_operations_.empty()) {
    free_operations_.push_back(static_cast<std::uint32_t>(operations_.size()));
    operations_.emplace_back();
  }
  const std::uint32_t place = free_operations_.back();
  free_operations_.pop_back();
  Operation& operation = operations_[place];
  operation.peer = peer;
  operation.own = false;
  operation.pending = 0;
  std::vector<std::byte>& bytes = operation.frame;
  bytes.resize(longest_header);
  bytes.resize(encode(frame, bytes));
  bytes.insert(bytes.end(), frame.body.begin(), frame.body.end());
  bytes.insert(bytes.end(), more.begin(), more.end());
  return place;
}

void Endpoint::send_frame(std::uint32_t place) {
  Operation& operation = operations_[place];
  ++operation.pending;
  calls_.send(operation.frame.data(), operation.frame.size(), operation.peer.value(), stream_tag,
              cookie_of_send | place);
}

void Endpoint::send_segment(std::uint32_t place, std::span<const std::byte> segment) {
  Operation& operation = operations_[place];
  while (!segment.empty()) {
    const std::size_t bytes = std::min(segment.size(), largest_part);
    ++operation.pending;
    calls_.send(segment.data(), bytes, operation.peer.value(), write_tag, cookie_of_send | place);
    segment = segment.subspan(bytes);
  }
}

/// One of the messages that it consists of left.
void Endpoint::end_part(std::uint32_t place) {
  Operation& operation = operations_[place];
  if (--operation.pending > 0) return;
  free_operations_.push_back(place);
  if (operation.own) return;
  const bool is_send = operation.kind == OpKind::send;
  events_.push_back(
      {.completion = {.kind = is_send ? CompletionKind::sent : CompletionKind::written,
                      .peer = operation.peer,
                      .context = operation.context}});
}

/// Whether anything happened.
bool Endpoint::progress() {
  bool busy = false;
  std::uint32_t from = 0, count = 0;
  std::uint64_t bytes = 0;
  while (events_.size() < most_events && calls_.heard(&from, &bytes) != 0) {
    const RoomIndex room = listening_.front();
    listening_.pop_front();
    room_sizes_[room] = bytes;
    hear(NodeId(from), room);
    busy = true;
  }
  const std::uint64_t* cookies = calls_.finished(&count);
  for (std::uint32_t i = 0; i < count; ++i) {
    // Ending a receive may start others, which leaves these where they are.
    const std::uint64_t cookie = cookies[i];
    if ((cookie & cookie_of_send) != 0) {
      end_part(static_cast<std::uint32_t>(cookie & ~cookie_of_send));
    } else {
      end_receive(NodeId(static_cast<std::uint32_t>(cookie)));
    }
  }
  return busy || count > 0;
}

std::size_t Endpoint::poll(Instant now, std::span<Completion> completions) {
  for (const RoomIndex room : shown_) listen(room);
  shown_.clear();
  was_busy_ = progress() || !events_.empty() || downs_ > 0;
  if (was_busy_) busy_at_ = now;
  std::size_t n = 0;
  while (n < completions.size() && !events_.empty()) yield_event(completions[n++]);
  if (downs_ > 0 && events_.empty()) n += yield_downs(completions.subspan(n));
  return n;
}

void Endpoint::yield_event(Completion& out) {
  const Event& event = events_.front();
  out = event.completion;
  if (event.room != no_room) shown_.push_back(event.room);
  if (out.kind == CompletionKind::sent || out.kind == CompletionKind::written ||
      out.kind == CompletionKind::failed) {
    --outstanding_;
    if (out.peer.value() < peers_.size()) --peers_[out.peer.value()].operations;
  }
  events_.pop_front();
}

/// Behind all that there is to say of those peers.
std::size_t Endpoint::yield_downs(std::span<Completion> completions) {
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < peers_.size() && n < completions.size(); ++i) {
    PeerRank& peer = peers_[i];
    if (!peer.up || peer.out_open || peer.operations > 0) continue;
    peer.up = false;
    --downs_;
    completions[n++] = {
        .kind = CompletionKind::peer_down, .peer = NodeId(i), .incarnation = peer.incarnation};
    look_up(peer, NodeId(i));
  }
  return n;
}

WaitHint Endpoint::prepare_wait(Instant now) {
  const Duration idle = now - busy_at_;
  if (was_busy_ || !events_.empty() || idle < spin) {
    // If this process shares a processor with the peer that it waits for, the peer can work now.
    if (!was_busy_) ::sched_yield();
    return {.ready = true};
  }
  return {.poll_by = now + std::min(idle / 8, longest_sleep)};
}

}  // namespace weft::mpi

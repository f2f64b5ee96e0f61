// SPDX-License-Identifier: Apache-2.0
// The frames between peers besides messages, and how an endpoint begins and ends.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/make_error.hpp"
#include "fabric/mpi/endpoint.hpp"
#include "fabric/mpi/library.hpp"
#include "fabric/mpi/protocol.hpp"

namespace weft::mpi {

Result<void> Endpoint::add_peer(NodeId peer, Incarnation, std::string_view address) {
  if (peer.value() >= peers_.size() || peer == self() || address != mpi_address(peer)) {
    return invalid("fabric {}: node {} at '{}' is no other rank of the {} of this job", name_,
                   peer.value(), address, world_.size);
  }
  peers_[peer.value()].added = true;
  look_up(peers_[peer.value()], peer);
  return {};
}

void Endpoint::remove_peer(NodeId peer) {
  if (peer.value() >= peers_.size()) return;
  peers_[peer.value()].added = false;
  say_bye(peers_[peer.value()], peer);
}

// MPI's launcher ends all processes when one dies.
bool Endpoint::is_silent(NodeId id) const {
  if (id.value() >= peers_.size()) return false;
  const PeerRank& peer = peers_[id.value()];
  return peer.added && !peer.up && !peer.left;
}

void Endpoint::say(NodeId to, const Frame& frame) {
  const std::uint32_t operation = start_operation(to, frame, {});
  operations_[operation].own = true;
  send_frame(operation);
}

void Endpoint::say_bye(PeerRank& peer, NodeId to) {
  if (!peer.out_open) return;
  peer.out_open = false;
  peer.awaits_bye = peer.in_open;
  if (peer.up) ++downs_;
  say(to, {.kind = FrameKind::bye});
}

/// Says hello where nothing of the past is left, and that the peer is up when both have.
void Endpoint::look_up(PeerRank& peer, NodeId id) {
  if (peer.added && !peer.out_open && !peer.awaits_bye && !peer.up) {
    peer.out_open = true;
    say(id, {.kind = FrameKind::hello, .incarnation = Incarnation(1)});
  }
  if (!peer.out_open || !peer.in_open || peer.up) return;
  peer.up = true;
  events_.push_back(
      {.completion = {
           .kind = CompletionKind::peer_up, .peer = id, .incarnation = peer.incarnation}});
}

/// Something came from there, and is handled now or behind the write that is under way.
void Endpoint::hear(NodeId from, RoomIndex room) {
  PeerRank& peer = peers_[from.value()];
  if (peer.incoming.pending > 0) {
    peer.held.push_back(room);
  } else {
    handle(from, room);
  }
}

void Endpoint::handle(NodeId from, RoomIndex room) {
  PeerRank& peer = peers_[from.value()];
  const std::size_t room_size = rooms_.size() / room_sizes_.size();
  const auto frame =
      decode(std::span<const std::byte>(rooms_).subspan(room * room_size, room_sizes_[room]));
  if (!frame) {
    say_bye(peer, from);
  } else if (frame->kind == FrameKind::message && peer.usable()) {
    events_.push_back(
        {.completion = {.kind = CompletionKind::received, .peer = from, .data = frame->body},
         .room = room});
    return;
  } else if (frame->kind == FrameKind::write) {
    begin_write(peer, from, *frame);
  } else if (frame->kind == FrameKind::hello) {
    peer.in_open = true;
    peer.incarnation = frame->incarnation;
    look_up(peer, from);
  } else {  // bye or leave
    peer.left = frame->kind == FrameKind::leave;
    peer.in_open = false;
    if (!peer.awaits_bye) say_bye(peer, from);
    peer.awaits_bye = false;
    look_up(peer, from);
  }
  listen(room);
}

/// Finds the write's place; without one, its bytes are thrown away, as MPI must receive them
/// anyhow.
void Endpoint::begin_write(PeerRank& peer, NodeId from, const Frame& frame) {
  std::byte* at = nullptr;
  if (peer.usable()) {
    const bool wraps = frame.sizes[0] + frame.sizes[1] < frame.sizes[0];
    if (!wraps) at = regions_.find(frame.key, frame.offset, frame.sizes[0] + frame.sizes[1]);
    if (at == nullptr) say_bye(peer, from);
  }
  peer.incoming = {.left = frame.sizes, .at = at};
  receive_more(peer, from);
}

/// All of a write's parts at once where they go to different places, else one at a time.
void Endpoint::receive_more(PeerRank& peer, NodeId from) {
  Incoming& incoming = peer.incoming;
  for (std::uint64_t& left : incoming.left) {
    while (left > 0) {
      const std::size_t bytes = std::min<std::uint64_t>(left, largest_part);
      if (incoming.at == nullptr) {
        if (incoming.pending > 0) return;
        peer.thrown_away.resize(std::max(peer.thrown_away.size(), bytes));
      }
      std::byte* to = incoming.at != nullptr ? incoming.at : peer.thrown_away.data();
      calls_.receive(to, bytes, from.value(), write_tag, from.value());
      ++incoming.pending;
      left -= bytes;
      if (incoming.at != nullptr) incoming.at += bytes;
    }
  }
  if (incoming.pending == 0) peer.thrown_away = {};
}

void Endpoint::end_receive(NodeId from) {
  PeerRank& peer = peers_[from.value()];
  if (--peer.incoming.pending > 0) return;
  receive_more(peer, from);
  while (peer.incoming.pending == 0 && !peer.held.empty()) {
    const RoomIndex room = peer.held.front();
    peer.held.pop_front();
    handle(from, room);
  }
}

/// Nothing of MPI's is under way, and nothing more comes.
bool Endpoint::left_by_all() const {
  return free_operations_.size() == operations_.size() &&
         std::ranges::all_of(peers_, [this](const PeerRank& peer) {
           return peer.left || &peer == &peers_[world_.rank];
         });
}

Endpoint::~Endpoint() {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (i == world_.rank) continue;
    remove_peer(NodeId(i));
    say(NodeId(i), {.kind = FrameKind::leave});
  }
  // MPI's own end waits for all processes too. Until then they may need this one's receives.
  std::array<Completion, 16> ignored;
  while (!left_by_all()) {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    const Instant now(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
    if (poll(now, ignored) > 0) continue;
    if (!prepare_wait(now).ready) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  calls_.finish();
}

}  // namespace weft::mpi

namespace weft {

bool is_mpi(const std::string& name) {
  return name == "mpi" || name.starts_with("mpi:");
}

Error refuse_program_of_mpi(const std::string& option, const std::string& name) {
  return invalid(
      "{}: '{}' carries programs that are linked to weft, and programs of MPI cannot run over it; "
      "choose auto, tcp or libfabric:PROVIDER",
      option, name);
}

std::string mpi_address(NodeId rank) {
  return fmt::format("mpi:{}", rank.value());
}

Result<std::unique_ptr<MpiFabric>> open_mpi(const std::string& name) {
  auto implementation = mpi::implementation_of(name);
  if (!implementation) return std::move(implementation).error();
  auto calls = mpi::load_transport(*implementation);
  if (!calls) return std::move(calls).error();
  mpi::World world{};
  if (const char* wrong = (**calls).start(&world)) {
    return make_error(ErrorCode::unavailable, "fabric mpi:{}: {}", *implementation, wrong);
  }
  return std::unique_ptr<MpiFabric>(
      std::make_unique<mpi::Endpoint>(**calls, "mpi:" + *implementation, world));
}

}  // namespace weft

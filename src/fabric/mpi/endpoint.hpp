// SPDX-License-Identifier: Apache-2.0
// The fabric over MPI. Each process sends one stream to another: hello, messages and writes, bye,
// hello again. A write is announced in the stream, and its bytes follow as messages of another tag,
// which MPI puts straight into the region; until they are there the stream of that peer waits, so
// that a message never overtakes a write before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/growing_ring.hpp"
#include "fabric/mpi/frame.hpp"
#include "fabric/mpi/mpi.hpp"
#include "fabric/mpi/transport.hpp"
#include "fabric/tcp/region_table.hpp"

namespace weft::mpi {

class Endpoint final : public MpiFabric {
 public:
  Endpoint(const TransportCalls& calls, std::string name, const World& world);
  ~Endpoint() override;

  NodeId self() const override { return NodeId(world_.rank); }
  std::uint32_t size() const override { return world_.size; }
  std::uint32_t size_here() const override { return world_.size_here; }

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return name_; }
  std::string address() const override { return mpi_address(self()); }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId peer) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  bool is_silent(NodeId id) const override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

 private:
  using RoomIndex = std::uint32_t;

  /// A write that comes: how much of each segment is still to be received, and where it goes.
  struct Incoming {
    std::array<std::uint64_t, 2> left{};
    std::byte* at = nullptr;  // null: it was refused, and its bytes are thrown away
    std::uint32_t pending = 0;
  };
  /// Another rank of the MPI, and what its endpoint and this one have said to each other.
  struct PeerRank {
    bool added = false;
    bool out_open = false;    // hello was sent, and no bye after it
    bool in_open = false;     // hello came, and no bye after it
    bool awaits_bye = false;  // bye was sent, and frames until theirs are of the past
    bool left = false;        // it says nothing more
    bool up = false;          // as far as the caller knows, or will when it polls
    std::uint32_t operations = 0;
    Incarnation incarnation{};
    Incoming incoming;
    std::vector<std::byte> thrown_away;
    GrowingRing<RoomIndex> held;  // frames behind a write that is not there yet

    bool usable() const { return out_open && in_open && up; }
  };
  struct Operation {
    NodeId peer{};
    OpKind kind = OpKind::send;
    bool own = false;  // hello or bye: nobody else's
    std::uint32_t pending = 0;
    std::uint64_t context = 0;
    std::vector<std::byte> frame;
  };
  static constexpr RoomIndex no_room = ~RoomIndex{0};
  struct Event {
    Completion completion;
    RoomIndex room = no_room;
  };

  // Sending (endpoint.cpp).
  std::uint32_t start_operation(NodeId peer, const Frame& frame, std::span<const std::byte> more);
  void send_frame(std::uint32_t operation);
  void send_segment(std::uint32_t operation, std::span<const std::byte> segment);
  void take(const TxOp& op);
  void end_part(std::uint32_t operation);
  // Receiving (endpoint.cpp).
  bool progress();
  void listen(RoomIndex room);
  void yield_event(Completion& out);
  std::size_t yield_downs(std::span<Completion> completions);
  // Frames of peers (endpoint_links.cpp).
  void hear(NodeId from, RoomIndex room);
  void handle(NodeId from, RoomIndex room);
  void begin_write(PeerRank& peer, NodeId from, const Frame& frame);
  void receive_more(PeerRank& peer, NodeId from);
  void end_receive(NodeId from);
  void say_bye(PeerRank& peer, NodeId to);
  void say(NodeId to, const Frame& frame);
  void look_up(PeerRank& peer, NodeId id);
  bool left_by_all() const;

  const TransportCalls& calls_;
  std::string name_;
  World world_;
  FabricLimits limits_;
  std::vector<PeerRank> peers_;  // by rank
  tcp::RegionTable regions_{1};
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_operations_;
  std::size_t outstanding_ = 0;
  std::size_t downs_ = 0;  // peers that are to be reported as down
  std::vector<std::byte> rooms_;
  std::vector<std::size_t> room_sizes_;  // bytes in each
  GrowingRing<RoomIndex> listening_;     // in the order that they are filled in
  std::vector<RoomIndex> shown_;
  GrowingRing<Event> events_;
  Instant busy_at_{};
  bool was_busy_ = true;
};

}  // namespace weft::mpi

// SPDX-License-Identifier: Apache-2.0
// LibfabricFabric: the Fabric over one libfabric endpoint. One class in four files: fabric.cpp (the
// interface and the poll loop), links.cpp (peers come and go), transmit.cpp (sending) and
// receive.cpp (receiving).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/growing_ring.hpp"
#include "fabric/libfabric/doorbell.hpp"
#include "fabric/libfabric/endpoint.hpp"
#include "fabric/libfabric/frame_key.hpp"
#include "fabric/libfabric/libfabric.hpp"
#include "fabric/libfabric/operations.hpp"
#include "fabric/libfabric/peer.hpp"
#include "fabric/libfabric/regions.hpp"
#include "fabric/libfabric/visitors.hpp"
#include "weft/fabric.hpp"

namespace weft::ofi {

/// How long a link that ends may wait for the provider to finish its operations, so that nobody
/// reads the application's memory after `peer_down`.
inline constexpr Duration kDrain = Duration::seconds(1);

/// Reads of the completion queue in a row.
inline constexpr int kMaxReads = 64;

class LibfabricFabric final : public Fabric {
 public:
  static Result<std::unique_ptr<Fabric>> open(const LibfabricOptions& options,
                                              const Restrictions& restrictions = {});
  ~LibfabricFabric() override;

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return name_; }
  std::string address() const override { return address_; }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId peer) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

 private:
  // The outcome of an attempt to send.
  enum class Outcome : std::uint8_t {
    sent,
    later,    ///< the provider has no room or no connection: try again soon
    blocked,  ///< until something arrives from the peer
    broken,   ///< the link was taken down meanwhile
  };
  struct Ready {
    Completion completion;
    Receive* receive = nullptr;  ///< holds the completion's data
  };

  explicit LibfabricFabric(const LibfabricOptions& options)
      : options_(options), key_(options.job_secret) {}
  Result<void> set_up(const Restrictions& restrictions);

  // fabric.cpp
  void begin_poll(Instant now);
  void read_events();
  std::size_t read_ahead();
  void act_on_events();
  void send_listed();
  void forget_removed();
  void emit(const Completion& completion, Receive* receive = nullptr);
  void end_operation(CompletionKind kind, NodeId peer, std::uint64_t context);
  void place(const Ready& ready);
  void drain_ready();
  Peer* find(NodeId id);
  void list(Peer& peer);
  void say_goodbye();
  bool descriptor_lies();
  Duration nap(Instant now) const;

  // links.cpp
  void tick();
  void tick_link(Peer& peer);
  void tick_session(Peer& peer);
  Instant next_deadline(const Peer& peer) const;
  Instant session_deadline(const Peer& peer) const;
  Duration longest_silence(const Peer& peer) const;
  void start_life(Peer& peer, Life life);
  void start_connecting(Peer& peer);
  bool ensure_address(Peer& peer);
  void ensure_doorbell(Peer& peer);
  void send_hello(Peer& peer);
  Outcome send_welcome(Peer& peer);
  void on_hello(Peer& peer, std::span<const std::byte> payload);
  void on_welcome(Peer& peer, std::span<const std::byte> payload);
  bool proven(Peer& peer, FrameKind kind, std::span<const std::byte> payload, const Proof& proof);
  void answer_hello(Peer& peer, const Hello& hello);
  static void note_attempt(Peer& peer, const Nonce& nonce, std::uint64_t attempt);
  void go_up(Peer& peer, const Welcome& welcome);
  void begin_closing(Peer& peer, std::string_view reason, Duration drain, Link then);
  void finish_closing(Peer& peer);

  // transmit.cpp
  bool accept(const TxOp& op);
  bool send_at_once(Peer& peer, const TxOp& op);
  void fill(ProviderOperation& operation, Peer& peer, const TxOp& op);
  FrameHeader header_for(const Peer& peer, FrameKind kind, std::size_t payload_size) const;
  void frame_left(Peer& peer, const FrameHeader& header);
  bool may_send(const Peer& peer);
  Outcome judge(Peer& peer, ssize_t result);
  Outcome send_frame(Peer& peer, FrameKind kind, std::span<const std::byte> payload,
                     bool in_session = true);
  void send_due(Peer& peer);
  Outcome send_own_frames(Peer& peer);
  Outcome send_queued(Peer& peer);
  Outcome issue_send(Peer& peer, ProviderOperation& operation);
  Outcome issue_write(Peer& peer, ProviderOperation& operation);
  Outcome check_permission(Peer& peer, const ProviderOperation& operation);
  bool ask_permission(Peer& peer, std::uint64_t key);
  void announce_regions(Peer& peer);
  bool overlaps_issued(const Peer& peer, const ProviderOperation& operation) const;
  Outcome issue_segments(Peer& peer, ProviderOperation& operation);
  Outcome issue_chunks(Peer& peer, ProviderOperation& operation);
  bool register_segments(ProviderOperation& operation, std::array<void*, 2>& descriptions);
  void move_to_issued(Peer& peer, ProviderOperation& operation);
  void ring_doorbells();
  void queue_region_frame(Peer& peer, FrameKind kind, const RegionGrant& grant);

  // receive.cpp
  void on_event(const Event& event);
  void on_part(ProviderOperation& whole, int error);
  void on_operation(ProviderOperation& operation, int error);
  bool on_frame(Receive& receive, std::size_t length);
  bool on_next_frame(Peer& peer, const Frame& frame, Receive& receive);
  bool keep_early(Peer& peer, Receive& receive, const Frame& frame);
  void take_early(Peer& peer);
  bool on_session_frame(Peer& peer, const Frame& frame, Receive& receive);
  void on_region_query(Peer& peer, std::span<const std::byte> payload);
  void on_region_answer(Peer& peer, FrameKind kind, std::span<const std::byte> payload);
  void on_region_closed(Peer& peer, std::uint64_t key);
  void on_write_chunk(Peer& peer, std::span<const std::byte> payload);
  void note_room_used(Peer& peer);

  const LibfabricOptions options_;
  const FrameKey key_;
  FabricLimits limits_;
  std::string name_;
  std::string address_;
  Nonce own_nonce_{};           // of this endpoint, in its address: a hello names it
  std::uint64_t attempts_ = 0;  // to begin a session, with any peer

  bool holds_shm_ = false;
  std::unique_ptr<Doorbell> doorbell_;  // unlinked after the endpoint closed
  std::unique_ptr<Endpoint> endpoint_;
  std::optional<Visitors> visitors_;           // if strangers can connect
  std::unique_ptr<LocalMemory> local_memory_;  // if the provider asks for registration
  std::unique_ptr<SendPool> operations_;
  std::unique_ptr<ReceivePool> receives_;
  LocalRegions regions_;

  std::unordered_map<NodeId, std::unique_ptr<Peer>> peers_;
  Peer* last_found_ = nullptr;
  std::vector<Peer*> listed_;   // have something to send
  std::vector<Peer*> to_ring_;  // were sent something
  bool some_removed_ = false;

  std::span<Completion> out_;  // of the poll under way
  std::size_t out_used_ = 0;
  GrowingRing<Ready> ready_;    // completions that found no room in `out_`
  std::vector<Receive*> held_;  // their data is in the caller's hands until the next poll
  // Read and not yet acted upon. Bounded by the provider's operations under way.
  GrowingRing<Event> events_;
  std::array<Event, 16> batch_{};   // of read_ahead
  std::size_t outstanding_ = 0;     // accepted and not yet reported as ended
  std::size_t issued_ = 0;          // in the provider's hands, peers down excluded
  std::size_t writes_issued_ = 0;   // of those, writes
  bool unread_ = false;             // the provider may know more than was read; see may_send
  std::vector<std::byte> scratch_;  // a frame

  bool events_read_ = false;  // since the driver last prepared to sleep
  int needless_wakes_ = 0;
  Instant now_{};
  bool polled_ = false;
  Instant next_tick_{};
  Instant last_event_{};  // when the provider last had something to say
};

}  // namespace weft::ofi

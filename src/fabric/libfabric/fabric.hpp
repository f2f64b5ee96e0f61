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
  bool is_silent(NodeId id) const override;
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
  ProviderPeer* find(NodeId id);
  void list(ProviderPeer& peer);
  void say_goodbye();
  bool descriptor_lies();
  Duration nap(Instant now) const;

  // links.cpp
  void tick();
  void tick_link(ProviderPeer& peer);
  void tick_session(ProviderPeer& peer);
  Instant next_deadline(const ProviderPeer& peer) const;
  Instant session_deadline(const ProviderPeer& peer) const;
  Duration longest_silence(const ProviderPeer& peer) const;
  void start_life(ProviderPeer& peer, Life life);
  void start_connecting(ProviderPeer& peer);
  bool ensure_address(ProviderPeer& peer);
  void ensure_doorbell(ProviderPeer& peer);
  void send_hello(ProviderPeer& peer);
  Outcome send_welcome(ProviderPeer& peer);
  void on_hello(ProviderPeer& peer, std::span<const std::byte> payload);
  void on_welcome(ProviderPeer& peer, std::span<const std::byte> payload);
  bool proven(ProviderPeer& peer, FrameKind kind, std::span<const std::byte> payload,
              const Proof& proof);
  void answer_hello(ProviderPeer& peer, const Hello& hello);
  static void note_attempt(ProviderPeer& peer, const Nonce& nonce, std::uint64_t attempt);
  void go_up(ProviderPeer& peer, const Welcome& welcome);
  void begin_closing(ProviderPeer& peer, std::string_view reason, Duration drain, Link then);
  void finish_closing(ProviderPeer& peer);

  // transmit.cpp
  bool accept(const TxOp& op);
  bool send_at_once(ProviderPeer& peer, const TxOp& op);
  void fill(ProviderOperation& operation, ProviderPeer& peer, const TxOp& op);
  FrameHeader header_for(const ProviderPeer& peer, FrameKind kind, std::size_t payload_size) const;
  void frame_left(ProviderPeer& peer, const FrameHeader& header);
  bool may_send(const ProviderPeer& peer);
  Outcome judge(ProviderPeer& peer, ssize_t result);
  Outcome send_frame(ProviderPeer& peer, FrameKind kind, std::span<const std::byte> payload,
                     bool in_session = true);
  void send_due(ProviderPeer& peer);
  Outcome send_own_frames(ProviderPeer& peer);
  Outcome send_queued(ProviderPeer& peer);
  Outcome issue_send(ProviderPeer& peer, ProviderOperation& operation);
  Outcome issue_write(ProviderPeer& peer, ProviderOperation& operation);
  Outcome check_permission(ProviderPeer& peer, const ProviderOperation& operation);
  bool ask_permission(ProviderPeer& peer, std::uint64_t key);
  void announce_regions(ProviderPeer& peer);
  bool overlaps_issued(const ProviderPeer& peer, const ProviderOperation& operation) const;
  Outcome issue_segments(ProviderPeer& peer, ProviderOperation& operation);
  Outcome issue_chunks(ProviderPeer& peer, ProviderOperation& operation);
  bool register_segments(ProviderOperation& operation, std::array<void*, 2>& descriptions);
  void move_to_issued(ProviderPeer& peer, ProviderOperation& operation);
  void ring_doorbells();
  void queue_region_frame(ProviderPeer& peer, FrameKind kind, const RegionGrant& grant);

  // receive.cpp
  void on_event(const Event& event);
  void on_part(ProviderOperation& whole, int error);
  void on_operation(ProviderOperation& operation, int error);
  bool on_frame(Receive& receive, std::size_t length);
  bool on_next_frame(ProviderPeer& peer, const Frame& frame, Receive& receive);
  bool keep_early(ProviderPeer& peer, Receive& receive, const Frame& frame);
  void take_early(ProviderPeer& peer);
  bool on_session_frame(ProviderPeer& peer, const Frame& frame, Receive& receive);
  void on_region_query(ProviderPeer& peer, std::span<const std::byte> payload);
  void on_region_answer(ProviderPeer& peer, FrameKind kind, std::span<const std::byte> payload);
  void on_region_closed(ProviderPeer& peer, std::uint64_t key);
  void on_write_chunk(ProviderPeer& peer, std::span<const std::byte> payload);
  void note_room_used(ProviderPeer& peer);

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

  std::unordered_map<NodeId, std::unique_ptr<ProviderPeer>> peers_;
  ProviderPeer* last_found_ = nullptr;
  std::vector<ProviderPeer*> listed_;   // have something to send
  std::vector<ProviderPeer*> to_ring_;  // were sent something
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

// SPDX-License-Identifier: Apache-2.0
// The shared-memory fabric's endpoint. One class, one file per concern:
//
//   endpoint.cpp        the Fabric interface and the order of work in `poll`
//   endpoint_links.cpp  peers going up and down
//   endpoint_io.cpp     records in, records out
//
// A TCP endpoint on a Unix socket, the control endpoint, handles trust and lives: it finds peers,
// proves them, counts their incarnations and notices their death. Its sessions carry a few notes
// (hello.hpp); a peer is up while the session is and both sides have mapped each other's ring. A
// process sleeps on the control endpoint, and a note wakes it.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/growing_ring.hpp"
#include "base/polling_pace.hpp"
#include "fabric/shm/hello.hpp"
#include "fabric/shm/operations.hpp"
#include "fabric/shm/ring.hpp"
#include "fabric/shm/segment.hpp"
#include "fabric/shm/shm.hpp"
#include "fabric/shm/write_way.hpp"

namespace weft::shm {

/// Writes, one right behind the other, whose time is taken. One alone would not do: many that are
/// posted at once overlap, and each waits for those before it.
struct Trial {
  bool is_open = false;
  bool fetched = false;
  std::size_t bytes = 0;  ///< of those that are in the ring
  std::uint64_t end = 0;  ///< of the last one, in the ring
  std::chrono::steady_clock::time_point begun{};
};

/// Writes that passed.
struct Exchange {
  std::uint64_t bytes = 0;
  std::uint64_t writes = 0;
};

class Endpoint;
struct MappedPeer;

class Lane final : public SendLane {
 public:
  Lane(Endpoint& endpoint, MappedPeer& peer) : endpoint_(endpoint), peer_(peer) {}
  std::byte* reserve(std::size_t bytes) override;
  void send() override;

 private:
  Endpoint& endpoint_;
  MappedPeer& peer_;
};

/// A peer, and the segments of both: once they are mapped, frames pass through their rings.
struct MappedPeer {
  explicit MappedPeer(Endpoint& endpoint) : lane(endpoint, *this) {}

  NodeId id{};
  Incarnation incarnation{};  ///< the highest known
  std::string address;        ///< of its control endpoint
  bool is_known = false;      ///< added and not removed

  Lane lane;

  // The link: from the control session's begin to its end.
  bool is_linked = false;
  bool is_mapped_there = false;  ///< our segment
  bool is_broken = false;        ///< broke the rules or was removed: nothing moves any more
  std::uint64_t nonce = 0;       ///< of our segment; the peer fetches it to see whether it may
  Segment inbound, outbound;
  Consumer consumer;
  Producer producer;
  OtherMemory memory;          ///< its, for fetches
  bool may_pull = false;       ///< it can fetch from our memory
  bool had_no_memory = false;  ///< at an end of what it told this side to fetch

  bool is_up = false;                  ///< peer_up was reported; in the endpoint's list
  Incarnation reported_incarnation{};  ///< of the link
  WriteWay way;
  Trial trial;
  OperationList queue;
  OperationList fetching;   ///< records are in the ring
  bool is_touched = false;  ///< in the endpoint's list
  MappedPeer* next_touched = nullptr;
  bool is_streaming = false;    ///< there was a record when it was served last
  bool is_busy = false;         ///< in the endpoint's list of those that each poll looks at
  std::uint32_t quiet_for = 0;  ///< polls with nothing to do, as far as was looked
  std::uint64_t moved = 0;      ///< both rings' positions when that was looked at
  Exchange exchange;            ///< of both ways, since companions were looked for
  bool owes_wake = false;       ///< it is to be woken, and the control endpoint had no room

  // A `pull` record that is carried out in several steps.
  bool is_pulling = false;
  bool owes_release = false;  ///< of one that is done, behind a message that is still being read
  PullRequest pull;
  std::uint64_t pulled = 0;
};

class Endpoint final : public ShmFabric {
 public:
  static Result<std::unique_ptr<ShmFabric>> open(const ShmOptions& options);
  Endpoint(const ShmOptions& options, std::unique_ptr<Fabric> control);
  ~Endpoint() override;

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "shm"; }
  std::string address() const override;
  Result<void> add_peer(NodeId id, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId id) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void expose_as(std::span<std::byte> memory, const RemoteRegion& remote) override;
  void retract(const Region& region) override;
  bool may_reach(std::string_view address) const override;
  SendLane* lane(NodeId to) override;
  bool is_silent(NodeId id) const override;
  std::optional<Companion> take_companion(std::uint64_t bytes) override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

 private:
  friend class Lane;

  // Takes the completions of the current `poll`.
  struct Yield {
    std::span<Completion> out;
    std::size_t count = 0;
    bool full() const { return count == out.size(); }
    Completion& push(CompletionKind kind, NodeId peer) {
      Completion& completion = out[count++];
      completion = {};
      completion.kind = kind;
      completion.peer = peer;
      return completion;
    }
  };

  // endpoint.cpp
  MappedPeer* find_peer(NodeId id) const {
    return id.value() < peers_.size() ? peers_[id.value()].get() : nullptr;
  }
  bool post_one(const TxOp& op);
  void complete(CompletionKind kind, const TxOp& op);
  void yield_completed(Yield& yield);
  void serve_peers(Yield& yield);
  void look_at_quiet_peers(Yield& yield);
  MappedPeer* find_companion(std::uint64_t bytes, std::uint64_t& exchanged);
  void become_busy(MappedPeer& peer);
  void leave_quiet_peers();
  void wake_quiet_peers_if_few();
  void wake_up();
  void say_asleep(Instant now);
  bool sees_work(MappedPeer& peer);
  bool sees_any_work(int looks);

  // endpoint_links.cpp
  void serve_control(Yield& yield);
  bool take_event(const Completion& event, Yield& yield);
  bool is_control_due() const;
  void tell(MappedPeer& peer, const Note& note);
  void begin_link(MappedPeer& peer, Incarnation incarnation);
  void on_note(MappedPeer& peer, std::span<const std::byte> bytes, Yield& yield);
  bool on_hello(MappedPeer& peer, const Note& note);
  void report_up(MappedPeer& peer, Yield& yield);
  bool end_link(MappedPeer& peer, Yield& yield);
  void fail_operations(MappedPeer& peer);
  void break_link(MappedPeer& peer, std::string_view why);
  void end_session(MappedPeer& peer);

  // endpoint_io.cpp
  bool may_fetch(const MappedPeer& peer, const TxOp& op) const;
  bool tries_ways(const MappedPeer& peer) const;
  bool is_to_fetch(const MappedPeer& peer, const TxOp& op) const;
  void begin_trial(MappedPeer& peer, const TxOp& op);
  static void add_to_trial(MappedPeer& peer, const TxOp& op);
  static void end_trial(MappedPeer& peer);
  void await_fetch(MappedPeer& peer, QueuedOperation& operation);
  bool start(MappedPeer& peer, const TxOp& op);
  bool transmit(MappedPeer& peer, QueuedOperation& operation);
  bool put_message(MappedPeer& peer, std::span<const std::byte> head,
                   std::span<const std::byte> body);
  bool put_chunks(MappedPeer& peer, const TxOp& op, std::uint64_t& done);
  bool put_pull(MappedPeer& peer, const TxOp& op);
  void flush(MappedPeer& peer);
  void retire_fetched(MappedPeer& peer);
  void wake_if_sleeping(MappedPeer& peer);
  void wake(MappedPeer& peer);
  void serve(MappedPeer& peer, Yield& yield);
  void receive(MappedPeer& peer, Yield& yield);
  bool take_write(MappedPeer& peer, std::span<const std::byte> payload);
  bool take_pull(MappedPeer& peer, std::span<const std::byte> payload);
  void release(MappedPeer& peer);
  std::byte* find_region(std::uint64_t key, std::uint64_t offset, std::uint64_t length);

  ShmOptions options_;
  FabricLimits limits_;
  std::unique_ptr<Fabric> control_;
  std::uint64_t host_ = 0;
  std::uint64_t processes_ = 0;

  std::unordered_map<std::uint64_t, std::span<std::byte>> regions_;
  Operations operations_;
  std::size_t outstanding_ = 0;
  GrowingRing<Completion> completed_;  // sent, written, failed; at most max_outstanding

  std::vector<std::unique_ptr<MappedPeer>> peers_;  // by node id
  std::vector<MappedPeer*> up_;
  std::vector<MappedPeer*>
      busy_;  // of those: something came or went of late; each poll looks at them
  MappedPeer* told_companion_ = nullptr;  // of those: it was told that it is the only one
  MappedPeer* companion_ = nullptr;       // the same, if it has said so too
  bool shares_core_ = false;              // with the companion, at the last look
  std::size_t next_quiet_ = 0;            // in up_: the next quiet peer to look at
  std::uint32_t polls_ = 0;
  MappedPeer* touched_ = nullptr;   // by the current batch of `post`
  std::vector<Segment> graveyard_;  // messages in them stay valid until the next poll
  std::size_t first_served_ = 0;    // in busy_; goes round, so that nobody is always last
  std::size_t owed_wakes_ = 0;

  // Events of the control endpoint that were not dealt with yet.
  std::array<Completion, 16> events_;
  std::size_t event_first_ = 0;
  std::size_t event_count_ = 0;
  // For a process that does not sleep: the control endpoint then only reports births and deaths.
  PollingPace control_pace_{Duration::microseconds(20), Duration::microseconds(500)};
  bool is_said_asleep_ = false;  // to peers, and not taken back
  Instant said_asleep_at_{};     // to the last of them
  bool has_moved_ = false;       // parts of writes were copied since the last report to a driver
  Instant fetching_since_{};     // the last fetch of a peer's began to be waited for, or ended
  Instant now_{};
};

}  // namespace weft::shm

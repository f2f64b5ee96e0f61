// SPDX-License-Identifier: Apache-2.0
// Fabric: a small completion queue between this process and its peers. Every transport (TCP,
// libfabric, a shaped one, the simulator) is one implementation; tests/contract holds all of them
// to the promises written here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// The limits of a fabric; constant after construction.
struct FabricLimits {
  std::size_t max_message = 0;      ///< largest `send`, bytes; at least 4096 on every fabric
  std::size_t max_write = 0;        ///< largest `write`, bytes, all segments together
  std::size_t max_outstanding = 0;  ///< operations posted and not yet completed
  bool native_write = false;        ///< the network writes into the peer's memory by itself
  /// A peer that does not poll for long is down for others, though it lives, and up when it does.
  bool needs_polls = false;
  /// Bytes of writes that keep the connection to a peer busy, unless it is lossless (Completion):
  /// operations posted later leave only after them. So writes beyond these are better posted when
  /// earlier ones have completed. At least 2.
  std::size_t write_window = std::numeric_limits<std::size_t>::max();
};

/// Names memory of a peer that this node may write into. Plain data: sent to peers in messages.
struct RemoteRegion {
  std::uint64_t key = 0;
  std::uint64_t base = 0;  ///< the fabric adds offsets to it; opaque
  std::uint64_t length = 0;
};

/// Memory of this node that peers may write into, from `expose` until `retract`.
struct Region {
  std::span<std::byte> memory;
  RemoteRegion remote;  ///< to be sent to the peers
};

enum class OpKind : std::uint8_t {
  send,   ///< a message of at most `max_message` bytes; copied by `post`
  write,  ///< one-sided: bytes appear in the peer's region, the peer gets no completion
};

/// One operation for `post`.
struct TxOp {
  OpKind kind = OpKind::send;
  ServiceLevel service_level{};
  NodeId peer{};
  std::uint64_t context = 0;  ///< handed back in the completion
  /// The bytes, in order; unused segments are empty. For a write they must stay valid and unchanged
  /// until the `written` completion (or the `peer_down` that replaces it); for a send, until `post`
  /// returns.
  std::array<std::span<const std::byte>, 2> segments{};
  RemoteRegion region{};            ///< write only
  std::uint64_t region_offset = 0;  ///< write only: first byte written, relative to the region

  std::size_t size() const { return segments[0].size() + segments[1].size(); }
};

enum class CompletionKind : std::uint8_t {
  received,   ///< a message arrived: `data`
  sent,       ///< a send left; nothing is known about its arrival
  written,    ///< a write's local bytes may be reused; nothing is known about its arrival
  failed,     ///< a send or write that will not be carried out because its peer went down
  peer_up,    ///< operations to `peer` are possible (again); `incarnation` says which life of it
  peer_down,  ///< the peer is gone: every operation posted to it has completed or failed before
              ///< this
};

/// One entry of the completion queue.
struct Completion {
  CompletionKind kind = CompletionKind::received;
  NodeId peer{};
  Incarnation incarnation{};        ///< peer_up and peer_down: which life of the peer
  std::uint64_t context = 0;        ///< of the operation, for sent, written and failed
  std::span<const std::byte> data;  ///< received: valid until the next call of `poll`
  /// peer_up: as long as both processes live and keep the rules, this connection does not end, so
  /// that all it takes arrives. A sender needs no copies.
  bool is_lossless = false;
};

/// How a driver may sleep until the fabric has something for it.
struct WaitHint {
  bool ready = false;   ///< do not sleep: `poll` has or may have something now
  int descriptor = -1;  ///< readable when `poll` would yield; −1 when there is none
  Instant poll_by = Instant::never();  ///< call `poll` no later than this, readable or not
  /// Since the last call, parts of long operations have moved without anything to report, or a peer
  /// is fetching one: the next completion is likely to come before a sleep would end.
  bool moving = false;
};

/// See `Fabric::take_companion`.
struct Companion {
  NodeId peer{};
  std::uint64_t bytes = 0;  ///< exchanged since the last call; 0: a long write is still under way
};

/// The way to one peer for messages that nothing delays: they are written where they leave from. It
/// lives as long as its endpoint, and is used from `peer_up` to `peer_down`.
class SendLane {
 public:
  /// Room for a message of `bytes`, at most `max_message`, to be written at once. Null: not now.
  virtual std::byte* reserve(std::size_t bytes) = 0;
  /// Sends what was written there, right after `reserve`. It has no completion.
  virtual void send() = 0;

 protected:
  SendLane() = default;
  ~SendLane() = default;
  SendLane(const SendLane&) = default;
  SendLane& operator=(const SendLane&) = default;
};

/// A fabric endpoint of one process.
///
/// Promises, all of them checked by the contract tests:
///  - Per peer, while it is up: reliable, each message delivered once, in the order posted; a
///    message is received only after every earlier write to the same peer is in its region.
///  - Bytes of a write appear at exactly [region_offset, region_offset + size) and nowhere else;
///    a write outside of an exposed region harms nothing and takes the peer's connection down.
///  - When a peer goes down: messages in flight may or may not have arrived; every outstanding
///    operation to it completes (as sent, written or failed), then one `peer_down` is reported. A
///    process that comes back reports `peer_up` with a higher incarnation.
///  - `post` takes a prefix of the batch: fewer than offered means back-pressure, offer the rest
///    again after `poll`. An operation to a peer that is not up is accepted and completes as
///    `failed`.
///  - Memory in use is bounded by the limits, with any behaviour of peers.
///
/// Threads: one thread at a time calls into an endpoint. No call blocks.
class Fabric {
 public:
  virtual ~Fabric() = default;

  virtual const FabricLimits& limits() const = 0;
  /// The transport's name as a user writes it: "tcp", "libfabric:shm", "shaped(tcp)".
  virtual std::string_view name() const = 0;
  /// The endpoint's address for peers; opaque text without spaces, given to their `add_peer`.
  virtual std::string address() const = 0;

  /// Makes a peer known and starts to connect to it; `peer_up` follows when that worked. Calling it
  /// again with another address or a higher incarnation replaces the old ones. Both sides add each
  /// other; the connection made first serves both directions.
  virtual Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) = 0;
  /// Forgets a peer: outstanding operations fail, then `peer_down` if it was up.
  virtual void remove_peer(NodeId peer) = 0;

  /// Opens memory to writes of all peers. The caller owns the memory and keeps it until `retract`.
  virtual Result<Region> expose(std::span<std::byte> memory) = 0;
  /// Withdraws a region; writes that arrive later take their connection down.
  virtual void retract(const Region& region) = 0;

  /// To a peer that is up. Null: this fabric has none, and the caller uses `post`.
  virtual SendLane* lane(NodeId peer) {
    (void)peer;
    return nullptr;
  }
  /// Of a peer that is not up: returns whether its process is known to live. Its host has taken the
  /// connection, which the process has yet to answer, since it computes or is stopped.
  virtual bool is_silent(NodeId peer) const {
    (void)peer;
    return false;
  }
  /// Returns the companion: the one peer with which this node has exchanged nearly all bytes of
  /// writes since the last call, at least `bytes` of them and in long writes, if that peer finds
  /// the same. The two copy or wait by turns, so that they may share a core. None where peers do
  /// not share memory.
  virtual std::optional<Companion> take_companion(std::uint64_t bytes) {
    (void)bytes;
    return std::nullopt;
  }
  /// Takes a prefix of `ops` and returns its length.
  virtual std::size_t post(std::span<const TxOp> ops) = 0;
  /// Makes progress and fills `completions` from the front; returns how many. Data of earlier
  /// `received` completions becomes invalid. `now` is the caller's clock, monotonic.
  virtual std::size_t poll(Instant now, std::span<Completion> completions) = 0;
  /// To be called directly before sleeping; see WaitHint.
  virtual WaitHint prepare_wait(Instant now) = 0;
};

}  // namespace weft

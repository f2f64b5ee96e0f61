// SPDX-License-Identifier: Apache-2.0
// ProviderPeer: everything an endpoint knows about one other process, and the link to it.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/growing_ring.hpp"
#include "fabric/libfabric/doorbell.hpp"
#include "fabric/libfabric/frame.hpp"
#include "fabric/libfabric/operations.hpp"
#include "fabric/libfabric/regions.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::ofi {

/// waiting: it said goodbye; it speaks first. connecting: hellos go out. up: a session. closing:
/// the session ended, the provider still holds operations.
enum class Link : std::uint8_t { waiting, connecting, up, closing };

/// A frame of ours that waits to be sent; at most one of each flag, any number of `region` ones.
struct Dues {
  bool welcome = false;
  bool credit = false;
  bool heartbeat = false;
};

/// A frame that arrived before one that was sent earlier: large messages may be
/// fetched by the receiver's provider and then complete after small ones that follow them.
struct EarlyFrame {
  Receive* receive = nullptr;
  std::size_t length = 0;
};

struct RegionFrame {
  FrameKind kind = FrameKind::region_query;
  RegionGrant grant;
};

/// Names a life of the peer and its address.
struct Life {
  Incarnation incarnation{};
  std::string address;  ///< as add_peer was given it
};

struct ProviderPeer {
  NodeId id{};
  Life life;
  std::optional<Life> next_life;  ///< replaces `life` when the link is closed
  bool removed = false;           ///< goes away when the link is closed
  std::optional<fi_addr_t> where;
  std::optional<PeerDoorbell> doorbell;
  bool to_be_rung = false;

  Link link = Link::connecting;
  bool broken = false;  ///< an operation failed; the event that ends the link is about to be seen
  Nonce my_nonce{};
  Nonce their_nonce{};
  bool knows_their_nonce = false;
  std::uint64_t my_attempt = 0;     ///< the one of my_nonce
  std::uint64_t their_attempt = 0;  ///< the latest that this life of it was heard to make
  bool hello_is_gone = false;       ///< the provider took the last one: it has a connection
  bool refusal_reported = false;    ///< that its proof is wrong was logged

  // The state of the session.
  std::uint64_t token_out = 0;
  std::uint64_t token_in = 0;
  std::uint32_t frames_out = 0;
  std::uint32_t frames_in = 0;
  std::size_t credits = 0;      ///< messages that may still be sent
  std::size_t credits_due = 0;  ///< messages received whose room was not given back yet
  PeerRegions regions;
  std::unordered_set<std::uint64_t> granted;  ///< keys of ours that it may write to
  std::uint64_t announced = 0;                ///< number of our regions that the peer knows of
  std::vector<EarlyFrame> early;
  Dues dues;
  GrowingRing<RegionFrame> region_frames;

  OperationList queued;  ///< accepted, in order, not in the provider's hands
  OperationList issued;  ///< in the provider's hands
  std::size_t writes_issued = 0;
  bool listed = false;  ///< in the fabric's list of peers that have something to send

  // Timers.
  Instant next_hello{};
  Duration hello_delay{};
  Instant last_heard{};
  Instant last_said{};
  Instant last_checked{};          ///< whether its process lives (shared memory)
  std::optional<Instant> stalled;  ///< since when sends are refused though nothing is issued
  Instant gap_since{};             ///< since when `early` is not empty and the peer is heard
  Instant close_by{};
  Link after_closing = Link::connecting;
};

}  // namespace weft::ofi

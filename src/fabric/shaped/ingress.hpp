// SPDX-License-Identifier: Apache-2.0
// Ingress: the port in front of a node and its link. It holds messages of the inner fabric until
// the link would have brought them.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/shaped/buffer_pool.hpp"
#include "fabric/shaped/ring_queue.hpp"
#include "net/paced_link.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::shaped {

/// Something at the port.
struct Arrival {
  enum class Kind : std::uint8_t {
    filler,  ///< bytes that only take their time
    message,
    peer_up,
    peer_down,
  };
  Kind kind = Kind::filler;
  std::uint32_t bytes = 0;  ///< as they pass the link
  Instant at{};             ///< when they are at the port
  NodeId peer{};
  Incarnation incarnation{};  ///< peer_up and peer_down
  std::uint32_t life = 0;     ///< of the connection; for the owner
  std::uint32_t size = 0;     ///< message: used bytes of `buffer`
  Buffer buffer;
};

/// A queue in order of arrival at the port (ties in the order of `add`), served by one link. Holds
/// a bounded number of arrivals and message bytes: the owner asks `room` before it takes in more.
/// The link is given arrivals in turns: one after the other until it is busy for `kTurn`, so that
/// its owner need not wake for each and a change of its rate acts on all the rest. What carries no
/// message is served when the next message needs it: nobody waits for it.
class Ingress {
 public:
  struct Limits {
    std::size_t arrivals = 65'536;
    std::size_t message_bytes = 0;    ///< of all messages held
    std::size_t largest_message = 0;  ///< bytes
  };
  /// `cut_through`: an arrival's first bit passes the link when it is at the port, not when the
  /// last one is.
  Ingress(const LinkShape& shape, Duration catch_up, bool cut_through, const Limits& limits);

  void start(Instant epoch) { link_.start(epoch); }
  /// Returns how many more arrivals of any kind can be added for sure.
  std::size_t room() const;
  /// Memory for a message to be added.
  Buffer take_buffer(std::size_t size) { return pool_.take(size); }
  void add(Arrival arrival);

  /// Serves the arrivals of the turns that the link had time to begin until `now`.
  void advance(Instant now);
  /// The next arrival that the link has brought, in order; never a filler.
  bool has_delivery() const { return !delivered_.empty() && delivered_.front().at <= now_; }
  Arrival take_delivery();
  void give_back(Buffer buffer) { pool_.give_back(std::move(buffer)); }

  /// Returns when the next message may be delivered, or the link would lose time.
  Instant next_deadline() const;
  /// Changes the link's rate and latency at `now`, for what it has not been given until then.
  void set_shape(Instant now, const LinkShape& shape);
  /// Bytes at the port, the piece on the link included.
  ByteCount backlog(Instant now) const { return ByteCount(waiting_bytes_) + link_.backlog(now); }

 private:
  struct Key {
    Instant at;
    std::uint64_t sequence;
    std::uint32_t slot;
    // For a heap with the earliest arrival on top.
    bool operator<(const Key& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  // How long the link is given arrivals ahead.
  static constexpr Duration kTurn = Duration::microseconds(200);
  static constexpr Duration kMostPatience = Duration::milliseconds(1);

  struct Delivery {
    Instant at{};
    std::uint32_t slot = 0;
  };
  static void push(std::vector<Key>& heap, Key key);
  static Key pop(std::vector<Key>& heap);
  void serve_first(Instant now);
  void free_slot(std::uint32_t slot);

  net::PacedLink link_;
  Duration patience_;  // with arrivals that nobody waits for, before the link would lose time
  bool cut_through_;
  std::size_t capacity_;
  BufferPool pool_;
  std::vector<Arrival> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Key> waiting_;  // heap
  std::vector<Key> awaited_;  // heap of those in waiting_ that are no fillers
  RingQueue<Delivery> delivered_;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t next_sequence_ = 0;
  Instant now_{};
};

}  // namespace weft::shaped

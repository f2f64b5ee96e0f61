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
/// The link is given one arrival at a time, so that a change of its rate acts on all the rest.
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

  /// Serves the arrivals that the link had time for until `now`.
  void advance(Instant now);
  /// The next arrival that the link has brought, in order; never a filler.
  bool has_delivery() const { return !delivered_.empty() && delivered_.front().at <= now_; }
  Arrival take_delivery();
  void give_back(Buffer buffer) { pool_.give_back(std::move(buffer)); }

  /// Returns when `advance` will find something to do.
  Instant next_deadline() const;
  void set_shape(Instant now, const LinkShape& shape) { link_.set_shape(now, shape); }
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
  struct Delivery {
    Instant at{};
    std::uint32_t slot = 0;
  };
  void free_slot(std::uint32_t slot);

  net::PacedLink link_;
  bool cut_through_;
  std::size_t capacity_;
  BufferPool pool_;
  std::vector<Arrival> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Key> waiting_;  // heap
  RingQueue<Delivery> delivered_;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t next_sequence_ = 0;
  Instant now_{};
};

}  // namespace weft::shaped

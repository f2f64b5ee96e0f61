// SPDX-License-Identifier: Apache-2.0
// Egress: a node's link into the network. Operations wait in one queue per peer; the link serves
// the queues in turn, a chunk at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/shaped/buffer_pool.hpp"
#include "fabric/shaped/marker.hpp"
#include "fabric/shaped/ring_queue.hpp"
#include "net/paced_link.hpp"
#include "weft/fabric.hpp"

namespace weft::shaped {

/// Decides when each operation passes the link and turns it into operations of the inner fabric:
/// one marker per chunk, which carries the chunk's arrival time at the receiver's port. The inner
/// fabric gets the bytes of a write with its first chunk (the peer may not read them before the
/// message that follows) and those of a message with its last chunk.
///
/// An operation completes when its last byte has left the link and the inner fabric has completed
/// its part. The link skips a peer to which the inner fabric cannot send, so that this peer does
/// not use up the inner fabric's operations.
///
/// The link takes pieces of operations in turns of up to a chunk's bytes, as a network card fetches
/// descriptors: a turn begins when the link is free. Its owner wakes once in a turn, and not once
/// for each of its operations, as long as more of them wait.
///
/// The class calls no fabric: `fill` yields the operations to post, and the owner posts them and
/// reports their completions. One thread at a time.
class Egress {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The operations of one peer, in the order posted. The caller owns the queue, which must not
  /// move.
  struct Queue {
    NodeId peer{};
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t in_flight = 0;  ///< inner operations made and not completed
    bool listed = false;          ///< the queue is in the round of queues to serve
  };

  /// Capacities, fixed at the start; sizes are in bytes.
  struct Limits {
    std::size_t operations = 0;        ///< taken, with completions not yet yielded
    std::size_t inner_operations = 0;  ///< in flight in the inner fabric at most
    std::size_t message_bytes = 0;
    std::size_t largest_message = 0;
  };
  Egress(const LinkShape& shape, ByteCount chunk, Duration catch_up, const Limits& limits);

  /// Starts the link's clock; before all other calls.
  void start(Instant epoch) { link_.start(epoch); }
  /// Sets the time, which must not decrease; before `fill` and `advance`.
  void see(Instant now);

  /// Takes an operation and copies the bytes of a message; returns false when there is no room. The
  /// operation counts as posted at the time of the next `see`, so that none is faster than the
  /// link.
  bool take(Queue& queue, const TxOp& op);
  /// Takes an invalid operation, which completes as failed; returns false when there is no room.
  bool take_failed(const TxOp& op);

  /// Returns operations for the inner fabric, in order, for all pieces of the turns that begin by
  /// `now`. The caller must post them, or drop them by `end_peer`, before the next `fill`, which
  /// invalidates them.
  std::span<const TxOp> fill(Instant now);
  /// Records that the inner fabric completed an operation of `fill`.
  void on_inner_completion(Queue& queue, std::uint64_t context, bool failed);
  /// Ends a peer that the inner fabric reported as down: completes its operations, as failed unless
  /// all their bytes have passed the link. `unposted` are the results of `fill` that the caller has
  /// not posted yet; the function removes the peer's operations in place and returns the rest.
  std::span<TxOp> end_peer(Queue& queue, std::span<TxOp> unposted);

  /// Completes the operations whose last byte left the link by `now`.
  void advance(Instant now);
  bool has_completion() const { return !done_.empty(); }
  /// Returns the oldest completion; only if `has_completion`.
  Completion take_completion();

  /// Returns when `fill` has work next; never when no operation waits.
  Instant next_fill() const;
  /// Returns when the owner should tell of operations that have left the link: with the turn's last
  /// one while others wait; else when half of them have left, since their poster may wait for that
  /// before it posts more. Never when no operation is on the link.
  Instant next_departure() const;
  /// Changes the link's rate and latency at `now`.
  void set_shape(Instant now, const LinkShape& shape) { link_.set_shape(now, shape); }
  /// Returns the bytes taken that have not left the link.
  ByteCount backlog(Instant now) const { return ByteCount(waiting_bytes_) + link_.backlog(now); }
  /// Returns the result of the last `fill` again.
  std::span<TxOp> filled() { return std::span(made_).first(made_count_); }

 private:
  static constexpr std::size_t kBatch = 64;

  struct Operation {
    TxOp op{};
    Queue* queue = nullptr;  // null: free, or done
    Instant posted{};
    std::uint64_t passed = 0;    // bytes handed to the link
    std::uint32_t pending = 0;   // inner operations in flight that carry its bytes
    std::uint32_t next = kNone;  // the slot behind it in its queue
    bool departed = false;
    bool failed = false;
    Buffer buffer;  // of a message: the header, then the bytes
  };
  struct Leaving {
    Instant departs{};
    std::uint32_t slot = 0;
  };

  std::uint32_t new_slot();
  std::size_t next_in_round() const;
  bool may_send(const Queue& queue) const;
  bool may_pass(Instant now, const Queue& queue) const;
  std::uint64_t next_piece(const Queue& queue) const;
  Queue& serve(std::size_t turn);
  void pass_piece(Instant now, Queue& queue);
  void make_filler(Queue& queue, const Operation& operation, const Marker& marker);
  void make_carrier(Queue& queue, std::uint32_t slot);
  void pop_operation(Queue& queue);
  void finish(std::uint32_t slot);
  void finish_if_gone(std::uint32_t slot);

  net::PacedLink link_;
  std::uint64_t chunk_;
  std::uint64_t turn_left_ = 0;  // bytes that may still pass in this turn of the link
  std::size_t inner_limit_;
  std::size_t inner_in_flight_ = 0;
  BufferPool pool_;
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> fresh_;  // slots taken since the last `see`
  std::vector<Queue*> round_;         // the link serves the front queue next
  bool served_last_ = false;          // the link served the last queue of the round last
  RingQueue<Leaving> leaving_;
  RingQueue<std::uint32_t> done_;
  std::uint64_t waiting_bytes_ = 0;
  std::array<TxOp, kBatch> made_{};
  std::array<MarkerBytes, kBatch> headers_{};
  std::size_t made_count_ = 0;
};

}  // namespace weft::shaped

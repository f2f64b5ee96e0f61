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
/// for each chunk a marker that says when the chunk is at the receiver's port. A write's bytes are
/// handed over with its first chunk (nobody may look at them before the message that follows), a
/// message's with its last.
///
/// An operation is done when its last byte has left the link and the inner fabric is done with it.
/// A peer that the inner fabric cannot get rid of bytes to is passed over, so that it does not use
/// up the inner fabric's operations of all others.
///
/// Makes no calls: `fill` names the operations to post, the owner posts and reports back.
class Egress {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// One peer's operations, in the order posted. Owned by the caller, at a fixed address.
  struct Queue {
    NodeId peer{};
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t in_flight = 0;  ///< inner operations made and not completed
    bool listed = false;          ///< in the round of queues to serve
  };

  struct Limits {
    std::size_t operations = 0;        ///< taken and not yet yielded as completions
    std::size_t inner_operations = 0;  ///< the most that the inner fabric takes
    std::size_t message_bytes = 0;
    std::size_t largest_message = 0;
  };
  Egress(const LinkShape& shape, ByteCount chunk, Duration catch_up, const Limits& limits);

  void start(Instant epoch) { link_.start(epoch); }
  /// Tells the time, which never decreases; before `fill` and `advance`.
  void see(Instant now);

  /// Takes an operation, copying a message; false when there is no room for it. It counts as posted
  /// at the time of the next `see`, so that nothing is ever faster than the link.
  bool take(Queue& queue, const TxOp& op);
  /// Takes an operation that cannot be carried out and fails it.
  bool take_failed(const TxOp& op);

  /// Operations for the inner fabric, in order, as far as the link had time until `now`. They stay
  /// valid until the next `fill` and must be posted, or dropped by `end_peer`, before it.
  std::span<const TxOp> fill(Instant now);
  /// The inner fabric has completed one of them.
  void on_inner_completion(Queue& queue, std::uint64_t context, bool failed);
  /// The inner fabric reported the end of a peer: its operations are done, failed unless all their
  /// bytes had passed. Results of `fill` for it that were not posted must be forgotten: `unposted`
  /// is all that remains to be posted, in place; returns it without that peer's.
  std::span<TxOp> end_peer(Queue& queue, std::span<TxOp> unposted);

  /// Finds the operations that have left the link by `now`.
  void advance(Instant now);
  bool has_completion() const { return !done_.empty(); }
  Completion take_completion();

  /// When `fill` will find something to do.
  Instant next_fill() const;
  /// When `advance` will.
  Instant next_departure() const {
    return leaving_.empty() ? Instant::never() : leaving_.front().departs;
  }
  void set_shape(Instant now, const LinkShape& shape) { link_.set_shape(now, shape); }
  /// Bytes taken and not yet departed.
  ByteCount backlog(Instant now) const { return ByteCount(waiting_bytes_) + link_.backlog(now); }
  /// The result of `fill`.
  std::span<TxOp> filled() { return std::span(made_).first(made_count_); }

 private:
  static constexpr std::size_t kBatch = 64;

  struct Operation {
    TxOp op{};
    Queue* queue = nullptr;  // null: free, or done
    Instant posted{};
    std::uint64_t passed = 0;    // bytes that were given to the link
    std::uint32_t pending = 0;   // inner operations that carry its bytes
    std::uint32_t next = kNone;  // behind it in its queue
    bool departed = false;
    bool failed = false;
    Buffer buffer;  // of a message: the header, then the bytes
  };
  struct Leaving {
    Instant departs{};
    std::uint32_t slot = 0;
  };

  std::uint32_t new_slot();
  Queue* next_queue();
  bool may_send(const Queue& queue) const;
  void pass_chunk(Instant now, Queue& queue);
  void make_filler(Queue& queue, const Operation& operation, const Marker& marker);
  void make_carrier(Queue& queue, std::uint32_t slot);
  void pop_operation(Queue& queue);
  void finish(std::uint32_t slot);
  void finish_if_gone(std::uint32_t slot);

  net::PacedLink link_;
  std::uint64_t chunk_;
  std::size_t inner_limit_;
  std::size_t inner_in_flight_ = 0;
  BufferPool pool_;
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> fresh_;  // slots taken since the last `see`
  std::vector<Queue*> round_;         // the front one has its turn
  bool served_last_ = false;          // the last of the round has just had its turn
  RingQueue<Leaving> leaving_;
  RingQueue<std::uint32_t> done_;
  std::uint64_t waiting_bytes_ = 0;
  std::array<TxOp, kBatch> made_{};
  std::array<MarkerBytes, kBatch> headers_{};
  std::size_t made_count_ = 0;
};

}  // namespace weft::shaped

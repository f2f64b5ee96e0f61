// SPDX-License-Identifier: Apache-2.0
// ControlBlock: memory that all processes of one emulated run share: the knobs, the links, and a
// record per process with its counters, which is the proof that it was interposed. It lies in a
// memfd of weft's, whose path an environment variable names. Plain data without pointers; a process
// that weft did not start has no block and is left alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "emulate/policy/clock.hpp"
#include "emulate/policy/padding.hpp"
#include "emulate/policy/sent_notes.hpp"
#include "emulate/policy/shared_link.hpp"
#include "emulate/policy/stamp_ring.hpp"

namespace weft::emulate {

/// The environment variable that holds the block's path.
inline constexpr char kBlockVariable[] = "WEFT_EMULATE";
inline constexpr std::uint64_t kBlockMagic = 0x7765667432303036;  // changes with the layout
inline constexpr unsigned kMostRanks = 256;
inline constexpr unsigned kMostProcesses = 2 * kMostRanks;  // launchers and shells register too
inline constexpr unsigned kMostLinks = 2'048;
inline constexpr unsigned kMostHops = 8;
inline constexpr unsigned kMostRings = 512;
inline constexpr Picoseconds kCatchUp = 1'000'000'000;  // 1 ms

enum class Method : std::uint32_t {
  hold,  ///< the receiver keeps a message until it is due
  spin,  ///< the sender spins before it sends, as paper 3 does
};

/// Kinds of operations that a process counts. Names are in `operation_names`.
enum Operation : unsigned {
  op_am_short,
  op_am_bcopy,
  op_am_zcopy,
  op_put,
  op_get,
  op_atomic,
  op_flush,
  op_send,
  op_count,
};
inline constexpr const char* operation_names[op_count] = {
    "am_short", "am_bcopy", "am_zcopy", "put", "get", "atomic", "flush", "send"};

/// Settings that may change while the run goes on, each on its own; the next message sees them.
struct Knobs {
  std::atomic<Picoseconds> latency{0};   ///< added to each traversal, beside the pair's own latency
  std::atomic<Picoseconds> overhead{0};  ///< the cost of holding itself: subtracted
  std::atomic<std::uint64_t> rate{0};    ///< of each rank's link out and in, B/s; 0: not limited
  std::atomic<std::uint32_t> method{0};  ///< a Method
  std::atomic<PaddingRatio> padding{0};  ///< instead of `rate`, for comparison; 0: none

  /// Returns whether there is nothing to do: messages pass as if weft were not there.
  bool is_native() const {
    return latency.load(std::memory_order_relaxed) == 0 &&
           rate.load(std::memory_order_relaxed) == 0 &&
           padding.load(std::memory_order_relaxed) == 0;
  }
};

/// The path of messages from one rank to another, where a file gives one for each pair.
struct Path {
  Picoseconds latency;             ///< added
  std::uint16_t links[kMostHops];  ///< numbers of links, in order
  std::uint16_t hops;
};

/// The steps that a process has reached, as bits.
enum Stage : std::uint32_t {
  stage_loaded = 1,      ///< the module is in it
  stage_interposed = 2,  ///< a transport's table was taken over
  stage_running = 4,     ///< MPI_Init is done (or it is no MPI program)
  stage_finished = 8,    ///< MPI_Finalize was called, or it exited and needs no such call
  stage_refused = 16,    ///< there is a library whose version the module does not know
  stage_exited = 32,     ///< exited without MPI_Finalize
  stage_unheld = 64,     ///< uses completions that the module cannot hold
};

/// One process. Only it writes to its record; the counters are of operations between MPI_Init and
/// MPI_Finalize.
struct alignas(64) ProcessRecord {
  std::atomic<std::int32_t> pid{0};
  std::int32_t rank = -1;  ///< as its launcher says; -1: no rank
  std::int32_t ranks = 0;  ///< so many the launcher says there are; 0: it does not say
  char interposer[12] = {};
  std::atomic<std::uint32_t> stage{0};  ///< bits of Stage
  std::atomic<Picoseconds> began{0};    ///< MPI_Init was done
  std::atomic<Picoseconds> ended{0};    ///< MPI_Finalize was called
  std::atomic<std::uint64_t> operations[op_count] = {};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> padding{0};   ///< bytes, beside `bytes`
  std::atomic<std::uint64_t> held{0};      ///< messages that waited for their time
  std::atomic<std::uint64_t> late{0};      ///< were due before they could be seen
  std::atomic<std::uint64_t> unplaced{0};  ///< operations with a peer that nobody knows

  void count(Operation operation, std::uint64_t size) {
    if ((stage.load(std::memory_order_relaxed) & (stage_running | stage_finished)) !=
        stage_running) {
      return;
    }
    add(operations[operation], 1);
    add(bytes, size);
  }
  void count_padding(std::uint64_t size) { add(padding, size); }
  void count_unplaced() { add(unplaced, 1); }

 private:
  // One writer: a load and a store, without the bus lock of an addition.
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t by) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
};

/// The rank that a network address is. All zero: nobody's.
struct AddressOfRank {
  std::atomic<std::uint64_t> hash{0};
  std::atomic<std::uint32_t> rank_and_one{0};
};

struct ControlBlock {
  std::uint64_t magic = kBlockMagic;
  Clock clock;
  Knobs knobs;
  std::uint32_t pair_count = 0;  ///< ranks that `paths` knows; 0: a link out and one in for each
  std::atomic<std::uint32_t> processes{0};
  ProcessRecord process[kMostProcesses];
  std::uint64_t link_rates[kMostLinks] = {};  ///< of links that paths name
  SharedLink links[kMostLinks];         ///< without paths: 2·rank out of it, 2·rank+1 into it
  Path paths[kMostRanks * kMostRanks];  ///< from · pair_count + to
  StampRing rings[kMostRings];          ///< of connections whose messages have no room for stamps
  SentNotes notes[kMostRanks];          ///< by receiver; of messages that no connection has
  AddressOfRank addresses[kMostProcesses];

  /// A record for the calling process; nullptr when all are taken. A process that has ended and did
  /// not communicate leaves its record to the next one of its rank.
  ProcessRecord* enrol();
  /// The record of a process that another module has enrolled; nullptr: there is none.
  ProcessRecord* record_of(std::int32_t pid);
  /// The ring of that key, which is not 0; nullptr when all are taken by others.
  StampRing* ring_of(std::uint64_t key);
  /// Tells all processes whose address has that hash, which is not 0.
  void publish_address(std::uint64_t hash, unsigned rank);
  /// kMostRanks: nobody has told.
  unsigned rank_at_address(std::uint64_t hash) const;
};

/// Times of a message that `from` gives to the network at `ready`.
struct Plan {
  Picoseconds departure;  ///< its last bit has left the slowest link
  Picoseconds latency;    ///< added behind that, until it may be seen
};

/// Sends the message over the links of its path, cut through. Each link is charged from `ready` on:
/// a link that began only when the one before it is free would be idle for all others until then. A
/// message of no bytes passes no link.
Plan plan_message(ControlBlock& block, unsigned from, unsigned to, Picoseconds ready,
                  std::uint64_t bytes);

/// Returns how many links of a limited rate a message of one byte or more passes from one rank to
/// another: each costs its sender some time to charge.
unsigned links_between(const ControlBlock& block, unsigned from, unsigned to);

/// Times of a request that was ready at some instant, and of its answer.
struct RoundTrip {
  Plan out;            ///< of the request
  Picoseconds due;     ///< when the answer may be seen
  Picoseconds travel;  ///< added latency there and back
};

/// Plans a request of so many bytes and its answer. `plan(is_answer, ready, bytes)` plans one of
/// the two. The links back are charged when the request has left, not when it has arrived: they
/// would be idle for all others until then.
template <class PlanOne>
RoundTrip plan_round_trip(Picoseconds ready, std::uint64_t request, std::uint64_t answer,
                          PlanOne plan) {
  const Plan out = plan(false, ready, request);
  const Picoseconds left = std::max(ready, out.departure);
  const Plan back = plan(true, left, answer);
  const Picoseconds travel = out.latency + back.latency;
  return {out, std::max(left, back.departure) + travel, travel};
}

/// Maps the block that `path` names. nullptr when there is none or of another layout. The mapping
/// lives as long as the process.
ControlBlock* attach_block(const char* path);

/// The rank of this process, and how many there are, by the variables of the launchers that set
/// any; -1 and 0 without.
struct RankHere {
  std::int32_t rank = -1;
  std::int32_t ranks = 0;
};
RankHere rank_from_environment();

/// Returns whether an MPI is loaded into this process. Its beginning and end are not asked for: the
/// module for UCX defines those itself.
bool is_mpi_program();

/// The calibrated rate of a memory-resident clock: ticks in a second, measured over `nanoseconds`.
Clock measure_clock(std::uint64_t nanoseconds);

}  // namespace weft::emulate

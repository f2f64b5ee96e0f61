// SPDX-License-Identifier: Apache-2.0
// The module's state of each worker, interface and endpoint of UCT.
#pragma once

#include "emulate/policy/stamp.hpp"
#include "emulate/ucx/module.hpp"
#include "emulate/ucx/waiting.hpp"

namespace weft::emulate::ucx {

inline constexpr unsigned kAmIds = UCT_AM_ID_MAX;
inline constexpr unsigned kSizeClasses = 48;
inline constexpr unsigned kPaddingId = kAmIds - 1;  // one that UCP does not use

// Each active message begins with a Stamp; the upper layers are told of interfaces that are as much
// smaller.

struct Worker {
  uct_worker_h handle;
  uct_worker_cb_id_t progress_id;
  unsigned interfaces;
  WaitingQueue waiting;
  SenderLag lag;
  Picoseconds looked;   ///< when its transports were polled last
  Picoseconds in_vain;  ///< when they were last without finding anything
  Picoseconds left;     ///< when the module's part of that look was done
  Picoseconds polled;   ///< when the poll that goes on found its first message; 0: none yet
  bool refused;         ///< a transport had no room for a message since that look
  bool delivering;      ///< a handler or completion of an upper layer runs
  Picoseconds logical;  ///< when the message or completion that is being delivered was due
};

struct Endpoint {
  unsigned peer;      ///< its rank, kUnknownRank before it is connected
  Picoseconds acked;  ///< when the last put or atomic would have been acknowledged
  bool refused;       ///< the last message got UCS_ERR_NO_RESOURCE: it has paid its link
  std::size_t refused_size;
  Plan refused_plan;
  PaddingDebt debt;        ///< of messages and writes
  PaddingDebt reads_debt;  ///< of the peer's answers
};

/// The length of a message: the sum of its pieces.
inline std::size_t bytes_of(const uct_iov_t* iov, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += iov[i].length * iov[i].count;
  return bytes;
}

struct Handler {
  uct_am_callback_t call;
  void* argument;
  Interface* interface;
};

/// The address trailer by which an endpoint learns its peer's rank.
struct Trailer {
  std::uint16_t magic;
  std::uint16_t rank;
};
inline constexpr std::uint16_t kTrailerMagic = 0x7765;

struct Interface {
  uct_iface_h handle;
  uct_iface_ops_t real;  ///< the transport's own table
  Worker* worker;
  std::size_t headroom;        ///< bytes in front of received data that belong to the upper layer
  std::size_t address_length;  ///< of its own address, without the trailer; likewise the next
  std::size_t endpoint_address_length;
  bool has_address;
  bool has_endpoint_address;
  char* scratch;  ///< a short message or a header, with its stamp
  std::size_t scratch_bytes;
  std::size_t padding_bytes;  ///< of one message of padding at most; 0: it cannot send any
  Picoseconds acked;          ///< the latest of its endpoints
  PointerTable<Endpoint> endpoints;
  Handler handlers[kAmIds];
  Picoseconds last_due[kMostRanks];  ///< of the messages of each rank
  Picoseconds latest_due;            ///< of all
  Picoseconds native[kSizeClasses];  ///< least time on the way, by the size's bits; 0: unknown
  Picoseconds least_native;          ///< of all sizes
};

/// nullptr: the module leaves this interface alone.
Interface* interface_of(uct_iface_h handle);
inline Interface& interface_of_endpoint(uct_ep_h endpoint) {
  return *interface_of(endpoint->iface);
}
Endpoint& endpoint_of(Interface& interface, uct_ep_h handle);

/// Takes over the table of an interface that no worker has, for as long as it exists: to measure
/// what the module costs.
class TransportForMeasuring {
 public:
  explicit TransportForMeasuring(uct_iface& iface);
  ~TransportForMeasuring();
  TransportForMeasuring(const TransportForMeasuring&) = delete;
  TransportForMeasuring& operator=(const TransportForMeasuring&) = delete;

 private:
  Interface* interface_;
  Worker* worker_;
};

/// Returns when an operation that the calling code starts now counts as started: within a delivery,
/// when that was due.
inline Picoseconds started(const Worker& worker, Picoseconds now) {
  return worker.delivering ? caught_up(now, worker.logical, kCatchUp) : now;
}
/// Added latency from one rank to another.
Picoseconds added_latency(unsigned from, unsigned to);

/// True when messages pass unchanged because the run requests no emulation.
inline bool is_native() {
  return process.block->pair_count == 0 && process.block->knobs.is_native();
}
inline bool is_spinning() {
  return process.block->knobs.method.load(std::memory_order_relaxed) ==
         static_cast<std::uint32_t>(Method::spin);
}
void spin_until(Picoseconds due);

/// Runs `call` as the delivery of something due at `due`.
template <class Call>
void deliver(Worker& worker, Picoseconds due, Call call) {
  const bool was = worker.delivering;
  const Picoseconds before = worker.logical;
  worker.delivering = true;
  worker.logical = due;
  call();
  worker.delivering = was;
  worker.logical = before;
}

// ---- receive.cpp
ucs_status_t set_handler(Interface& interface, std::uint8_t id, uct_am_callback_t call,
                         void* argument, std::uint32_t flags);
/// A worker's progress callback: shows the messages and completions that are due.
unsigned progress(void* worker);

// ---- padding.cpp
inline PaddingRatio padding_ratio() {
  return process.block->knobs.padding.load(std::memory_order_relaxed);
}
void prepare_padding(Interface& interface, const uct_iface_attr_t& attributes);
/// Adds the padding of a message of that size to a debt.
inline void owe_padding(PaddingDebt& debt, std::size_t bytes) {
  if (const PaddingRatio ratio = padding_ratio(); ratio != 0) debt.owe(bytes, ratio);
}
/// Sends the padding that is due. Errors are the transport's: UCS_ERR_NO_RESOURCE keeps the rest of
/// the debt, and the message that was to follow has to wait.
ucs_status_t send_padding(Interface& interface, uct_ep_h handle, Endpoint& endpoint);
inline ucs_status_t pay_by_messages(Interface& interface, uct_ep_h handle, Endpoint& endpoint) {
  return endpoint.debt.due() == 0 ? UCS_OK : send_padding(interface, handle, endpoint);
}
/// The read that padding goes ahead of.
struct Read {
  const uct_iov_t* iov;
  std::uint64_t address;
  uct_rkey_t key;
};
ucs_status_t pay_by_reads(Interface& interface, uct_ep_h handle, Endpoint& endpoint,
                          const Read& read);
/// Likewise for a read whose bytes the caller unpacks.
struct CopiedRead {
  std::size_t bytes;
  std::uint64_t address;
  uct_rkey_t key;
};
ucs_status_t pay_by_copied_reads(Interface& interface, uct_ep_h handle, Endpoint& endpoint,
                                 const CopiedRead& read);

// ---- completions.cpp
/// A caller's completion behind one of the module's, which the transport is given instead.
struct DeferredCompletion;
/// nullptr: no memory.
DeferredCompletion* defer(Interface& interface, uct_completion_t* user, Picoseconds due);
uct_completion_t* completion_of(DeferredCompletion* deferred);
/// When the answer to a request is there: both directions' latency after the transport has moved
/// the bytes, and no sooner than the links let them through.
struct Answer {
  Picoseconds due;     ///< by the links
  Picoseconds travel;  ///< latency there and back
};
/// Sets the times that only the transport's answer tells. Call it before `settle`.
void set_due(DeferredCompletion* deferred, const Answer& answer);
/// Handles the transport's answer: UCS_OK waits until it is due (UCS_INPROGRESS to the caller),
/// errors pass.
ucs_status_t settle(DeferredCompletion* deferred, ucs_status_t status);

// ---- send.cpp, memory.cpp, connect.cpp: put their functions into the table
void take_over_messages(uct_iface_ops_t& table);
void take_over_memory(uct_iface_ops_t& table);
void take_over_connections(uct_iface_ops_t& table);

}  // namespace weft::emulate::ucx

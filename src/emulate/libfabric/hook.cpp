// SPDX-License-Identifier: Apache-2.0
// The libfabric module: a hooking provider, which libfabric itself loads where FI_PROVIDER_PATH and
// FI_HOOK say so. It takes over the completion queues of each domain: completions of receives and
// reads show when an emulated network would show them. It lives in others' programs: no exceptions,
// no logging, no aborts, no C++ library.
//
// Senders leave notes of messages, see messages.hpp. Of one-sided writes their targets see nothing
// at all: see one_sided.hpp.
#include <dlfcn.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "emulate/control/control_block.hpp"
#include "emulate/libfabric/addresses.hpp"
#include "emulate/libfabric/messages.hpp"
#include "emulate/libfabric/one_sided.hpp"
#include "emulate/libfabric/process.hpp"
#include "emulate/libfabric/rma.hpp"
#include "emulate/libfabric/tables.hpp"

namespace weft::emulate::libfabric {
namespace {

/// A completion and when it may be seen.
struct Waiting {
  fi_cq_tagged_entry entry;
  fi_addr_t source;
  Picoseconds due;
};

/// Completions of one kind, in the order in which they are due.
struct Ring {
  Waiting* places;
  std::size_t size;  ///< a power of two
  std::size_t first, end;

  bool empty() const { return first == end; }
  Waiting& at(std::size_t i) { return places[i & (size - 1)]; }
};

/// Kinds of completions. Those of one kind with one peer stay in order; others may have to travel
/// farther, and nobody waits for them.
enum Kind : unsigned {
  kind_arrived,       ///< came from a peer
  kind_acknowledged,  ///< was read, or was written and acknowledged
  kind_local,         ///< left this process
  kind_count,
};

/// A completion queue in front of the provider's own.
struct Queue {
  fid_cq* handle;
  fi_ops_cq real;
  fi_ops_cq table;
  fi_ops fid_real;
  fi_ops fid_table;
  std::size_t entry_bytes;  ///< in the format that the program asked for
  pthread_mutex_t lock;
  bool tells_by_descriptor;
  int descriptor;      ///< for the program to wait on: the provider's, and the timer; -1: none
  int timer;           ///< expires when a held completion is due
  Picoseconds looked;  ///< when the last look at the provider's began
  Ring rings[kind_count];

  bool empty() const {
    return std::all_of(rings, rings + kind_count, [](const Ring& ring) { return ring.empty(); });
  }
};

constexpr unsigned kMostQueues = 256;
std::atomic<Queue*> queues[kMostQueues];
pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

Queue* queue_of(const fid_cq* handle) {
  for (auto& place : queues) {
    Queue* const queue = place.load(std::memory_order_acquire);
    if (queue != nullptr && queue->handle == handle) return queue;
  }
  return nullptr;
}

bool push(Ring& ring, const Waiting& waiting) {
  if (ring.end - ring.first == ring.size) {
    const std::size_t wanted = ring.size == 0 ? 256 : 2 * ring.size;
    auto* grown = static_cast<Waiting*>(::malloc(wanted * sizeof(Waiting)));
    if (grown == nullptr) return false;
    for (std::size_t i = ring.first; i != ring.end; ++i) grown[i & (wanted - 1)] = ring.at(i);
    ::free(ring.places);
    ring.places = grown;
    ring.size = wanted;
  }
  // Mostly at the end; those of a nearer peer go before others.
  std::size_t place = ring.end++;
  for (; place != ring.first && ring.at(place - 1).due > waiting.due; --place) {
    ring.at(place) = ring.at(place - 1);
  }
  ring.at(place) = waiting;
  return true;
}

Kind kind_of(const fi_cq_tagged_entry& entry) {
  constexpr std::uint64_t kArrivals = FI_RECV | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
  if ((entry.flags & kArrivals) != 0 && (entry.flags & FI_SEND) == 0) return kind_arrived;
  const bool one_sided = (entry.flags & (FI_READ | FI_WRITE | FI_ATOMIC)) != 0;
  return one_sided ? kind_acknowledged : kind_local;
}

/// Returns when a completion may be seen: a received message has travelled once; a read, and a
/// write that was acknowledged, twice.
Picoseconds due_time(const fi_cq_tagged_entry& entry, Kind kind, const Look& look, Ring& before) {
  const Picoseconds seen = look.seen;
  if (kind == kind_local) return seen;
  const bool was_written = kind == kind_acknowledged && (entry.flags & FI_WRITE) != 0;
  const PostedReceive receive =
      kind == kind_arrived ? receive_of(entry.op_context) : PostedReceive{};
  // Writes were counted, and paid their link, when they were posted. A probe moves nothing.
  if (!was_written && !receive.is_probe) {
    process.record->count(kind == kind_arrived ? op_send : op_get, entry.len);
  }
  ControlBlock& block = *process.block;
  if (block.knobs.is_native() && block.pair_count == 0) {
    // Those that were held when the knobs were turned stay in front.
    return before.empty() ? seen : std::max(seen, before.at(before.end - 1).due);
  }
  if (kind == kind_arrived) {
    const bool is_tagged = (entry.flags & FI_TAGGED) != 0;
    return due_of_message({entry.len, is_tagged ? entry.tag : 0, is_tagged}, receive, look);
  }
  const Picoseconds travel = 2 * block.knobs.latency.load(std::memory_order_relaxed);
  return due_of_completed(entry.op_context, look, seen + travel);
}

/// Takes the provider's completions. Its errors are for the program, behind earlier completions.
ssize_t fill(Queue& queue) {
  constexpr std::size_t kAtOnce = 32;
  fi_cq_tagged_entry entries[kAtOnce];
  fi_addr_t sources[kAtOnce];
  ssize_t count = -FI_EAGAIN;
  Look look{queue.looked, 0};
  queue.looked = process.block->clock.now();
  {
    const Entered inside;
    count = queue.real.readfrom(queue.handle, entries, kAtOnce, sources);
  }
  if (count <= 0) return count;
  look.seen = process.block->clock.now();
  for (ssize_t i = 0; i < count; ++i) {
    if (entries[i].op_context == &padding_context) continue;
    const Kind kind = kind_of(entries[i]);
    Ring& ring = queue.rings[kind];
    const Picoseconds due = due_time(entries[i], kind, look, ring);
    if (!push(ring, {entries[i], sources[i], due})) return -FI_ENOMEM;
  }
  return count;
}

/// The ring whose first completion is due first; nullptr when none waits.
Ring* next_ring(Queue& queue) {
  Ring* next = nullptr;
  for (Ring& ring : queue.rings) {
    if (ring.empty()) continue;
    if (next == nullptr || ring.at(ring.first).due < next->at(next->first).due) next = &ring;
  }
  return next;
}

ssize_t take(Queue& queue, void* buffer, std::size_t count, fi_addr_t* sources) {
  auto* out = static_cast<char*>(buffer);
  std::size_t taken = 0;
  const Picoseconds now = process.block->clock.now();
  while (taken < count) {
    Ring* const ring = next_ring(queue);
    if (ring == nullptr || ring->at(ring->first).due > now) break;
    const Waiting& waiting = ring->at(ring->first++);
    ::memcpy(out + taken * queue.entry_bytes, &waiting.entry, queue.entry_bytes);
    if (sources != nullptr) sources[taken] = waiting.source;
    ++taken;
  }
  return taken > 0 ? static_cast<ssize_t>(taken) : -FI_EAGAIN;
}

ssize_t read_from(fid_cq* handle, void* buffer, std::size_t count, fi_addr_t* sources) {
  Queue& queue = *queue_of(handle);
  pthread_mutex_lock(&queue.lock);
  const ssize_t filled = fill(queue);
  ssize_t taken = count == 0 ? -FI_EAGAIN : take(queue, buffer, count, sources);
  // An error waits until all before it has been seen.
  if (taken == -FI_EAGAIN && filled < 0 && filled != -FI_EAGAIN && queue.empty()) {
    taken = filled;
  }
  pthread_mutex_unlock(&queue.lock);
  return taken;
}

ssize_t read(fid_cq* handle, void* buffer, std::size_t count) {
  return read_from(handle, buffer, count, nullptr);
}

ssize_t wait_from(fid_cq* handle, void* buffer, std::size_t count, fi_addr_t* sources,
                  const void* /*condition*/, int timeout) {
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (;;) {
    const ssize_t taken = read_from(handle, buffer, count, sources);
    if (taken != -FI_EAGAIN) return taken;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long waited =
        (now.tv_sec - start.tv_sec) * 1'000 + (now.tv_nsec - start.tv_nsec) / 1'000'000;
    if (timeout >= 0 && waited >= timeout) return -FI_EAGAIN;
  }
}

ssize_t wait(fid_cq* handle, void* buffer, std::size_t count, const void* condition, int timeout) {
  return wait_from(handle, buffer, count, nullptr, condition, timeout);
}

int close_queue(fid* handle) {
  for (auto& place : queues) {
    Queue* const queue = place.load();
    if (queue == nullptr || &queue->handle->fid != handle) continue;
    const int code = queue->fid_real.close(handle);
    if (code != 0) return code;
    place.store(nullptr);
    for (Ring& ring : queue->rings) ::free(ring.places);
    for (const int own : {queue->descriptor, queue->timer}) {
      if (own >= 0) ::close(own);
    }
    ::free(queue);
    return code;
  }
  return -FI_EINVAL;
}

std::size_t bytes_of(fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_MSG:
      return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
      return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
      return sizeof(fi_cq_tagged_entry);
    default:
      return sizeof(fi_cq_entry);
  }
}

int control_queue(fid* handle, int command, void* argument);

bool take_over(fid_cq* handle, fi_cq_format format, bool tells_by_descriptor) {
  auto* queue = static_cast<Queue*>(::calloc(1, sizeof(Queue)));
  if (queue == nullptr) return false;
  queue->handle = handle;
  queue->real = *handle->ops;
  queue->table = queue->real;
  queue->fid_real = *handle->fid.ops;
  queue->fid_table = queue->fid_real;
  queue->entry_bytes = bytes_of(format);
  queue->tells_by_descriptor = tells_by_descriptor;
  queue->descriptor = queue->timer = -1;
  pthread_mutex_init(&queue->lock, nullptr);
  for (auto& place : queues) {
    Queue* nobody = nullptr;
    if (!place.compare_exchange_strong(nobody, queue)) continue;
    queue->table.read = read;
    queue->table.readfrom = read_from;
    queue->table.sread = wait;
    queue->table.sreadfrom = wait_from;
    queue->fid_table.close = close_queue;
    queue->fid_table.control = control_queue;
    handle->ops = &queue->table;
    handle->fid.ops = &queue->fid_table;
    return true;
  }
  ::free(queue);
  return false;
}

// ---- from the fabric down to its queues and endpoints
Taken<fi_ops_fabric> fabrics[kMostTables];
Taken<fi_ops_domain> domains[kMostTables];
Taken<fi_ops> endpoint_ops[kMostTables];

/// Providers choose an endpoint's tables when it is enabled.
int control_endpoint(fid* handle, int command, void* argument) {
  const int code = real_of(handle->ops).control(handle, command, argument);
  if (code != 0 || command != FI_ENABLE) return code;
  auto* const endpoint = reinterpret_cast<fid_ep*>(handle);
  pthread_mutex_lock(&opening);
  publish_address(endpoint);
  take_over_messages(endpoint);
  take_over_rma(endpoint);
  pthread_mutex_unlock(&opening);
  return code;
}

int bind_endpoint(fid* handle, fid* other, std::uint64_t flags) {
  const int code = real_of(handle->ops).bind(handle, other, flags);
  if (code != 0 || other->fclass != FI_CLASS_AV) return code;
  pthread_mutex_lock(&opening);
  note_addresses(handle, reinterpret_cast<fid_av*>(other));
  pthread_mutex_unlock(&opening);
  return code;
}

int close_endpoint(fid* handle) {
  pthread_mutex_lock(&opening);
  forget_endpoint(handle);
  pthread_mutex_unlock(&opening);
  return real_of(handle->ops).close(handle);
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** opened, void* context) {
  const Entered inside;
  const int code = real_of(domain->ops).endpoint(domain, info, opened, context);
  if (code != 0) return code;
  pthread_mutex_lock(&opening);
  if (Taken<fi_ops>* const taken = copy_of(endpoint_ops, (*opened)->fid.ops)) {
    taken->table.control = control_endpoint;
    taken->table.bind = bind_endpoint;
    taken->table.close = close_endpoint;
    (*opened)->fid.ops = &taken->table;
  }
  pthread_mutex_unlock(&opening);
  return code;
}

/// A program that sleeps is woken so much before its time, as sleepers wake late.
constexpr Picoseconds kLateWaking = 80'000'000;

/// Lets the program's descriptor tell when something is due; false when that is now, or there is no
/// descriptor.
bool arm(const Queue& queue, Picoseconds due, Picoseconds now) {
  const Picoseconds left = due == 0 ? 0 : due - now - kLateWaking;
  if (due != 0 && (left <= 0 || queue.timer < 0)) return false;
  if (queue.timer < 0) return true;
  const long ns = left / 1'000;
  const itimerspec when{{0, 0}, {ns / 1'000'000'000, ns % 1'000'000'000}};
  return ::timerfd_settime(queue.timer, 0, &when, nullptr) == 0;
}

int may_sleep(fid_fabric* fabric, fid** handles, int count) {
  const Picoseconds write = next_write();
  for (int i = 0; i < count; ++i) {
    Queue* const queue = queue_of(reinterpret_cast<const fid_cq*>(handles[i]));
    if (queue == nullptr) continue;
    pthread_mutex_lock(&queue->lock);
    Ring* const ring = next_ring(*queue);
    Picoseconds due = ring == nullptr ? write : ring->at(ring->first).due;
    if (write != 0) due = std::min(due, write);
    const bool armed = arm(*queue, due, process.block->clock.now());
    pthread_mutex_unlock(&queue->lock);
    if (!armed) return -FI_EAGAIN;
  }
  const Entered inside;
  return real_of(fabric->ops).trywait(fabric, handles, count);
}

/// The provider's descriptor and a timer as one.
bool join_descriptors(Queue& queue, int provided) {
  queue.descriptor = ::epoll_create1(EPOLL_CLOEXEC);
  queue.timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  epoll_event readable{EPOLLIN, {}};
  return queue.descriptor >= 0 && queue.timer >= 0 &&
         ::epoll_ctl(queue.descriptor, EPOLL_CTL_ADD, provided, &readable) == 0 &&
         ::epoll_ctl(queue.descriptor, EPOLL_CTL_ADD, queue.timer, &readable) == 0;
}

int control_queue(fid* handle, int command, void* argument) {
  Queue& queue = *queue_of(reinterpret_cast<const fid_cq*>(handle));
  const int code = queue.fid_real.control(handle, command, argument);
  if (code != 0 || command != FI_GETWAIT || !queue.tells_by_descriptor) return code;
  auto* const descriptor = static_cast<int*>(argument);
  if (queue.descriptor < 0 && !join_descriptors(queue, *descriptor)) return -FI_ENOMEM;
  *descriptor = queue.descriptor;
  return 0;
}

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** opened, void* context) {
  const Entered inside;
  fi_cq_attr wanted = *attributes;
  const fi_cq_format format =
      attributes->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_TAGGED : attributes->format;
  // Flags and lengths are needed; every format is the beginning of this one.
  wanted.format = FI_CQ_FORMAT_TAGGED;
  const int code = real_of(domain->ops).cq_open(domain, &wanted, opened, context);
  if (code != 0) return code;
  attributes->format = format;
  attributes->size = wanted.size;
  if (!take_over(*opened, format, wanted.wait_obj == FI_WAIT_FD)) {
    fi_close(&(*opened)->fid);
    return -FI_ENOMEM;
  }
  return 0;
}

/// Counters show operations as soon as the provider does: a run that opens one has no result.
int open_counter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** opened, void* context) {
  const Entered inside;
  if (inside.outermost()) process.record->stage.fetch_or(stage_unheld);
  return real_of(domain->ops).cntr_open(domain, attributes, opened, context);
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** opened, void* context) {
  const Entered inside;
  const int code = real_of(fabric->ops).domain(fabric, info, opened, context);
  if (code != 0 || !inside.outermost()) return code;
  pthread_mutex_lock(&opening);
  if (Taken<fi_ops_domain>* const taken = copy_of(domains, (*opened)->ops)) {
    taken->table.cq_open = open_queue;
    taken->table.cntr_open = open_counter;
    taken->table.endpoint = open_endpoint;
    (*opened)->ops = &taken->table;
    process.note_interposed("libfabric");
  }
  pthread_mutex_unlock(&opening);
  return code;
}

int on_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* /*context*/) {
  *fabric = attributes->fabric;
  if (process.record == nullptr || depth > 0) return 0;
  pthread_mutex_lock(&opening);
  if (Taken<fi_ops_fabric>* const taken = copy_of(fabrics, (*fabric)->ops)) {
    taken->table.domain = open_domain;
    taken->table.trywait = may_sleep;
    (*fabric)->ops = &taken->table;
  }
  pthread_mutex_unlock(&opening);
  return 0;
}

[[gnu::constructor]] void loaded() {
  process.block = attach_block(::getenv(kBlockVariable));
  process.enrol_beside();
}

[[gnu::destructor]] void exiting() {
  process.note_exit();
}

// A provider without getinfo is a hook.
fi_provider provider = {FI_VERSION(0, 1), FI_VERSION(1, 17), {},     "weft",
                        nullptr,          on_fabric,         nullptr};

}  // namespace
}  // namespace weft::emulate::libfabric

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini(void) {
  return &weft::emulate::libfabric::provider;
}

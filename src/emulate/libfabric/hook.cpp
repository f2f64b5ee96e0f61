// SPDX-License-Identifier: Apache-2.0
// The libfabric module: a hooking provider, which libfabric itself loads where FI_PROVIDER_PATH and
// FI_HOOK say so. It takes over the completion queues of each domain: what was received or read is
// shown when an emulated network would show it. It lives in other people's programs: no exceptions,
// no logging, no aborts, no C++ library.
//
// Receivers of libfabric do not see when a message was sent, so that latency counts from when its
// completion was seen.
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
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "emulate/control/control_block.hpp"

namespace weft::emulate::libfabric {
namespace {

struct Process {
  ControlBlock* block;
  ProcessRecord* record;
  unsigned rank;
};
Process process = {nullptr, nullptr, 0};
bool is_alone = false;  // without the module that is preloaded

// Utility providers open a domain of another provider within a call of ours: only the outermost
// layer is taken over.
thread_local unsigned depth __attribute__((tls_model("initial-exec"))) = 0;
struct Entered {
  Entered() { ++depth; }
  ~Entered() { --depth; }
  bool outermost() const { return depth == 1; }
};

/// A completion and when it may be seen.
struct Waiting {
  fi_cq_tagged_entry entry;
  fi_addr_t source;
  Picoseconds due;
};

/// A completion queue in front of the provider's own: in order, as completions of one queue are.
struct Queue {
  fid_cq* handle;
  fi_ops_cq real;
  fi_ops_cq table;
  fi_ops fid_real;
  fi_ops fid_table;
  std::size_t entry_bytes;  ///< in the format that the program asked for
  pthread_mutex_t lock;
  Waiting* ring;
  std::size_t size;  ///< a power of two
  std::size_t first, end;
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

bool push(Queue& queue, const Waiting& waiting) {
  if (queue.end - queue.first == queue.size) {
    const std::size_t wanted = queue.size == 0 ? 256 : 2 * queue.size;
    auto* grown = static_cast<Waiting*>(::malloc(wanted * sizeof(Waiting)));
    if (grown == nullptr) return false;
    for (std::size_t i = queue.first; i != queue.end; ++i) {
      grown[i & (wanted - 1)] = queue.ring[i & (queue.size - 1)];
    }
    ::free(queue.ring);
    queue.ring = grown;
    queue.size = wanted;
  }
  queue.ring[queue.end++ & (queue.size - 1)] = waiting;
  return true;
}

/// When a completion may be seen: what was received has travelled once, what was read twice.
Picoseconds due_time(const fi_cq_tagged_entry& entry, Picoseconds seen) {
  constexpr std::uint64_t kArrivals = FI_RECV | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
  const bool arrived = (entry.flags & kArrivals) != 0 && (entry.flags & FI_SEND) == 0;
  const bool was_read = (entry.flags & (FI_READ | FI_ATOMIC)) != 0 && !arrived;
  ProcessRecord& record = *process.record;
  if (!arrived && !was_read) return seen;
  record.count(was_read ? op_get : op_send, entry.len);
  ControlBlock& block = *process.block;
  if (block.knobs.is_native()) return seen;
  const Picoseconds latency = block.knobs.latency.load(std::memory_order_relaxed);
  const std::uint64_t rate = block.knobs.rate.load(std::memory_order_relaxed);
  SharedLink& link = block.links[(2 * process.rank + 1) % kMostLinks];
  const Passage passage = link.send(seen, entry.len, rate);
  const Picoseconds overhead =
      std::min(latency, block.knobs.overhead.load(std::memory_order_relaxed));
  return passage.departure + (was_read ? 2 : 1) * latency - overhead;
}

/// Takes what the provider has. Its errors are for the program, behind what came before them.
ssize_t fill(Queue& queue) {
  constexpr std::size_t kAtOnce = 32;
  fi_cq_tagged_entry entries[kAtOnce];
  fi_addr_t sources[kAtOnce];
  ssize_t count = -FI_EAGAIN;
  {
    const Entered inside;
    count = queue.real.readfrom(queue.handle, entries, kAtOnce, sources);
  }
  if (count <= 0) return count;
  const Picoseconds seen = process.block->clock.now();
  for (ssize_t i = 0; i < count; ++i) {
    Picoseconds due = due_time(entries[i], seen);
    if (queue.first != queue.end) {
      due = std::max(due, queue.ring[(queue.end - 1) & (queue.size - 1)].due);
    }
    if (!push(queue, {entries[i], sources[i], due})) return -FI_ENOMEM;
  }
  return count;
}

ssize_t take(Queue& queue, void* buffer, std::size_t count, fi_addr_t* sources) {
  auto* out = static_cast<char*>(buffer);
  std::size_t taken = 0;
  const Picoseconds now = process.block->clock.now();
  while (taken < count && queue.first != queue.end) {
    const Waiting& waiting = queue.ring[queue.first & (queue.size - 1)];
    if (waiting.due > now) break;
    ::memcpy(out + taken * queue.entry_bytes, &waiting.entry, queue.entry_bytes);
    if (sources != nullptr) sources[taken] = waiting.source;
    ++taken;
    ++queue.first;
  }
  return taken > 0 ? static_cast<ssize_t>(taken) : -FI_EAGAIN;
}

ssize_t read_from(fid_cq* handle, void* buffer, std::size_t count, fi_addr_t* sources) {
  Queue& queue = *queue_of(handle);
  pthread_mutex_lock(&queue.lock);
  const ssize_t filled = fill(queue);
  ssize_t taken = count == 0 ? -FI_EAGAIN : take(queue, buffer, count, sources);
  // An error waits until all before it has been seen.
  if (taken == -FI_EAGAIN && filled < 0 && filled != -FI_EAGAIN && queue.first == queue.end) {
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
    ::free(queue->ring);
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

bool take_over(fid_cq* handle, fi_cq_format format) {
  auto* queue = static_cast<Queue*>(::calloc(1, sizeof(Queue)));
  if (queue == nullptr) return false;
  queue->handle = handle;
  queue->real = *handle->ops;
  queue->table = queue->real;
  queue->fid_real = *handle->fid.ops;
  queue->fid_table = queue->fid_real;
  queue->entry_bytes = bytes_of(format);
  pthread_mutex_init(&queue->lock, nullptr);
  for (auto& place : queues) {
    Queue* nobody = nullptr;
    if (!place.compare_exchange_strong(nobody, queue)) continue;
    queue->table.read = read;
    queue->table.readfrom = read_from;
    queue->table.sread = wait;
    queue->table.sreadfrom = wait_from;
    queue->fid_table.close = close_queue;
    handle->ops = &queue->table;
    handle->fid.ops = &queue->fid_table;
    return true;
  }
  ::free(queue);
  return false;
}

// ---- from the fabric down to its queues. Providers have one table for all their objects of a
// kind; the few of a process are remembered by it.
constexpr unsigned kMostTables = 16;
template <class Table>
struct Taken {
  Table* own;
  Table table;
};
Taken<fi_ops_fabric> fabrics[kMostTables];
Taken<fi_ops_domain> domains[kMostTables];

/// A copy of the table that can be changed, and is remembered beside the provider's own.
template <class Table>
Taken<Table>* copy_of(Taken<Table> (&all)[kMostTables], Table* own) {
  for (Taken<Table>& taken : all) {
    if (&taken.table == own) return &taken;
    if (taken.own == own) return &taken;
    if (taken.own != nullptr) continue;
    taken.own = own;
    ::memcpy(&taken.table, own, std::min(own->size, sizeof(Table)));
    return &taken;
  }
  return nullptr;
}

template <class Table>
Table& real_of(Table* table) {
  return *reinterpret_cast<Taken<Table>*>(reinterpret_cast<char*>(table) -
                                          offsetof(Taken<Table>, table))
              ->own;
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
  if (!take_over(*opened, format)) {
    fi_close(&(*opened)->fid);
    return -FI_ENOMEM;
  }
  return 0;
}

void note_interposed() {
  ProcessRecord& record = *process.record;
  ::strncpy(record.interposer, "libfabric", sizeof record.interposer - 1);
  record.stage.fetch_or(stage_interposed);
  const bool is_mpi = !is_alone && ::dlsym(RTLD_DEFAULT, "PMPI_Init") != nullptr;
  if (is_mpi || (record.stage.load() & stage_running) != 0) return;
  record.began = process.block->clock.now();
  record.stage.fetch_or(stage_running);
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** opened, void* context) {
  const Entered inside;
  const int code = real_of(fabric->ops).domain(fabric, info, opened, context);
  if (code != 0 || !inside.outermost()) return code;
  pthread_mutex_lock(&opening);
  if (Taken<fi_ops_domain>* const taken = copy_of(domains, (*opened)->ops)) {
    taken->table.cq_open = open_queue;
    (*opened)->ops = &taken->table;
    note_interposed();
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
    (*fabric)->ops = &taken->table;
  }
  pthread_mutex_unlock(&opening);
  return 0;
}

[[gnu::constructor]] void loaded() {
  process.block = attach_block(::getenv(kBlockVariable));
  if (process.block == nullptr) return;
  // The module that is preloaded has a record already, and knows when MPI begins and ends.
  using RecordHere = ProcessRecord* (*)();
  const auto record_here =
      reinterpret_cast<RecordHere>(::dlsym(RTLD_DEFAULT, "weft_emulate_record"));
  process.record = record_here != nullptr ? record_here() : process.block->enrol();
  is_alone = record_here == nullptr;
  if (process.record == nullptr) return;
  process.rank = process.record->rank >= 0
                     ? static_cast<unsigned>(process.record->rank)
                     : static_cast<unsigned>(process.record - process.block->process);
}

[[gnu::destructor]] void exiting() {
  if (!is_alone || process.record == nullptr || process.record->pid.load() != ::getpid()) return;
  process.record->ended = process.block->clock.now();
  process.record->stage.fetch_or(stage_finished);
}

// No getinfo: that is what makes it a hook.
fi_provider provider = {FI_VERSION(0, 1), FI_VERSION(1, 17), {},     "weft",
                        nullptr,          on_fabric,         nullptr};

}  // namespace
}  // namespace weft::emulate::libfabric

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini(void) {
  return &weft::emulate::libfabric::provider;
}

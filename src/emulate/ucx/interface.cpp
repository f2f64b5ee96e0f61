// SPDX-License-Identifier: Apache-2.0
// uct_iface_open and its like: where interfaces come to the module's notice.
#include "emulate/ucx/interface.hpp"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

namespace weft::emulate::ucx {
namespace {

// Looked up on every operation, by any thread; changed when interfaces open and close.
constexpr unsigned kMostInterfaces = 128;
std::atomic<uct_iface_h> handles[kMostInterfaces];
Interface* interfaces[kMostInterfaces];
pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
Worker* workers[kMostInterfaces];

unsigned place_of(uct_iface_h handle) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(handle) * 0x9E3779B97F4A7C15U >>
                               57U);
}

Worker* worker_of(uct_worker_h handle) {
  Worker** free_place = nullptr;
  for (Worker*& worker : workers) {
    if (worker != nullptr && worker->handle == handle) return worker;
    if (worker == nullptr && free_place == nullptr) free_place = &worker;
  }
  if (free_place == nullptr) return nullptr;
  auto* worker = static_cast<Worker*>(::calloc(1, sizeof(Worker)));
  if (worker == nullptr) return nullptr;
  worker->handle = handle;
  worker->progress_id = UCS_CALLBACKQ_ID_NULL;
  using Register = void (*)(uct_worker_h, ucs_callback_t, void*, unsigned, uct_worker_cb_id_t*);
  reinterpret_cast<Register>(real_function("uct_worker_progress_register_safe"))(
      handle, progress, worker, UCS_CALLBACKQ_FLAG_FAST, &worker->progress_id);
  *free_place = worker;
  return worker;
}

void leave_worker(Worker* worker) {
  if (--worker->interfaces > 0) return;
  using Unregister = void (*)(uct_worker_h, uct_worker_cb_id_t*);
  reinterpret_cast<Unregister>(real_function("uct_worker_progress_unregister_safe"))(
      worker->handle, &worker->progress_id);
  *std::find(workers, workers + kMostInterfaces, worker) = nullptr;
  ::free(worker);
}

/// Removes the interface from those that are known.
Interface* leave(uct_iface_h handle) {
  unsigned i = place_of(handle);
  while (handles[i].load() != handle) i = (i + 1) % kMostInterfaces;
  // Other entries may be behind it: the place stays taken, by nothing.
  handles[i].store(reinterpret_cast<uct_iface_h>(1));
  return interfaces[i];
}

void iface_close(uct_iface_h handle) {
  pthread_mutex_lock(&changing);
  Interface* const interface = leave(handle);
  interface->worker->waiting.drop_of(interface);
  leave_worker(interface->worker);
  pthread_mutex_unlock(&changing);
  interface->real.iface_close(handle);
  ::free(interface->scratch);
  ::free(interface);
}

/// Asks the interface for its limits and abilities.
bool describe(Interface& interface) {
  uct_iface_attr_t attributes;
  ::memset(&attributes, 0, sizeof attributes);
  if (interface.real.iface_query(interface.handle, &attributes) != UCS_OK) return false;
  interface.address_length = attributes.iface_addr_len;
  interface.endpoint_address_length = attributes.ep_addr_len;
  interface.has_address = (attributes.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) != 0;
  interface.has_endpoint_address = (attributes.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP) != 0;
  interface.scratch_bytes =
      std::max(attributes.cap.am.max_short, attributes.cap.am.max_hdr) + 2 * kStampBytes;
  interface.scratch = static_cast<char*>(::malloc(interface.scratch_bytes));
  prepare_padding(interface, attributes);
  return interface.scratch != nullptr;
}

bool enter(Interface* interface) {
  unsigned i = place_of(interface->handle);
  for (unsigned tried = 0; tried < kMostInterfaces; ++tried, i = (i + 1) % kMostInterfaces) {
    const uct_iface_h there = handles[i].load();
    if (there != nullptr && there != reinterpret_cast<uct_iface_h>(1)) continue;
    interfaces[i] = interface;
    handles[i].store(interface->handle);
    return true;
  }
  return false;
}

}  // namespace

Interface* interface_of(uct_iface_h handle) {
  unsigned i = place_of(handle);
  for (unsigned tried = 0; tried < kMostInterfaces; ++tried, i = (i + 1) % kMostInterfaces) {
    const uct_iface_h there = handles[i].load(std::memory_order_acquire);
    if (there == handle) return interfaces[i];
    if (there == nullptr) return nullptr;
  }
  return nullptr;
}

Endpoint& endpoint_of(Interface& interface, uct_ep_h handle) {
  if (Endpoint* const known = interface.endpoints.find(handle)) return *known;
  static Endpoint nobody = {kUnknownRank, 0, false, 0, {}, {}, {}};
  auto* endpoint = static_cast<Endpoint*>(::calloc(1, sizeof(Endpoint)));
  if (endpoint == nullptr || !interface.endpoints.insert(handle, endpoint)) return nobody;
  endpoint->peer = kUnknownRank;
  return *endpoint;
}

Picoseconds added_latency(unsigned from, unsigned to) {
  const ControlBlock& block = *process.block;
  Picoseconds latency = block.knobs.latency.load(std::memory_order_relaxed);
  if (from < block.pair_count && to < block.pair_count) {
    latency += block.paths[from * block.pair_count + to].latency;
  }
  return latency;
}

TransportForMeasuring::TransportForMeasuring(uct_iface& iface)
    : interface_(static_cast<Interface*>(::calloc(1, sizeof(Interface)))),
      worker_(static_cast<Worker*>(::calloc(1, sizeof(Worker)))) {
  constexpr std::size_t kScratch = 256;
  if (interface_ == nullptr || worker_ == nullptr) return;
  interface_->handle = &iface;
  interface_->real = iface.ops;
  interface_->worker = worker_;
  interface_->scratch_bytes = kScratch;
  interface_->scratch = static_cast<char*>(::malloc(kScratch));
  pthread_mutex_lock(&changing);
  const bool taken = interface_->scratch != nullptr && enter(interface_);
  pthread_mutex_unlock(&changing);
  if (taken) take_over_messages(iface.ops);
}

TransportForMeasuring::~TransportForMeasuring() {
  if (interface_ != nullptr) {
    pthread_mutex_lock(&changing);
    if (interface_of(interface_->handle) == interface_) leave(interface_->handle);
    pthread_mutex_unlock(&changing);
    ::free(interface_->scratch);
  }
  ::free(interface_);
  ::free(worker_);
}

void spin_until(Picoseconds due) {
  while (process.block->clock.now() < due) __builtin_ia32_pause();
}

void take_over(uct_iface_h handle, uct_worker_h worker, const uct_iface_params_t& parameters) {
  if (!note_interposed()) return;
  auto* interface = static_cast<Interface*>(::calloc(1, sizeof(Interface)));
  if (interface == nullptr) return;
  interface->handle = handle;
  interface->real = handle->ops;
  interface->headroom =
      (parameters.field_mask & UCT_IFACE_PARAM_FIELD_RX_HEADROOM) != 0 ? parameters.rx_headroom : 0;
  pthread_mutex_lock(&changing);
  if (describe(*interface)) interface->worker = worker_of(worker);
  const bool taken = interface->worker != nullptr && enter(interface);
  if (taken) ++interface->worker->interfaces;
  pthread_mutex_unlock(&changing);
  if (!taken) {
    ::free(interface->scratch);
    ::free(interface);
    return;
  }
  take_over_messages(handle->ops);
  take_over_memory(handle->ops);
  take_over_connections(handle->ops);
  handle->ops.iface_close = iface_close;
}

}  // namespace weft::emulate::ucx

// SPDX-License-Identifier: Apache-2.0
// The benchmark's part of libibverbs, as objects that give back what they hold: a device, a
// buffer that is registered with it, reliable connections.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/registration/registration_cache.hpp"
#include "rdma/verbs/bench.hpp"
#include "rdma/verbs/registrar.hpp"

namespace weft::rdma {

template <auto give_back>
struct GiveBack {
  template <class T>
  void operator()(T* thing) const {
    give_back(thing);
  }
};
using ContextHandle = std::unique_ptr<ibv_context, GiveBack<ibv_close_device>>;
using DomainHandle = std::unique_ptr<ibv_pd, GiveBack<ibv_dealloc_pd>>;
using CompletionQueueHandle = std::unique_ptr<ibv_cq, GiveBack<ibv_destroy_cq>>;
using QueuePairHandle = std::unique_ptr<ibv_qp, GiveBack<ibv_destroy_qp>>;

/// Memory that is registered with a protection domain for one kind of access.
struct Registrations {
  explicit Registrations(const DomainRegistrar::Options& options)
      : registrar(options), cache(registrar, limits) {}

  // A buffer's registration ends with its pages: nothing is kept beyond the buffers in use.
  static constexpr fabric::RegistrationLimits limits = {.bytes = ~std::uint64_t{0}, .regions = 64};
  DomainRegistrar registrar;
  fabric::RegistrationCache cache;
};

/// An open device, one of its ports, and that one's address. Outlives the objects made on it.
class Device {
 public:
  /// Errors: `io`, with advice: no device, no such one, its port is down.
  static Result<Device> open(const DeviceChoice& choice);

  const std::string& name() const { return name_; }
  const PortAddress& address() const { return address_; }
  /// Registers all memory: one cache is for memory that the other side may read, one for the rest.
  fabric::RegistrationCache& registrations(bool is_readable) const {
    return (is_readable ? readable_ : own_)->cache;
  }
  std::uint8_t port() const { return port_; }
  std::uint8_t gid_index() const { return gid_index_; }
  bool is_ethernet() const { return is_ethernet_; }
  std::uint8_t started_reads() const { return started_reads_; }  ///< of a queue pair at a time
  std::uint32_t queue_depth() const { return queue_depth_; }     ///< most work requests of one
  std::uint32_t completions() const { return completions_; }     ///< most entries of a CQ
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }

 private:
  Device() = default;
  Result<void> open_by(const DeviceChoice& choice);
  Result<void> look_at_port();
  Result<void> look_at_limits();
  Result<void> choose_gid(int wanted);

  ContextHandle context_;
  DomainHandle domain_;
  std::unique_ptr<Registrations> own_, readable_;
  std::string name_;
  PortAddress address_;
  bool has_paging_ = false;  // explicit, for READs of connections
  bool is_ethernet_ = false;
  std::uint8_t port_ = 1;
  std::uint8_t gid_index_ = 0;
  std::uint8_t started_reads_ = 1;
  std::uint32_t queue_depth_ = 1;
  std::uint32_t completions_ = 1;
};

/// Takes pages away, and their registration before.
struct GiveBackPages {
  std::size_t bytes = 0;
  fabric::RegistrationCache* cache = nullptr;  ///< none: not registered
  fabric::RegistrationCache::Use use;
  void operator()(void* pages) const;
};

struct BufferOptions {
  std::size_t bytes = 1;
  bool is_readable = false;  ///< by the other side
  fabric::MemoryMode memory = fabric::MemoryMode::pinned;
};

/// The memory mode of a buffer by the benchmark's two options.
constexpr fabric::MemoryMode wanted(bool paged, bool prefetch) {
  if (!paged) return fabric::MemoryMode::pinned;
  return prefetch ? fabric::MemoryMode::prefetched : fabric::MemoryMode::paged;
}

/// Whole untouched pages, registered. Where the device cannot page they are pinned, where it cannot
/// prefetch they are only paged: `memory` tells their mode.
class Buffer {
 public:
  static Result<Buffer> create(const Device& device, const BufferOptions& options);

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(pages_.get()); }
  fabric::MemoryMode memory() const { return pages_.get_deleter().use.mode; }
  const ibv_mr& region() const { return region_of(pages_.get_deleter().use.handle); }

 private:
  Buffer() = default;

  std::unique_ptr<void, GiveBackPages> pages_;
};

/// Facts that each end of a connection must have of the other, and their timeouts.
struct ConnectOptions {
  std::uint8_t rnr_timer = 14;
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
};

/// Reliable connections with one completion queue.
class QueuePairs {
 public:
  /// `depth` work requests each. They take packets and answer none until they are connected.
  static Result<QueuePairs> create(const Device& device, std::uint32_t count, std::uint32_t depth);

  const std::vector<QueuePairAddress>& addresses() const { return addresses_; }
  /// The i-th to the i-th of `peers`, of which there are as many.
  Result<void> connect(const Device& device, const PortAddress& port,
                       const std::vector<QueuePairAddress>& peers, const ConnectOptions& options);
  ibv_qp* queue_pair(std::size_t i) const { return queue_pairs_[i].get(); }
  ibv_cq* completions() const { return completions_.get(); }

 private:
  QueuePairs() = default;

  CompletionQueueHandle completions_;  // outlives the queue pairs
  std::vector<QueuePairHandle> queue_pairs_;
  std::vector<QueuePairAddress> addresses_;
};

}  // namespace weft::rdma

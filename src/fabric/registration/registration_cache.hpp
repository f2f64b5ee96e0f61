// SPDX-License-Identifier: Apache-2.0
// RegistrationCache: memory regions that are registered with a network, kept for the next time.
// Hits by containment, invalidation by overlap, the least recently used go first.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "weft/result.hpp"

namespace weft::fabric {

/// Registers memory with a network: pinned, paged, or paged and prefetched, as it likes per region.
/// Called from any thread, never with the cache's lock held.
class Registrar {
 public:
  virtual ~Registrar() = default;
  virtual Result<std::uint64_t> enter(std::uint64_t address, std::uint64_t bytes) = 0;
  virtual void remove(std::uint64_t handle) = 0;
};

struct RegistrationLimits {
  std::uint64_t bytes = std::uint64_t{1} << 30;  ///< of kept and used regions together
  std::uint64_t regions = 4096;
};

/// Thread-safe. A memory monitor calls `invalidate` before pages change their meaning; a region
/// that is in use then leaves the cache at once, and the network when its last user releases it.
class RegistrationCache {
 public:
  struct Region;
  /// A region in use: `handle` is the registrar's. Returned by `release`, once.
  struct Use {
    std::uint64_t handle = 0;
    Region* region = nullptr;
  };

  RegistrationCache(Registrar& registrar, const RegistrationLimits& limits)
      : registrar_(registrar), limits_(limits), hints_(hints) {}
  /// Nothing may be in use any more.
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  /// A region that holds [address, address + bytes), bytes > 0. Errors: the registrar's, and
  /// `exhausted` when what is in use leaves no room within the limits.
  Result<Use> acquire(std::uint64_t address, std::uint64_t bytes);
  void release(const Use& use);
  void invalidate(std::uint64_t address, std::uint64_t bytes);

  struct Counters {
    std::uint64_t hits = 0, misses = 0, evictions = 0, invalidations = 0;
    std::uint64_t regions = 0, bytes = 0;  ///< registered now
  };
  Counters counters() const;

 private:
  using Regions = std::list<Region>;
  static constexpr std::size_t hints = 4096;
  Region* find(std::uint64_t address, std::uint64_t end);
  Region* search(std::uint64_t address, std::uint64_t end);
  bool make_room(std::uint64_t bytes, Regions& removed);
  void take_out(Region& region, Regions& removed);
  void remove(Regions& removed);

  Registrar& registrar_;
  const RegistrationLimits limits_;
  mutable std::mutex mutex_;
  std::multimap<std::uint64_t, Region*> by_address_;  // those that may be found
  std::uint64_t longest_ = 0;                         // of all regions there ever were
  /// Where a page was found last. Good as long as no region has left since.
  struct Hint {
    Region* region = nullptr;
    std::uint64_t generation = 0;
  };
  Hint& hint_of(std::uint64_t address);
  std::vector<Hint> hints_;
  std::uint64_t generation_ = 1;  // of regions that may be found; a new one with each that leaves
  Regions recent_;                // may be found; the latest first
  Regions orphans_;               // invalidated while they were used
  Regions coming_;                // being registered
  Counters counters_;
};

/// For the cache alone.
struct RegistrationCache::Region {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t handle = 0;
  std::uint64_t users = 0;
  bool is_stale = false;
  std::list<Region>::iterator self;
  std::multimap<std::uint64_t, Region*>::iterator place;
};

}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
// RegistrationCache: memory regions that are registered with a network, kept for the next time.
// Hits by containment in a mode that suffices, invalidation by overlap, the least recently used go
// first.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "fabric/registration/memory_mode.hpp"
#include "weft/result.hpp"

namespace weft::fabric {

/// Memory as a registrar has entered it.
struct Registered {
  std::uint64_t handle = 0;
  MemoryMode mode = MemoryMode::pinned;
};

/// Registers memory with a network. Called from any thread, never with the cache's lock held.
class Registrar {
 public:
  virtual ~Registrar() = default;
  /// Uses another mode if the network cannot do `mode`: paged in place of prefetched, pinned in
  /// place of either. Memory to be pinned is pinned.
  virtual Result<Registered> enter(std::uint64_t address, std::uint64_t bytes, MemoryMode mode) = 0;
  virtual void remove(std::uint64_t handle) = 0;
};

struct RegistrationLimits {
  /// The most bytes of unused and used regions together, with those not yet removed.
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint64_t regions = 4096;  ///< the cache allocates 48 bytes for each at once
};

/// Thread-safe. A memory monitor calls `invalidate` before pages change their meaning; a region
/// that is in use then leaves the cache at once, and the network when its last user releases it.
///
/// A hit takes no lock. It looks for a region by a hint or by the sorted index, which a thread with
/// the lock may be changing: an entry read there only proposes a region. The region's own state
/// decides, in the one atomic operation that counts the user. Regions live in slots that are used
/// again and never freed before the cache, so that an outdated proposal still names a slot.
class RegistrationCache {
 public:
  struct Region;
  /// A region in use: handle and mode are the registrar's. Returned by `release`, once.
  struct Use {
    std::uint64_t handle = 0;
    MemoryMode mode = MemoryMode::pinned;
    Region* region = nullptr;
  };

  RegistrationCache(Registrar& registrar, const RegistrationLimits& limits);
  /// Nothing may be in use any more.
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  /// A region that holds [address, address + bytes), bytes > 0, in a mode at least as strong as
  /// `mode`: a pinned region answers all requests, a prefetched one those for paged memory, too. A
  /// region that the registrar made weaker than it was asked to answers such requests as well,
  /// since asking again would bring the same; the use's mode tells the actual one. Errors: the
  /// registrar's, and `exhausted` when regions in use leave no room within the limits.
  Result<Use> acquire(std::uint64_t address, std::uint64_t bytes,
                      MemoryMode mode = MemoryMode::pinned);
  void release(const Use& use);
  void invalidate(std::uint64_t address, std::uint64_t bytes);

  struct Counters {
    std::uint64_t hits = 0, misses = 0, evictions = 0, invalidations = 0;
    std::uint64_t regions = 0, bytes = 0;  ///< registered now
    /// Regions that the registrar has entered in each mode so far, by the mode's number.
    std::array<std::uint64_t, memory_modes> entered{};
  };
  Counters counters() const;

 private:
  /// Regions that have left the cache, and that the registrar has not removed yet.
  struct Leaving {
    std::vector<std::uint64_t> handles;
    std::uint64_t bytes = 0;
  };
  struct Request {
    std::uint64_t begin, end;
    MemoryMode mode;
  };
  /// A region, as old as it was when it was entered here, or older than that.
  struct Age {
    std::uint64_t last_use = 0;
    std::uint64_t version = 0;
    Region* region = nullptr;
    bool operator>(const Age& other) const { return last_use > other.last_use; }
  };
  using Ages = std::priority_queue<Age, std::vector<Age>, std::greater<>>;

  // Without the lock.
  Region* pin_proposed(const Request& request);
  std::size_t above(std::uint64_t address) const;
  std::atomic<Region*>& hint_of(std::uint64_t address);
  Use use(Region& region);
  Result<Use> enter(Region& coming, const Request& request, bool& again);
  void remove(const Leaving& leaving);

  // With the lock.
  Region* pin_indexed(const Request& request);
  Region& begin_entering(const Request& request);
  bool make_room(std::uint64_t bytes, Leaving& leaving);
  bool is_room_coming(std::uint64_t bytes) const;
  void publish(Region& region, const Registered& registered, MemoryMode asked);
  void take_out(const Region& region);
  void vacate(Region& region);
  void leave(Region& region, Leaving& leaving);
  void announce(const Leaving& leaving);
  void enter_age(Region& region);

  Registrar& registrar_;
  const RegistrationLimits limits_;
  const int hint_bits_;
  // The region in which a page was found last.
  std::unique_ptr<std::atomic<Region*>[]> hints_;
  // Regions that may be found, by their first address: the keys, and their regions.
  std::unique_ptr<std::atomic<std::uint64_t>[]> begins_;
  std::unique_ptr<std::atomic<Region*>[]> indexed_;
  std::atomic<std::size_t> count_ = 0;
  // Grows with each hit and each new region; on a line that only these write.
  alignas(64) std::atomic<std::uint64_t> clock_ = 0;

  alignas(64) mutable std::mutex mutex_;
  std::deque<Region> slots_;
  std::vector<Region*> vacant_;
  std::vector<Region*> coming_;  // being registered
  Ages ages_;                    // of those that may be found; entries of others are outdated
  // Regions that the registrar is removing count for the limits until they are gone.
  std::uint64_t leaving_bytes_ = 0, leaving_regions_ = 0;
  std::condition_variable removed_;
  std::uint64_t longest_ = 0;  // of all regions there ever were
  std::uint64_t orphans_ = 0;  // invalidated while they were used
  std::uint64_t entered_ = 0;  // times that clock_ grew with a new region
  Counters counters_;
};

}  // namespace weft::fabric

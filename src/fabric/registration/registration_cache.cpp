// SPDX-License-Identifier: Apache-2.0
#include "fabric/registration/registration_cache.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::fabric {

RegistrationCache::~RegistrationCache() {
  WEFT_CHECK(orphans_.empty() && coming_.empty());
  for (const Region& region : recent_) {
    WEFT_CHECK(region.users == 0, "a registered region is in use at the end");
  }
  remove(recent_);
}

RegistrationCache::Hint& RegistrationCache::hint_of(std::uint64_t address) {
  constexpr int page_bits = 12, hash_bits = 12;
  static_assert(hints == std::size_t{1} << hash_bits);
  return hints_[(address >> page_bits) * 0x9e3779b97f4a7c15ULL >> (64 - hash_bits)];
}

RegistrationCache::Region* RegistrationCache::find(std::uint64_t address, std::uint64_t end) {
  Hint& hint = hint_of(address);
  if (hint.generation == generation_ && hint.region->begin <= address && hint.region->end >= end) {
    return hint.region;
  }
  Region* const found = search(address, end);
  if (found != nullptr) hint = {found, generation_};
  return found;
}

RegistrationCache::Region* RegistrationCache::search(std::uint64_t address, std::uint64_t end) {
  for (auto it = by_address_.upper_bound(address); it != by_address_.begin();) {
    --it;
    if (it->second->end >= end) return it->second;
    if (address - it->first >= longest_) return nullptr;  // none before reaches so far
  }
  return nullptr;
}

void RegistrationCache::take_out(Region& region, Regions& removed) {
  by_address_.erase(region.place);
  ++generation_;
  counters_.bytes -= region.end - region.begin;
  --counters_.regions;
  removed.splice(removed.end(), recent_, region.self);
}

bool RegistrationCache::make_room(std::uint64_t bytes, Regions& removed) {
  const auto fits = [&] {
    return counters_.bytes + bytes <= limits_.bytes && counters_.regions < limits_.regions;
  };
  for (auto it = recent_.end(); !fits() && it != recent_.begin();) {
    Region& region = *--it;
    if (region.users > 0) continue;
    ++it;
    ++counters_.evictions;
    take_out(region, removed);
  }
  return fits();
}

void RegistrationCache::remove(Regions& removed) {
  for (const Region& region : removed) registrar_.remove(region.handle);
  removed.clear();
}

Result<RegistrationCache::Use> RegistrationCache::acquire(std::uint64_t address,
                                                          std::uint64_t bytes) {
  WEFT_CHECK(bytes > 0 && address + bytes > address);
  const std::uint64_t end = address + bytes;
  for (;;) {
    Regions removed;
    Region* coming = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (Region* const found = find(address, end)) {
        ++counters_.hits;
        ++found->users;
        recent_.splice(recent_.begin(), recent_, found->self);
        return Use{found->handle, found};
      }
      ++counters_.misses;
      if (make_room(bytes, removed)) {
        coming = &coming_.emplace_front();
        coming->begin = address;
        coming->end = end;
        coming->users = 1;
        coming->self = coming_.begin();
        counters_.bytes += bytes;
        ++counters_.regions;
      }
    }
    remove(removed);
    if (coming == nullptr) {
      return Error{ErrorCode::exhausted, "no room for another registered region: all are in use"};
    }
    const auto handle = registrar_.enter(address, bytes);
    std::unique_lock lock(mutex_);
    if (handle && !coming->is_stale) {
      coming->handle = *handle;
      coming->place = by_address_.emplace(address, coming);
      longest_ = std::max(longest_, bytes);
      recent_.splice(recent_.begin(), coming_, coming->self);
      return Use{*handle, coming};
    }
    // The registrar refused, or the pages changed meanwhile, and it may have seen the old ones.
    counters_.bytes -= bytes;
    --counters_.regions;
    coming_.erase(coming->self);
    lock.unlock();
    if (!handle) return handle.error();
    registrar_.remove(*handle);
  }
}

void RegistrationCache::release(const Use& use) {
  Regions removed;
  {
    const std::lock_guard lock(mutex_);
    Region& region = *use.region;
    WEFT_CHECK(region.users > 0);
    if (--region.users > 0 || !region.is_stale) return;
    counters_.bytes -= region.end - region.begin;
    --counters_.regions;
    removed.splice(removed.end(), orphans_, region.self);
  }
  remove(removed);
}

void RegistrationCache::invalidate(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  Regions removed;
  {
    const std::lock_guard lock(mutex_);
    for (Region& region : coming_) {
      if (region.begin < end && address < region.end) region.is_stale = true;
    }
    const std::uint64_t first = address > longest_ ? address - longest_ : 0;
    for (auto it = by_address_.lower_bound(first); it != by_address_.end() && it->first < end;) {
      Region& region = *(it++)->second;
      if (region.end <= address) continue;
      ++counters_.invalidations;
      if (region.users == 0) {
        take_out(region, removed);
        continue;
      }
      region.is_stale = true;
      by_address_.erase(region.place);
      ++generation_;
      orphans_.splice(orphans_.end(), recent_, region.self);
    }
  }
  remove(removed);
}

RegistrationCache::Counters RegistrationCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace weft::fabric

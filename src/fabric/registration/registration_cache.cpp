// SPDX-License-Identifier: Apache-2.0
#include "fabric/registration/registration_cache.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace weft::fabric {
namespace {

// Region::state: whether it may be found, the strongest mode that it answers (two bits), its users,
// and a count of the slot's regions.
constexpr std::uint64_t findable = 1;
constexpr int strength_shift = 1;
constexpr std::uint64_t strength_bits = std::uint64_t{3} << strength_shift;
constexpr std::uint64_t one_user = 8;
constexpr int version_shift = 32;
constexpr std::uint64_t one_version = std::uint64_t{1} << version_shift;

constexpr std::uint64_t users_of(std::uint64_t state) {
  return (state & (one_version - 1)) / one_user;
}
constexpr std::uint64_t answering(MemoryMode mode) {
  return std::uint64_t{strength(mode)} << strength_shift;
}
constexpr std::uint64_t version_of(std::uint64_t state) {
  return state >> version_shift;
}

// Regions that begin before an address and do not reach it, looked at without the lock.
constexpr std::size_t most_overlaps = 4;
constexpr int most_hint_bits = 20;

}  // namespace

/// A slot, one cache line. `state` changes from findable only with the lock held; the other fields
/// change only while it is not findable, and nobody reads `handle` or `mode` before counting as a
/// user.
struct alignas(64) RegistrationCache::Region {
  std::atomic<std::uint64_t> state = 0;
  std::atomic<std::uint64_t> begin = 0, end = 0;
  std::atomic<std::uint64_t> last_use = 0;
  std::uint64_t handle = 0;
  MemoryMode mode = MemoryMode::pinned;
  bool is_stale = false;  // changed while it was being registered

  std::uint64_t bytes() const { return end.load() - begin.load(); }
  /// Counts a user of a region that answers the request. The exchange fails when another region
  /// has come into the slot since `state` was read.
  bool pin(const Request& request) {
    std::uint64_t seen = state.load(std::memory_order_acquire);
    do {
      if ((seen & findable) == 0) return false;
      if ((seen & strength_bits) < answering(request.mode)) return false;
      if (begin.load(std::memory_order_acquire) > request.begin) return false;
      if (end.load(std::memory_order_acquire) < request.end) return false;
    } while (!state.compare_exchange_weak(seen, seen + one_user, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    return true;
  }
};

RegistrationCache::RegistrationCache(Registrar& registrar, const RegistrationLimits& limits)
    : registrar_(registrar),
      limits_(limits),
      // Four per region: few pages share one.
      hint_bits_(std::min(static_cast<int>(std::bit_width(limits.regions)) + 1, most_hint_bits)),
      hints_(std::make_unique<std::atomic<Region*>[]>(std::size_t{1} << hint_bits_)),
      begins_(std::make_unique<std::atomic<std::uint64_t>[]>(limits.regions)),
      indexed_(std::make_unique<std::atomic<Region*>[]>(limits.regions)) {}

RegistrationCache::~RegistrationCache() {
  WEFT_CHECK(orphans_ == 0 && coming_.empty());
  for (std::size_t i = 0; i < count_; ++i) {
    const Region& region = *indexed_[i];
    WEFT_CHECK(users_of(region.state) == 0, "a registered region is in use at the end");
    registrar_.remove(region.handle);
  }
}

std::atomic<RegistrationCache::Region*>& RegistrationCache::hint_of(std::uint64_t address) {
  constexpr int page_bits = 12;
  return hints_[(address >> page_bits) * 0x9e37'79b9'7f4a'7c15 >> (64 - hint_bits_)];
}

/// The number of regions that begin at or before `address`.
std::size_t RegistrationCache::above(std::uint64_t address) const {
  const std::atomic<std::uint64_t>* at = begins_.get();
  std::size_t left = count_.load(std::memory_order_acquire);
  if (left == 0) return 0;
  while (left > 1) {
    const std::size_t half = left / 2;
    at = at[half - 1].load(std::memory_order_relaxed) <= address ? at + half : at;
    left -= half;
  }
  const bool is_before = at->load(std::memory_order_relaxed) <= address;
  return static_cast<std::size_t>(at - begins_.get()) + (is_before ? 1 : 0);
}

RegistrationCache::Region* RegistrationCache::pin_proposed(const Request& request) {
  auto& hint = hint_of(request.begin);
  Region* const hinted = hint.load(std::memory_order_acquire);
  if (hinted != nullptr && hinted->pin(request)) return hinted;
  const std::size_t from = above(request.begin);
  for (std::size_t i = from; i > 0 && from - i < most_overlaps; --i) {
    Region* const region = indexed_[i - 1].load(std::memory_order_acquire);
    if (region == nullptr || !region->pin(request)) continue;
    hint.store(region, std::memory_order_release);
    return region;
  }
  return nullptr;
}

RegistrationCache::Region* RegistrationCache::pin_indexed(const Request& request) {
  for (std::size_t i = above(request.begin); i > 0; --i) {
    Region* const region = indexed_[i - 1];
    if (region->pin(request)) return region;
    if (request.begin - region->begin >= longest_) return nullptr;  // none before reaches so far
  }
  return nullptr;
}

RegistrationCache::Use RegistrationCache::use(Region& region) {
  region.last_use.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  return {region.handle, region.mode, &region};
}

RegistrationCache::Region& RegistrationCache::begin_entering(const Request& request) {
  if (vacant_.empty()) vacant_.push_back(&slots_.emplace_back());
  Region& region = *vacant_.back();
  vacant_.pop_back();
  region.state = (version_of(region.state) + 1) << version_shift;
  region.begin = request.begin;
  region.end = request.end;
  region.is_stale = false;
  counters_.bytes += request.end - request.begin;
  ++counters_.regions;
  return *coming_.emplace_back(&region);
}

void RegistrationCache::vacate(Region& region) {
  counters_.bytes -= region.bytes();
  --counters_.regions;
  vacant_.push_back(&region);
}

void RegistrationCache::leave(Region& region, Leaving& leaving) {
  leaving.handles.push_back(region.handle);
  leaving.bytes += region.bytes();
  vacate(region);
}

void RegistrationCache::announce(const Leaving& leaving) {
  leaving_bytes_ += leaving.bytes;
  leaving_regions_ += leaving.handles.size();
}

/// Removes announced regions; only then may others use their room.
void RegistrationCache::remove(const Leaving& leaving) {
  if (leaving.handles.empty()) return;
  for (const std::uint64_t handle : leaving.handles) registrar_.remove(handle);
  {
    const std::lock_guard lock(mutex_);
    leaving_bytes_ -= leaving.bytes;
    leaving_regions_ -= leaving.handles.size();
  }
  removed_.notify_all();
}

/// Whether nothing need be evicted once other threads have removed their regions.
bool RegistrationCache::is_room_coming(std::uint64_t bytes) const {
  return leaving_regions_ > 0 && bytes <= limits_.bytes &&
         counters_.bytes <= limits_.bytes - bytes && counters_.regions < limits_.regions;
}

/// For others to find, with one user.
void RegistrationCache::publish(Region& region, const Registered& registered, MemoryMode asked) {
  WEFT_CHECK(asked != MemoryMode::pinned || registered.mode == MemoryMode::pinned,
             "what was to be pinned is not");
  region.handle = registered.handle;
  region.mode = registered.mode;
  ++counters_.entered[static_cast<std::size_t>(registered.mode)];
  region.last_use = clock_.fetch_add(1, std::memory_order_relaxed) + 1;
  ++entered_;
  longest_ = std::max(longest_, region.bytes());
  const std::size_t place = above(region.begin);
  for (std::size_t i = count_; i > place; --i) {
    begins_[i].store(begins_[i - 1].load(std::memory_order_relaxed), std::memory_order_relaxed);
    indexed_[i].store(indexed_[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
  }
  begins_[place].store(region.begin, std::memory_order_relaxed);
  indexed_[place].store(&region, std::memory_order_release);
  count_.store(count_ + 1, std::memory_order_release);
  const std::uint64_t answers = std::max(answering(asked), answering(registered.mode));
  region.state.store(region.state + answers + one_user + findable, std::memory_order_release);
  enter_age(region);
}

/// From the index. Its state says already that it must not be found.
void RegistrationCache::take_out(const Region& region) {
  std::size_t i = above(region.begin) - 1;
  while (indexed_[i] != &region) --i;
  const std::size_t last = count_ - 1;
  for (; i < last; ++i) {
    begins_[i].store(begins_[i + 1].load(std::memory_order_relaxed), std::memory_order_relaxed);
    indexed_[i].store(indexed_[i + 1].load(std::memory_order_relaxed), std::memory_order_release);
  }
  count_.store(last, std::memory_order_release);
}

void RegistrationCache::enter_age(Region& region) {
  if (ages_.size() > 2 * count_ + 64) {
    // Mostly outdated.
    ages_ = {};
    for (std::size_t i = 0; i < count_; ++i) {
      Region* const other = indexed_[i];
      ages_.push({other->last_use, version_of(other->state), other});
    }
    return;
  }
  ages_.push({region.last_use, version_of(region.state), &region});
}

/// Takes out the least recently used regions until there is room. An entry of `ages_` may be older
/// than its region, as hits do not come here: it is entered anew then.
bool RegistrationCache::make_room(std::uint64_t bytes, Leaving& leaving) {
  const auto fits_beside = [&](std::uint64_t more_bytes, std::size_t more_regions) {
    return bytes <= limits_.bytes && counters_.bytes + more_bytes <= limits_.bytes - bytes &&
           counters_.regions + more_regions < limits_.regions;
  };
  std::vector<Age> used;
  // Room that other threads are making is waited for afterwards, not made twice.
  while (!fits_beside(0, 0) && !ages_.empty()) {
    Age age = ages_.top();
    ages_.pop();
    std::uint64_t state = age.region->state;
    if (version_of(state) != age.version || (state & findable) == 0) continue;
    const std::uint64_t last_use = age.region->last_use;
    if (last_use != age.last_use) {
      age.last_use = last_use;
      ages_.push(age);
      continue;
    }
    if (users_of(state) > 0 ||
        !age.region->state.compare_exchange_strong(state, state - findable)) {
      used.push_back(age);
      continue;
    }
    ++counters_.evictions;
    take_out(*age.region);
    leave(*age.region, leaving);
  }
  for (const Age& age : used) ages_.push(age);
  return fits_beside(leaving_bytes_, leaving_regions_);
}

Result<RegistrationCache::Use> RegistrationCache::acquire(std::uint64_t address,
                                                          std::uint64_t bytes, MemoryMode mode) {
  WEFT_CHECK(bytes > 0 && address + bytes > address);
  const Request request{address, address + bytes, mode};
  if (Region* const found = pin_proposed(request)) return use(*found);
  for (;;) {
    Leaving leaving;
    Region* coming = nullptr;
    bool more_leave = false;
    {
      std::unique_lock lock(mutex_);
      for (;;) {
        if (Region* const found = pin_indexed(request)) return use(*found);
        // Its own evictions are removed before it registers, those of others are waited for.
        const bool has_room = leaving_regions_ == 0 || !is_room_coming(bytes);
        if (has_room && make_room(bytes, leaving)) {
          coming = &begin_entering(request);
        } else if (leaving.handles.empty() && leaving_regions_ > 0) {
          removed_.wait(lock);
          continue;
        }
        break;
      }
      ++counters_.misses;
      more_leave = leaving_regions_ > 0;
      announce(leaving);
    }
    remove(leaving);
    if (coming == nullptr && more_leave) continue;
    if (coming == nullptr) {
      return Error{ErrorCode::exhausted, "no room for another registered region: all are in use"};
    }
    bool again = false;
    auto entered = enter(*coming, request, again);
    if (!again) return entered;
  }
}

/// Registers. `again`: the pages changed meanwhile, and the registrar may have seen the old ones.
Result<RegistrationCache::Use> RegistrationCache::enter(Region& coming, const Request& request,
                                                        bool& again) {
  const auto registered =
      registrar_.enter(request.begin, request.end - request.begin, request.mode);
  Leaving leaving;
  {
    const std::lock_guard lock(mutex_);
    coming_.erase(std::find(coming_.begin(), coming_.end(), &coming));
    again = registered && coming.is_stale;
    if (registered && !again) {
      publish(coming, *registered, request.mode);
      return Use{registered->handle, registered->mode, &coming};
    }
    if (registered) {
      coming.handle = registered->handle;
      leave(coming, leaving);
      announce(leaving);
    } else {
      vacate(coming);
    }
  }
  remove(leaving);
  if (!registered) return registered.error();
  return Use{};
}

void RegistrationCache::release(const Use& use) {
  Region& region = *use.region;
  const std::uint64_t before = region.state.fetch_sub(one_user, std::memory_order_acq_rel);
  WEFT_CHECK(users_of(before) > 0);
  if (users_of(before) > 1 || (before & findable) != 0) return;
  Leaving leaving;
  {
    const std::lock_guard lock(mutex_);
    --orphans_;
    leave(region, leaving);
    announce(leaving);
  }
  remove(leaving);
}

void RegistrationCache::invalidate(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t end = address + bytes;
  Leaving leaving;
  {
    const std::lock_guard lock(mutex_);
    for (Region* const region : coming_) {
      if (region->begin < end && address < region->end) region->is_stale = true;
    }
    // From the last one that begins before the end, back to where none reaches the address.
    for (std::size_t i = above(end - 1); i > 0; --i) {
      Region& region = *indexed_[i - 1];
      if (address > region.begin && address - region.begin >= longest_) break;
      if (region.end <= address) continue;
      ++counters_.invalidations;
      const std::uint64_t before = region.state.fetch_sub(findable);
      take_out(region);
      if (users_of(before) > 0) {
        ++orphans_;
        continue;
      }
      leave(region, leaving);
    }
    announce(leaving);
  }
  remove(leaving);
}

RegistrationCache::Counters RegistrationCache::counters() const {
  const std::lock_guard lock(mutex_);
  Counters counters = counters_;
  counters.hits = clock_ - entered_;
  return counters;
}

}  // namespace weft::fabric

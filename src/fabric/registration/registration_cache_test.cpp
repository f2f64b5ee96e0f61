// SPDX-License-Identifier: Apache-2.0
#include "fabric/registration/registration_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/rng.hpp"

namespace weft::fabric {
namespace {

MemoryMode random_mode(Rng& rng) {
  return static_cast<MemoryMode>(rng.below(memory_modes));
}

/// Returns whether a region that was asked for in one mode, and is in another, may answer a
/// request.
bool may_answer(MemoryMode asked, MemoryMode is, MemoryMode wanted) {
  switch (wanted) {
    case MemoryMode::pinned:
      return is == MemoryMode::pinned;
    case MemoryMode::paged:
      return true;
    case MemoryMode::prefetched:
      return is != MemoryMode::paged || asked == MemoryMode::prefetched;
  }
  return false;
}

/// A network and its memory: each page has a version, which `unmap` raises as a monitor would see.
class FakeNetwork final : public Registrar {
 public:
  static constexpr std::uint64_t pages = 64;
  struct Entry {
    std::uint64_t begin = 0, end = 0;
    MemoryMode asked{}, is{};
    std::array<std::uint64_t, pages> versions{};
  };

  Result<Registered> enter(std::uint64_t address, std::uint64_t bytes, MemoryMode mode) override {
    const std::lock_guard lock(mutex_);
    Entry entry{address, address + bytes, mode, possible(address, mode), {}};
    for (std::uint64_t p = 0; p < pages; ++p) entry.versions[p] = versions_[p];
    entries_[++next_] = entry;
    return Registered{next_, entry.is};
  }
  /// Some pages it cannot prefetch, and some it cannot page.
  static MemoryMode possible(std::uint64_t address, MemoryMode mode) {
    if (mode == MemoryMode::prefetched && address % 3 == 0) return MemoryMode::paged;
    if (mode != MemoryMode::pinned && address % 5 == 1) return MemoryMode::pinned;
    return mode;
  }
  void remove(std::uint64_t handle) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(entries_.erase(handle), 1u);
  }
  void unmap(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    for (std::uint64_t p = begin; p < end; ++p) ++versions_[p];
  }
  /// Returns whether a region's mode is the one that the cache reports, and answers the request.
  bool is_in_mode(const RegistrationCache::Use& use, MemoryMode wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(use.handle);
    return found != entries_.end() && found->second.is == use.mode &&
           may_answer(found->second.asked, found->second.is, wanted);
  }
  /// Returns whether a region holds the requested bytes, in pages as they are now.
  bool is_right(std::uint64_t handle, std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(handle);
    if (found == entries_.end() || found->second.begin > begin || found->second.end < end)
      return false;
    for (std::uint64_t p = begin; p < end; ++p) {
      if (found->second.versions[p] != versions_[p]) return false;
    }
    return true;
  }
  /// Returns whether a region holds that page as it was after so many changes, or later.
  bool is_as_new(std::uint64_t handle, std::uint64_t page, std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(handle);
    return found != entries_.end() && found->second.begin <= page && found->second.end > page &&
           found->second.versions[page] >= version;
  }
  std::uint64_t version(std::uint64_t page) {
    const std::lock_guard lock(mutex_);
    return versions_[page];
  }
  bool holds(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    return entries_.count(handle) > 0;
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  std::mutex mutex_;
  std::array<std::uint64_t, pages> versions_{};
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t next_ = 0;
};

TEST(registration_cache, hits_what_a_region_contains_and_registers_the_rest) {
  FakeNetwork network;
  RegistrationCache cache(network, {});
  const auto a = cache.acquire(10, 20);
  const auto b = cache.acquire(12, 5);
  const auto c = cache.acquire(25, 10);
  EXPECT_EQ(a->handle, b->handle);
  EXPECT_NE(a->handle, c->handle);
  for (const auto& use : {a, b, c}) cache.release(*use);
  EXPECT_EQ(cache.counters().hits, 1u);
}

TEST(registration_cache, answers_a_request_by_a_region_whose_mode_suffices_and_by_no_other) {
  using enum MemoryMode;
  // Pages that the network can register in all modes.
  constexpr std::uint64_t at = 10;
  for (const MemoryMode first : {pinned, paged, prefetched}) {
    for (const MemoryMode second : {pinned, paged, prefetched}) {
      const bool suffices =
          first == pinned || first == second || (first == prefetched && second == paged);
      FakeNetwork network;
      RegistrationCache cache(network, {});
      const auto a = cache.acquire(at, 4, first);
      const auto b = cache.acquire(at, 4, second);
      EXPECT_EQ(a->handle == b->handle, suffices) << to_text(first) << ", " << to_text(second);
      EXPECT_EQ(b->mode, suffices ? first : second);
      // By the index as well, where no hint helps.
      cache.release(*cache.acquire(at + 1, 1, second));
      EXPECT_EQ(cache.counters().misses, suffices ? 1u : 2u);
      cache.release(*a);
      cache.release(*b);
    }
  }
}

TEST(registration_cache, says_in_which_mode_a_region_is_and_asks_once_for_what_cannot_be) {
  FakeNetwork network;
  RegistrationCache cache(network, {});
  for (int i = 0; i < 3; ++i) {
    const auto unfetched = cache.acquire(3, 2, MemoryMode::prefetched);
    EXPECT_EQ(unfetched->mode, MemoryMode::paged);
    const auto unpaged = cache.acquire(11, 2, MemoryMode::paged);
    EXPECT_EQ(unpaged->mode, MemoryMode::pinned);
    cache.release(*unfetched);
    cache.release(*unpaged);
  }
  EXPECT_EQ(cache.counters().misses, 2u);
  cache.release(*cache.acquire(3, 2));
  cache.release(*cache.acquire(11, 2));
  EXPECT_EQ(cache.counters().misses, 3u) << "pages that are to be pinned, and are only paged";
  EXPECT_THAT(cache.counters().entered, testing::ElementsAre(2u, 1u, 0u));
}

TEST(registration_cache, evicts_the_least_recently_used_and_never_what_is_in_use) {
  FakeNetwork network;
  RegistrationCache cache(network, {.bytes = 100, .regions = 2});
  const auto a = cache.acquire(0, 4);
  const auto b = cache.acquire(10, 4);
  EXPECT_EQ(cache.acquire(20, 4).error().code, ErrorCode::exhausted);
  cache.release(*b);
  const auto c = cache.acquire(20, 4);
  ASSERT_TRUE(c);
  EXPECT_TRUE(network.holds(a->handle));
  EXPECT_FALSE(network.holds(b->handle));
  cache.release(*a);
  cache.release(*c);
}

TEST(registration_cache, keeps_an_invalidated_region_only_for_those_who_use_it) {
  FakeNetwork network;
  RegistrationCache cache(network, {});
  const auto a = cache.acquire(0, 8);
  cache.invalidate(7, 1);
  const auto b = cache.acquire(0, 8);
  EXPECT_NE(a->handle, b->handle);
  EXPECT_TRUE(network.holds(a->handle));
  cache.release(*a);
  EXPECT_FALSE(network.holds(a->handle));
  cache.release(*b);
}

/// Random operations; every answer must be a region as the memory is now.
void use_at_random(FakeNetwork& network, RegistrationCache& cache, std::uint64_t seed, int steps) {
  Rng rng(seed);
  std::vector<RegistrationCache::Use> used;
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t begin = rng.below(60), bytes = 1 + rng.below(4);
    const auto kind = rng.below(10);
    if (kind < 6) {
      const MemoryMode mode = random_mode(rng);
      const auto use = cache.acquire(begin, bytes, mode);
      if (use) {
        EXPECT_TRUE(network.is_in_mode(*use, mode)) << "seed " << seed;
        EXPECT_TRUE(network.is_right(use->handle, begin, begin + bytes)) << "seed " << seed;
        used.push_back(*use);
      }
    } else if (kind < 9 && !used.empty()) {
      const std::size_t which = rng.below(used.size());
      EXPECT_TRUE(network.holds(used[which].handle)) << "seed " << seed;
      cache.release(used[which]);
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      // As the kernel does: no lookup finds the region any more when the pages change.
      cache.invalidate(begin, bytes);
      network.unmap(begin, begin + bytes);
    }
    EXPECT_LE(cache.counters().regions, 24u);
    EXPECT_LE(cache.counters().bytes, 64u);
  }
  for (const auto& use : used) cache.release(use);
}

TEST(registration_cache, never_answers_with_a_stale_region_whatever_is_done) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    FakeNetwork network;
    {
      RegistrationCache cache(network, {.bytes = 64, .regions = 24});
      use_at_random(network, cache, seed, 300);
    }
    EXPECT_EQ(network.size(), 0u) << "seed " << seed;
  }
}

/// A model of the cache, in the order of use: the latest at the end.
class LeastRecentlyUsed {
 public:
  struct Region {
    std::uint64_t handle, begin, end;
    MemoryMode asked, is;
  };
  /// Removes the regions that a new one of that length would evict.
  void make_room(std::uint64_t bytes, std::uint64_t most_bytes, std::size_t most_regions) {
    while (regions_.size() == most_regions || bytes_ + bytes > most_bytes) {
      bytes_ -= regions_.front().end - regions_.front().begin;
      regions_.erase(regions_.begin());
    }
  }
  bool use(std::uint64_t handle) {
    const auto found = std::find_if(regions_.begin(), regions_.end(),
                                    [&](const Region& region) { return region.handle == handle; });
    if (found == regions_.end()) return false;
    std::rotate(found, found + 1, regions_.end());
    return true;
  }
  bool contains(std::uint64_t begin, std::uint64_t end, MemoryMode mode) const {
    return std::any_of(regions_.begin(), regions_.end(), [&](const Region& region) {
      return region.begin <= begin && region.end >= end &&
             may_answer(region.asked, region.is, mode);
    });
  }
  void add(const Region& region) {
    regions_.push_back(region);
    bytes_ += region.end - region.begin;
  }
  const std::vector<Region>& regions() const { return regions_; }

 private:
  std::vector<Region> regions_;
  std::uint64_t bytes_ = 0;
};

TEST(registration_cache, evicts_in_the_exact_order_of_use) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    FakeNetwork network;
    RegistrationCache cache(network, {.bytes = 40, .regions = 12});
    LeastRecentlyUsed model;
    Rng rng(seed);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t begin = rng.below(60), bytes = 1 + rng.below(4);
      const MemoryMode mode = random_mode(rng);
      const bool hits = model.contains(begin, begin + bytes, mode);
      const auto use = cache.acquire(begin, bytes, mode);
      ASSERT_TRUE(use);
      ASSERT_TRUE(network.is_in_mode(*use, mode)) << "seed " << seed;
      if (!hits) {
        model.make_room(bytes, 40, 12);
        model.add({use->handle, begin, begin + bytes, mode, use->mode});
      } else {
        ASSERT_TRUE(model.use(use->handle)) << "seed " << seed;
      }
      cache.release(*use);
      ASSERT_EQ(network.size(), model.regions().size()) << "seed " << seed;
      for (const auto& region : model.regions()) {
        ASSERT_TRUE(network.holds(region.handle)) << "seed " << seed;
      }
    }
  }
}

TEST(registration_cache, finds_a_long_region_behind_many_that_begin_later) {
  FakeNetwork network;
  RegistrationCache cache(network, {});
  cache.release(*cache.acquire(0, 60));
  const auto inner = cache.acquire(0, 64);  // beyond the first
  cache.invalidate(63, 1);
  cache.release(*inner);
  for (std::uint64_t at = 1; at < 50; ++at) cache.release(*cache.acquire(at, 1));
  EXPECT_EQ(cache.counters().regions, 1u);
  EXPECT_EQ(cache.counters().hits, 49u);
}

TEST(registration_cache, with_regions_that_overlap_finds_the_one_that_reaches_far_enough) {
  FakeNetwork network;
  RegistrationCache cache(network, {});
  for (std::uint64_t i = 1; i <= 8; ++i) cache.release(*cache.acquire(i, 40));
  const auto longest = cache.acquire(0, 62);
  cache.release(*longest);
  const auto found = cache.acquire(9, 50);
  EXPECT_EQ(found->handle, longest->handle);
  EXPECT_EQ(cache.counters().hits, 1u);
  cache.release(*found);
}

/// One thread of several. A region that it acquires is as new as the last change of the page that
/// was complete before.
void use_in_a_thread(FakeNetwork& network, RegistrationCache& cache,
                     std::array<std::atomic<std::uint64_t>, FakeNetwork::pages>& complete,
                     std::uint64_t seed) {
  Rng rng(seed);
  for (int i = 0; i < 3'000; ++i) {
    const std::uint64_t begin = rng.below(60), bytes = 1 + rng.below(4);
    if (rng.below(8) == 0) {
      network.unmap(begin, begin + 1);
      const std::uint64_t version = network.version(begin);
      cache.invalidate(begin, 1);
      auto known = complete[begin].load();
      while (known < version && !complete[begin].compare_exchange_weak(known, version)) {
      }
    }
    const std::uint64_t page = begin + rng.below(bytes);
    const std::uint64_t version = complete[page];
    const MemoryMode mode = random_mode(rng);
    const auto use = cache.acquire(begin, bytes, mode);
    if (!use) continue;
    EXPECT_TRUE(network.is_in_mode(*use, mode)) << "seed " << seed;
    EXPECT_TRUE(network.is_as_new(use->handle, page, version)) << "seed " << seed;
    const auto counters = cache.counters();
    EXPECT_LE(counters.regions, 24u);
    EXPECT_LE(counters.bytes, 64u);
    cache.release(*use);
  }
}

/// Its memory changes while it is being registered, at first.
class ChangingNetwork final : public Registrar {
 public:
  Result<Registered> enter(std::uint64_t address, std::uint64_t, MemoryMode mode) override {
    ++entered;
    modes.push_back(mode);
    if (entered < 3) cache->invalidate(address, 1);
    return Registered{entered, mode};
  }
  void remove(std::uint64_t handle) override { removed.push_back(handle); }

  RegistrationCache* cache = nullptr;
  std::uint64_t entered = 0;
  std::vector<std::uint64_t> removed;
  std::vector<MemoryMode> modes;
};

TEST(registration_cache, registers_again_what_changed_while_it_was_being_registered) {
  ChangingNetwork network;
  RegistrationCache cache(network, {});
  network.cache = &cache;
  const auto use = cache.acquire(10, 4, MemoryMode::paged);
  EXPECT_EQ(use->handle, 3u);
  EXPECT_THAT(network.modes, testing::Each(MemoryMode::paged));
  EXPECT_THAT(network.removed, testing::ElementsAre(1u, 2u));
  EXPECT_EQ(cache.counters().regions, 1u);
  cache.release(*use);
}

TEST(registration_cache, of_several_threads_never_answers_with_a_stale_region) {
  FakeNetwork network;
  {
    RegistrationCache cache(network, {.bytes = 64, .regions = 24});
    std::array<std::atomic<std::uint64_t>, FakeNetwork::pages> complete{};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] { use_in_a_thread(network, cache, complete, t); });
    }
    for (auto& thread : threads) thread.join();
    const auto counters = cache.counters();
    EXPECT_GT(counters.hits, 0u);
    EXPECT_GT(counters.evictions, 0u);
    EXPECT_GT(counters.invalidations, 0u);
  }
  EXPECT_EQ(network.size(), 0u);
}

TEST(registration_cache, of_several_threads_registers_and_removes_each_region_once) {
  FakeNetwork network;
  {
    RegistrationCache cache(network, {.bytes = 256, .regions = 64});
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        Rng rng(t);
        for (int i = 0; i < 3'000; ++i) {
          const MemoryMode mode = random_mode(rng);
          const auto use = cache.acquire(rng.below(60), 1 + rng.below(4), mode);
          if (rng.below(8) == 0) cache.invalidate(rng.below(60), 2);
          if (!use) continue;
          EXPECT_TRUE(network.is_in_mode(*use, mode));
          cache.release(*use);
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(network.size(), 0u);
}

/// Counts the regions that are really registered; removing takes a while.
class SlowNetwork final : public Registrar {
 public:
  std::atomic<std::uint64_t> regions = 0, most = 0;

  Result<Registered> enter(std::uint64_t, std::uint64_t, MemoryMode mode) override {
    const std::uint64_t now = ++regions;
    std::uint64_t before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    return Registered{++handles_, mode};
  }
  void remove(std::uint64_t) override {
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    --regions;
  }

 private:
  std::atomic<std::uint64_t> handles_ = 0;
};

TEST(registration_cache, of_several_threads_never_has_more_registered_than_its_limit) {
  constexpr std::uint64_t limit = 8, page = 4'096;
  SlowNetwork network;
  {
    RegistrationCache cache(network, {limit * page, limit});
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Rng rng(t);
        for (int i = 0; i < 200; ++i) {
          const std::uint64_t address = page * (1 + rng.below(64));
          const auto used = cache.acquire(address, page);
          ASSERT_TRUE(used.ok()) << "four are in use at most, and eight have room";
          if (rng.below(4) == 0) cache.invalidate(address, page);
          cache.release(*used);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(network.most, limit);
    EXPECT_EQ(network.regions, cache.counters().regions);
  }
  EXPECT_EQ(network.regions, 0u);
}

}  // namespace
}  // namespace weft::fabric

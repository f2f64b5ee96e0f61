// SPDX-License-Identifier: Apache-2.0
#include "fabric/registration/registration_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/rng.hpp"

namespace weft::fabric {
namespace {

/// A network and its memory: each page has a version, which `unmap` raises as a monitor would see.
class FakeNetwork final : public Registrar {
 public:
  static constexpr std::uint64_t pages = 64;
  struct Entry {
    std::uint64_t begin = 0, end = 0;
    std::array<std::uint64_t, pages> versions{};
  };

  Result<std::uint64_t> enter(std::uint64_t address, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    Entry entry{address, address + bytes, {}};
    for (std::uint64_t p = 0; p < pages; ++p) entry.versions[p] = versions_[p];
    entries_[++next_] = entry;
    return next_;
  }
  void remove(std::uint64_t handle) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(entries_.erase(handle), 1u);
  }
  void unmap(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    for (std::uint64_t p = begin; p < end; ++p) ++versions_[p];
  }
  /// Whether a region holds what was asked for, in pages as they are now.
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
      const auto use = cache.acquire(begin, bytes);
      if (use) {
        EXPECT_TRUE(network.is_right(use->handle, begin, begin + bytes)) << "seed " << seed;
        used.push_back(*use);
      }
    } else if (kind < 9 && !used.empty()) {
      const std::size_t which = rng.below(used.size());
      EXPECT_TRUE(network.holds(used[which].handle)) << "seed " << seed;
      cache.release(used[which]);
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      // As the kernel does: nobody finds the region any more when the pages change.
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

TEST(registration_cache, of_several_threads_registers_and_removes_each_region_once) {
  FakeNetwork network;
  {
    RegistrationCache cache(network, {.bytes = 256, .regions = 64});
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        Rng rng(t);
        for (int i = 0; i < 3'000; ++i) {
          const auto use = cache.acquire(rng.below(60), 1 + rng.below(4));
          if (rng.below(8) == 0) cache.invalidate(rng.below(60), 2);
          if (!use) continue;
          EXPECT_TRUE(network.holds(use->handle));
          cache.release(*use);
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(network.size(), 0u);
}

}  // namespace
}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
#include "fabric/registration/memory_monitor.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace weft::fabric {
namespace {

constexpr std::size_t page = 4096;

class memory_monitor : public testing::Test {
 protected:
  void SetUp() override {
    auto made = make_userfault_monitor();
    if (!made) GTEST_SKIP() << made.error().message;
    monitor_ = std::move(made).value();
  }
  static std::byte* map(std::size_t pages) {
    void* memory =
        ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    std::memset(memory, 1, pages * page);
    return static_cast<std::byte*>(memory);
  }
  static std::uint64_t address(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }
  /// Returns whether a change of that page has been noticed.
  bool noticed(const std::byte* at) {
    bool found = false;
    std::array<MemoryChange, 4> changes;
    while (const std::size_t n = monitor_->take(changes)) {
      for (std::size_t i = 0; i < n; ++i) {
        const bool holds = changes[i].address <= address(at) &&
                           address(at) - changes[i].address < changes[i].bytes;
        found = found || holds;
      }
    }
    return found;
  }

  std::unique_ptr<MemoryMonitor> monitor_;
};

TEST_F(memory_monitor, notices_munmap_before_it_returns) {
  for (int i = 0; i < 100; ++i) {
    std::byte* memory = map(4);
    ASSERT_TRUE(monitor_->watch(address(memory), 4 * page).ok());
    EXPECT_FALSE(monitor_->has_changes());
    ::munmap(memory + page, page);
    EXPECT_TRUE(monitor_->has_changes());
    EXPECT_TRUE(noticed(memory + page));
    ::munmap(memory, 4 * page);
    noticed(memory);
  }
}

TEST_F(memory_monitor, notices_pages_that_are_given_back_and_moved) {
  std::byte* memory = map(8);
  ASSERT_TRUE(monitor_->watch(address(memory), 8 * page).ok());
  ::madvise(memory + 2 * page, page, MADV_DONTNEED);
  EXPECT_TRUE(noticed(memory + 2 * page));
  void* moved = ::mremap(memory + 4 * page, page, 2 * page, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  EXPECT_TRUE(noticed(memory + 4 * page));
}

TEST_F(memory_monitor, says_nothing_of_memory_that_is_only_used) {
  std::byte* memory = map(4);
  ASSERT_TRUE(monitor_->watch(address(memory), 4 * page).ok());
  std::memset(memory, 7, 4 * page);
  EXPECT_FALSE(monitor_->has_changes());
  EXPECT_EQ(memory[page], std::byte{7});
}

TEST_F(memory_monitor, watches_memory_that_is_shared) {
  void* shared = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  const auto* at = static_cast<const std::byte*>(shared);
  if (!monitor_->watch(address(at), page)) GTEST_SKIP() << "not with this kernel";
  ::munmap(shared, page);
  EXPECT_TRUE(noticed(at));
}

TEST_F(memory_monitor, changes_that_nobody_took_for_long_count_as_all_of_them) {
  std::byte* memory = map(2);
  ASSERT_TRUE(monitor_->watch(address(memory), 2 * page).ok());
  for (int i = 0; i < 5000; ++i) ::madvise(memory, page, MADV_DONTNEED);
  EXPECT_TRUE(noticed(memory + page)) << "though only its neighbour changed";
  EXPECT_FALSE(monitor_->has_changes());
}

TEST_F(memory_monitor, threads_that_unmap_at_the_same_time_all_get_on) {
  std::vector<std::thread> threads;
  std::vector<std::byte*> memory;
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 200; ++i) {
      memory.push_back(map(1));
      ASSERT_TRUE(monitor_->watch(address(memory.back()), page).ok());
    }
  }
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      for (std::size_t i = 0; i < 200; ++i) ::munmap(memory[t * 200 + i], page);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::array<MemoryChange, 64> changes;
  std::size_t pages = 0;
  while (const std::size_t n = monitor_->take(changes)) {
    for (std::size_t i = 0; i < n; ++i) pages += changes[i].bytes / page;
  }
  EXPECT_EQ(pages, 800u);
}

}  // namespace
}  // namespace weft::fabric

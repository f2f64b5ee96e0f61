// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/local_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "fabric/libfabric/test_support.hpp"

namespace weft::ofi {
namespace {

constexpr std::size_t bytes = 16 * 4096;

class local_memory : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Endpoint::open(options_for(7), {}, 16);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    endpoint_ = std::move(*opened);
  }
  static std::span<std::byte> map(void* at = nullptr) {
    const int fixed = at == nullptr ? 0 : MAP_FIXED;
    void* memory =
        ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return {static_cast<std::byte*>(memory), bytes};
  }

  std::unique_ptr<Endpoint> endpoint_;
};

TEST_F(local_memory, is_registered_once_as_long_as_its_pages_stay) {
  auto monitor = fabric::make_userfault_monitor();
  if (!monitor) GTEST_SKIP() << monitor.error().message;
  LocalMemory kept(*endpoint_, std::move(*monitor));
  const std::span<std::byte> memory = map();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(kept.acquire(memory.subspan(static_cast<std::size_t>(i) * 100, 5000)).ok());
  }
  ASSERT_TRUE(kept.acquire(memory).ok());
  ASSERT_TRUE(kept.acquire(memory.subspan(40'000, 1000)).ok());
  EXPECT_EQ(kept.counters().misses, 2u) << "the first two pages, and all of them";
  {
    const auto in_use = kept.acquire(memory);
    ASSERT_TRUE(in_use.ok());
    ::munmap(memory.data(), bytes);
    map(memory.data());
    ASSERT_TRUE(kept.acquire(memory).ok());
    EXPECT_EQ(kept.counters().misses, 3u) << "other pages at the same address";
  }
  EXPECT_EQ(kept.counters().regions, 1u);
  ::munmap(memory.data(), bytes);
}

TEST_F(local_memory, is_registered_for_each_operation_without_a_monitor) {
  LocalMemory each(*endpoint_, nullptr);
  const std::span<std::byte> memory = map();
  for (int i = 0; i < 3; ++i) {
    auto registration = each.acquire(memory);
    ASSERT_TRUE(registration.ok());
    EXPECT_TRUE(*registration);
    registration->reset();
    EXPECT_FALSE(*registration);
  }
  EXPECT_EQ(each.counters().misses, 0u);
  ::munmap(memory.data(), bytes);
}

}  // namespace
}  // namespace weft::ofi

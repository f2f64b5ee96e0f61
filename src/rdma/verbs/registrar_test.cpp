// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/registrar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "rdma/verbs/verbs_for_test.hpp"

namespace weft::rdma {
namespace {

using fabric::MemoryMode;
using fabric::RegistrationCache;
using testing::ElementsAre;

constexpr std::uint64_t address = 0x7f00'0000'0000;
constexpr std::uint64_t bytes = 64 * 4096;
constexpr int access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

class verbs_registrar : public testing::Test {
 protected:
  DomainRegistrar make(bool has_paging = true) {
    return DomainRegistrar({.domain = verbs_.domain(),
                            .access = access_flags,
                            .has_paging = has_paging,
                            .device = "fake0"});
  }
  FakeVerbs verbs_;
};

TEST_F(verbs_registrar, pins_without_the_flag_for_paging_and_without_advice) {
  DomainRegistrar registrar = make();
  const auto made = registrar.enter(address, bytes, MemoryMode::pinned);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->mode, MemoryMode::pinned);
  ASSERT_EQ(verbs_.registered.size(), 1u);
  EXPECT_EQ(verbs_.registered[0].address, address);
  EXPECT_EQ(verbs_.registered[0].bytes, bytes);
  EXPECT_EQ(verbs_.registered[0].access, access_flags);
  EXPECT_TRUE(verbs_.advised.empty());
  registrar.remove(made->handle);
}

TEST_F(verbs_registrar, pages_by_the_flag_for_it_and_without_advice) {
  DomainRegistrar registrar = make();
  const auto made = registrar.enter(address, bytes, MemoryMode::paged);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->mode, MemoryMode::paged);
  ASSERT_EQ(verbs_.registered.size(), 1u);
  EXPECT_EQ(verbs_.registered[0].access, access_flags | IBV_ACCESS_ON_DEMAND);
  EXPECT_TRUE(verbs_.advised.empty());
  registrar.remove(made->handle);
}

TEST_F(verbs_registrar, prefetches_for_writing_the_whole_region_and_waits_for_it) {
  DomainRegistrar registrar = make();
  const auto made = registrar.enter(address, bytes, MemoryMode::prefetched);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->mode, MemoryMode::prefetched);
  ASSERT_EQ(verbs_.registered.size(), 1u);
  EXPECT_EQ(verbs_.registered[0].access, access_flags | IBV_ACCESS_ON_DEMAND);
  ASSERT_EQ(verbs_.advised.size(), 1u);
  const FakeVerbs::Advice& advice = verbs_.advised[0];
  EXPECT_EQ(advice.domain, verbs_.domain());
  EXPECT_EQ(advice.advice, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
  EXPECT_EQ(advice.flags, std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH});
  ASSERT_EQ(advice.ranges.size(), 1u);
  EXPECT_EQ(advice.ranges[0].addr, address);
  EXPECT_EQ(advice.ranges[0].length, bytes);
  EXPECT_EQ(advice.ranges[0].lkey, verbs_.registered[0].key);
  registrar.remove(made->handle);
}

TEST_F(verbs_registrar, prefetches_a_region_longer_than_a_range_can_say_in_several_ranges) {
  DomainRegistrar registrar = make();
  constexpr std::uint64_t long_bytes = (std::uint64_t{5} << 30) + 4096;
  const auto made = registrar.enter(address, long_bytes, MemoryMode::prefetched);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(verbs_.advised.size(), 1u);
  std::uint64_t next = address;
  for (const ibv_sge& range : verbs_.advised[0].ranges) {
    EXPECT_EQ(range.addr, next);
    next += range.length;
  }
  EXPECT_EQ(next, address + long_bytes);
  registrar.remove(made->handle);
}

TEST_F(verbs_registrar, says_paged_where_the_device_refuses_to_prefetch) {
  verbs_.advice_result = EOPNOTSUPP;
  DomainRegistrar registrar = make();
  const auto made = registrar.enter(address, bytes, MemoryMode::prefetched);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->mode, MemoryMode::paged);
  EXPECT_EQ(verbs_.advised.size(), 1u);
  EXPECT_TRUE(verbs_.deregistered.empty()) << "the region is of use without advice";
  registrar.remove(made->handle);
}

TEST_F(verbs_registrar, pins_where_the_device_cannot_page_and_asks_for_no_pages) {
  DomainRegistrar registrar = make(false);
  for (const MemoryMode mode : {MemoryMode::paged, MemoryMode::prefetched}) {
    const auto made = registrar.enter(address, bytes, mode);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->mode, MemoryMode::pinned);
    EXPECT_EQ(verbs_.registered.back().access, access_flags);
    registrar.remove(made->handle);
  }
  EXPECT_TRUE(verbs_.advised.empty());
}

TEST_F(verbs_registrar, names_device_size_and_limit_when_memory_cannot_be_registered) {
  verbs_.registration_error = ENOMEM;
  DomainRegistrar registrar = make();
  const auto made = registrar.enter(address, bytes, MemoryMode::pinned);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::io);
  EXPECT_THAT(made.error().message, testing::HasSubstr("fake0: cannot register 262144 bytes"));
  EXPECT_THAT(made.error().message, testing::HasSubstr("ulimit -l"));
}

TEST_F(verbs_registrar, behind_the_cache_registers_and_deregisters_each_region_once) {
  DomainRegistrar registrar = make();
  {
    RegistrationCache cache(registrar, {});
    const auto prefetched = cache.acquire(address, bytes, MemoryMode::prefetched);
    const auto inside = cache.acquire(address + 4096, 4096, MemoryMode::paged);
    const auto pinned = cache.acquire(address, 4096);
    ASSERT_TRUE(prefetched.ok() && inside.ok() && pinned.ok());
    EXPECT_EQ(inside->handle, prefetched->handle);
    EXPECT_EQ(inside->mode, MemoryMode::prefetched);
    EXPECT_EQ(pinned->mode, MemoryMode::pinned);
    for (const auto& use : {prefetched, inside, pinned}) cache.release(*use);
    cache.invalidate(address, 1);
    EXPECT_EQ(verbs_.deregistered.size(), 2u);
    cache.release(*cache.acquire(address, bytes, MemoryMode::paged));
  }
  EXPECT_EQ(verbs_.registered.size(), 3u);
  EXPECT_THAT(verbs_.deregistered, testing::UnorderedElementsAre(100, 101, 102));
}

TEST_F(verbs_registrar, behind_the_cache_asks_once_for_what_the_device_refuses) {
  verbs_.advice_result = EOPNOTSUPP;
  DomainRegistrar registrar = make();
  {
    RegistrationCache cache(registrar, {});
    for (int i = 0; i < 3; ++i) {
      const auto use = cache.acquire(address, bytes, MemoryMode::prefetched);
      ASSERT_TRUE(use.ok());
      EXPECT_EQ(use->mode, MemoryMode::paged);
      cache.release(*use);
    }
  }
  EXPECT_EQ(verbs_.advised.size(), 1u);
  EXPECT_THAT(verbs_.deregistered, ElementsAre(100));
}

}  // namespace
}  // namespace weft::rdma

// SPDX-License-Identifier: Apache-2.0
// Buffers of a device, from its capabilities to the pages, on the fake libibverbs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "rdma/verbs/device.hpp"
#include "rdma/verbs/verbs_for_test.hpp"

namespace weft::rdma {
namespace {

using fabric::MemoryMode;

class verbs_buffer : public testing::Test {
 protected:
  verbs_buffer() {
    verbs_.general_paging = IBV_ODP_SUPPORT;
    verbs_.connection_paging = IBV_ODP_SUPPORT_READ;
  }
  Result<Device> open() { return Device::open({}); }
  /// A new device's buffer that was asked for in that mode, and is gone again.
  MemoryMode mode_of(MemoryMode asked) {
    const auto device = open();
    EXPECT_TRUE(device.ok());
    const auto buffer = Buffer::create(*device, {.bytes = 5000, .memory = asked});
    EXPECT_TRUE(buffer.ok());
    return buffer->memory();
  }
  FakeVerbs verbs_;
};

TEST_F(verbs_buffer, is_what_was_asked_for_where_the_device_pages_and_prefetches) {
  for (const MemoryMode mode : {MemoryMode::pinned, MemoryMode::paged, MemoryMode::prefetched}) {
    EXPECT_EQ(mode_of(mode), mode);
  }
}

TEST_F(verbs_buffer, is_paged_where_the_device_refuses_to_prefetch) {
  verbs_.advice_result = EINVAL;
  EXPECT_EQ(mode_of(MemoryMode::prefetched), MemoryMode::paged);
}

TEST_F(verbs_buffer, is_pinned_where_the_device_cannot_page_for_reads) {
  verbs_.connection_paging = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE;
  EXPECT_EQ(mode_of(MemoryMode::prefetched), MemoryMode::pinned);
  verbs_.connection_paging = IBV_ODP_SUPPORT_READ;
  verbs_.general_paging = 0;
  EXPECT_EQ(mode_of(MemoryMode::paged), MemoryMode::pinned);
  EXPECT_TRUE(verbs_.advised.empty());
}

TEST_F(verbs_buffer, consists_of_whole_pages_and_knows_its_region) {
  const auto device = open();
  ASSERT_TRUE(device.ok());
  const auto buffer = Buffer::create(*device, {.bytes = 5000});
  ASSERT_TRUE(buffer.ok());
  ASSERT_EQ(verbs_.registered.size(), 1u);
  EXPECT_EQ(verbs_.registered[0].address, buffer->address());
  EXPECT_EQ(verbs_.registered[0].bytes, 8192u);
  EXPECT_EQ(verbs_.registered[0].key, buffer->region().lkey);
}

TEST_F(verbs_buffer, lets_the_other_side_read_only_when_it_was_asked_to) {
  const auto device = open();
  ASSERT_TRUE(device.ok());
  const auto own = Buffer::create(*device, {.bytes = 4096});
  const auto readable = Buffer::create(*device, {.bytes = 4096, .is_readable = true});
  ASSERT_TRUE(own.ok() && readable.ok());
  EXPECT_EQ(verbs_.registered[0].access, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(verbs_.registered[1].access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}

TEST_F(verbs_buffer, is_deregistered_once_when_it_ends_or_another_takes_its_place) {
  const auto device = open();
  ASSERT_TRUE(device.ok());
  {
    auto buffer = Buffer::create(*device, {.bytes = 4096});
    ASSERT_TRUE(buffer.ok());
    Buffer kept = std::move(buffer).value();
    EXPECT_TRUE(verbs_.deregistered.empty());
    auto other = Buffer::create(*device, {.bytes = 4096, .memory = MemoryMode::paged});
    ASSERT_TRUE(other.ok());
    kept = std::move(other).value();
    EXPECT_THAT(verbs_.deregistered, testing::ElementsAre(100));
  }
  EXPECT_THAT(verbs_.deregistered, testing::ElementsAre(100, 101));
}

TEST_F(verbs_buffer, at_the_address_of_an_earlier_one_is_registered_anew) {
  const auto device = open();
  ASSERT_TRUE(device.ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Buffer::create(*device, {.bytes = 4096}).ok());
  EXPECT_EQ(verbs_.registered.size(), 10u);
  EXPECT_EQ(verbs_.deregistered.size(), 10u);
}

TEST_F(verbs_buffer, that_cannot_be_registered_leaves_nothing_behind) {
  const auto device = open();
  ASSERT_TRUE(device.ok());
  verbs_.registration_error = ENOMEM;
  EXPECT_FALSE(Buffer::create(*device, {.bytes = 4096}).ok());
  EXPECT_TRUE(verbs_.deregistered.empty());
}

}  // namespace
}  // namespace weft::rdma

// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::shaped {
namespace {

TEST(buffer_pool, reuses_what_is_given_back) {
  BufferPool pool(1 << 20, 4096);
  Buffer first = pool.take(1000);
  ASSERT_TRUE(first);
  EXPECT_GE(first.capacity, 1000u);
  const std::byte* address = first.data();
  pool.give_back(std::move(first));
  EXPECT_EQ(pool.take(700).data(), address);
}

TEST(buffer_pool, stops_at_its_limit_and_goes_on_when_something_comes_back) {
  BufferPool pool(4 * 4096, 4096);
  EXPECT_EQ(pool.room(), 4u);
  std::vector<Buffer> taken;
  while (Buffer buffer = pool.take(4096)) taken.push_back(std::move(buffer));
  EXPECT_EQ(taken.size(), 4u);
  EXPECT_EQ(pool.room(), 0u);
  EXPECT_FALSE(pool.take(1));
  pool.give_back(std::move(taken.back()));
  EXPECT_EQ(pool.room(), 1u);
  EXPECT_TRUE(pool.take(4096));
}

TEST(buffer_pool, gives_up_kept_buffers_of_one_size_for_another) {
  BufferPool pool(8192, 8192);
  std::vector<Buffer> small;
  while (Buffer buffer = pool.take(64)) small.push_back(std::move(buffer));
  EXPECT_EQ(small.size(), 128u);
  for (Buffer& buffer : small) pool.give_back(std::move(buffer));
  EXPECT_TRUE(pool.take(8192));
}

TEST(buffer_pool, has_room_for_one_largest_buffer_whatever_its_limit) {
  BufferPool pool(10, 5000);
  EXPECT_EQ(pool.room(), 1u);
  EXPECT_TRUE(pool.take(5000));
}

}  // namespace
}  // namespace weft::shaped

// SPDX-License-Identifier: Apache-2.0
#include "process/spill_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(spill_memory, what_exceeds_the_heap_goes_to_a_file_without_a_name) {
  const std::string directory = ::testing::TempDir() + "weft_spill";
  std::filesystem::create_directory(directory);
  auto memory = SpillMemory::open(ByteCount(100'000), directory);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  SpillMemory& m = **memory;
  std::byte* near = m.allocate(90'000);
  std::byte* far = m.allocate(50'000);
  std::byte* further = m.allocate(50'000);
  ASSERT_TRUE(near != nullptr && far != nullptr && further != nullptr);
  EXPECT_EQ(m.on_heap(), ByteCount(90'000));
  EXPECT_EQ(m.in_file(), ByteCount(2 * 53'248)) << "whole pages";
  std::memset(near, 1, 90'000);
  std::memset(far, 2, 50'000);
  std::memset(further, 3, 50'000);
  EXPECT_EQ(near[89'999], std::byte{1});
  EXPECT_EQ(far[49'999], std::byte{2});
  EXPECT_EQ(further[49'999], std::byte{3});
  m.free(far, 50'000);
  m.free(near, 90'000);
  EXPECT_EQ(m.on_heap(), ByteCount(0));
  EXPECT_EQ(m.in_file(), ByteCount(53'248));
  EXPECT_EQ(further[0], std::byte{3});
  m.free(further, 50'000);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
}

TEST(spill_memory, without_a_directory_there_is_no_more_than_the_heap) {
  auto memory = SpillMemory::open(ByteCount(1000), "");
  ASSERT_TRUE(memory.ok());
  std::byte* all = (*memory)->allocate(1000);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ((*memory)->allocate(1), nullptr);
  (*memory)->free(all, 1000);
}

TEST(spill_memory, a_directory_that_is_not_there_is_named) {
  const auto memory = SpillMemory::open(ByteCount(1000), ::testing::TempDir() + "not/there");
  ASSERT_FALSE(memory.ok());
  EXPECT_THAT(memory.error().message, HasSubstr("not/there"));
}

TEST(spill_memory, what_is_no_directory_is_a_wrong_option) {
  for (const char* path : {"/dev/null", "/proc/self/exe", "/nowhere"}) {
    const auto memory = SpillMemory::open(ByteCount(1000), path);
    ASSERT_FALSE(memory.ok()) << path;
    EXPECT_EQ(memory.error().code, ErrorCode::invalid_argument) << path;
    EXPECT_THAT(memory.error().message, HasSubstr("name a directory"));
  }
}

TEST(spill_memory, a_full_disk_is_no_memory_and_no_crash) {
  const std::string directory = ::testing::TempDir();
  auto memory = SpillMemory::open(ByteCount(0), directory);
  ASSERT_TRUE(memory.ok());
  // A limit on the file's size fails like a full disk does.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::byte* fits = (*memory)->allocate(512 << 10);
  std::byte* does_not = (*memory)->allocate(1 << 20);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(fits, nullptr);
  EXPECT_EQ(does_not, nullptr);
  (*memory)->free(fits, 512 << 10);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "process/spill_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <vector>

namespace weft {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// A limit on the size of files fails like a full disk does.
class FullDisk {
 public:
  explicit FullDisk(ByteCount room) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{.rlim_cur = room.value(), .rlim_max = before_.rlim_max};
    std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~FullDisk() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

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

// Where kept messages are short, they are what fills the memory.
TEST(spill_memory, has_small_bodies_in_its_file_as_well) {
  auto memory = SpillMemory::open(ByteCount::kib(512), ::testing::TempDir());
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  {
    message::BodyPool pool(ByteCount::gib(1), memory->get());
    std::vector<message::Body> bodies;
    for (std::size_t i = 0; i < 4000; ++i) {
      const std::vector<std::byte> bytes(8 + i % 6000, static_cast<std::byte>(i));
      ASSERT_TRUE(pool.has_block(bytes.size()));
      ASSERT_NE(pool.keep(bytes, bodies.emplace_back()), nullptr);
    }
    EXPECT_LE((*memory)->on_heap(), ByteCount::kib(512));
    EXPECT_GT((*memory)->in_file(), ByteCount::mib(8));
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      EXPECT_THAT(bodies[i].view(), Each(static_cast<std::byte>(i))) << i;
    }
  }
  EXPECT_EQ((*memory)->on_heap() + (*memory)->in_file(), ByteCount(0));
}

TEST(spill_memory, of_a_full_disk_gives_small_bodies_no_room_and_keeps_those_it_has) {
  auto memory = SpillMemory::open(ByteCount(0), ::testing::TempDir());
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  message::BodyPool pool(ByteCount::gib(1), memory->get());
  const std::vector<std::byte> bytes(1000, std::byte{7});
  std::vector<message::Body> bodies;
  {
    const FullDisk full(ByteCount::mib(1));
    while (pool.has_block(bytes.size())) {
      ASSERT_NE(pool.keep(bytes, bodies.emplace_back()), nullptr);
    }
    message::Body more;
    EXPECT_EQ(pool.keep(bytes, more), nullptr);
  }
  EXPECT_EQ(bodies.size(), 1024u);
  for (const auto& body : bodies) EXPECT_THAT(body.view(), Each(std::byte{7}));
  bodies.pop_back();
  EXPECT_TRUE(pool.has_block(bytes.size()));
}

TEST(spill_memory, a_full_disk_is_no_memory_and_no_crash) {
  const std::string directory = ::testing::TempDir();
  auto memory = SpillMemory::open(ByteCount(0), directory);
  ASSERT_TRUE(memory.ok());
  std::byte *fits = nullptr, *does_not = nullptr;
  {
    const FullDisk full(ByteCount::mib(1));
    fits = (*memory)->allocate(512 << 10);
    does_not = (*memory)->allocate(1 << 20);
  }
  EXPECT_NE(fits, nullptr);
  EXPECT_EQ(does_not, nullptr);
  (*memory)->free(fits, 512 << 10);
}

}  // namespace
}  // namespace weft

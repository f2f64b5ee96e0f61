// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/mirrored_ring.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace weft {
namespace {

const ByteCount page = ring_size_for(ByteCount(1));

TEST(mirrored_ring, piece_that_wraps_the_end_is_contiguous) {
  auto ring = MirroredRing::create(page, "test");
  ASSERT_TRUE(ring.ok()) << ring.error().message;
  const std::size_t size = ring->size().value();
  const auto wrapped = ring->at(7 * size - 3, 6);
  std::memcpy(wrapped.data(), "abcdef", 6);
  EXPECT_EQ(std::memcmp(ring->memory().data() + size - 3, "abc", 3), 0);
  EXPECT_EQ(std::memcmp(ring->memory().data(), "def", 3), 0);
}

TEST(mirrored_ring, views_survive_a_move) {
  auto first = MirroredRing::create(page, "test");
  ASSERT_TRUE(first.ok());
  const auto bytes = first->at(10, 4);
  const MirroredRing second = std::move(*first);
  std::memcpy(bytes.data(), "move", 4);
  EXPECT_EQ(std::memcmp(second.at(10, 4).data(), "move", 4), 0);
}

TEST(mirrored_ring, refuses_sizes_that_are_no_power_of_two_pages) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{100}, page.value() * 3, std::uint64_t{1} << 50}) {
    const auto ring = MirroredRing::create(ByteCount(size), "test");
    ASSERT_FALSE(ring.ok()) << size;
    EXPECT_EQ(ring.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(ring.error().message.find(std::to_string(size)), std::string::npos);
  }
}

TEST(mirrored_ring, size_is_rounded_up_to_what_a_ring_can_have) {
  EXPECT_EQ(ring_size_for(ByteCount(0)), page);
  EXPECT_EQ(ring_size_for(page + ByteCount(1)), page * 2);
  EXPECT_EQ(ring_size_for(page * 4), page * 4);
}

TEST(mirrored_ring, large_ring_costs_nothing_until_it_is_touched) {
  const auto ring = MirroredRing::create(ByteCount::gib(64), "test");
  ASSERT_TRUE(ring.ok()) << ring.error().message;
  ring->at(ByteCount::gib(64).value() - 1, 2)[1] = std::byte{42};
  EXPECT_EQ(ring->memory()[0], std::byte{42});
}

TEST(mirrored_ring, so_much_of_a_ring_is_in_memory_as_was_asked_for) {
  const auto in_memory = [](std::span<const std::byte> memory) {
    std::vector<unsigned char> pages(memory.size() / page.value());
    EXPECT_EQ(::mincore(const_cast<std::byte*>(memory.data()), memory.size(), pages.data()), 0);
    return std::ranges::count_if(pages, [](unsigned char state) { return (state & 1) != 0; });
  };
  const auto arena = MirroredArena::create(3, page * 8, "test", {.touched = page * 5});
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(in_memory(arena->ring(i).memory()), 5) << i;
  const auto all = MirroredRing::create(page * 4, "test", {.touched = ByteCount::gib(1)});
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(in_memory(all->memory()), 4);
}

TEST(mirrored_ring, huge_pages_may_be_asked_for_and_memory_is_aligned_to_them) {
  const auto ring = MirroredRing::create(ByteCount::mib(4), "test", {.huge_pages = true});
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ring->memory().data()) % (2u << 20), 0u);
}

TEST(mirrored_ring, another_process_sees_the_same_bytes) {
  auto ring = MirroredRing::create(page, "test");
  ASSERT_TRUE(ring.ok());
  const std::size_t size = ring->size().value();
  std::memcpy(ring->at(size - 2, 4).data(), "four", 4);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto attached = AttachedRing::attach(ring->descriptor(), page);
    const bool same =
        attached.ok() && std::memcmp(attached->at(3 * size - 2, 4).data(), "four", 4) == 0;
    ::_exit(same ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(mirrored_ring, descriptor_gives_others_no_way_to_write_or_resize) {
  const auto ring = MirroredRing::create(page, "test");
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ(
      ::mmap(nullptr, page.value(), PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor(), 0),
      MAP_FAILED);
  EXPECT_NE(::ftruncate(ring->descriptor(), 0), 0);
  EXPECT_LT(::pwrite(ring->descriptor(), "x", 1, 0), 0);
}

TEST(attached_ring, refuses_memory_that_is_too_short_or_could_shrink) {
  const auto ring = MirroredRing::create(page, "test");
  ASSERT_TRUE(ring.ok());
  EXPECT_FALSE(AttachedRing::attach(ring->descriptor(), page * 2).ok());
  EXPECT_FALSE(AttachedRing::attach(ring->descriptor(), page, page.value()).ok());
  EXPECT_FALSE(AttachedRing::attach(ring->descriptor(), page, 1).ok());
  EXPECT_FALSE(AttachedRing::attach(-1, page).ok());
  const int unsealed = ::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(unsealed, static_cast<off_t>(page.value())), 0);
  EXPECT_FALSE(AttachedRing::attach(unsealed, page).ok());
  ::close(unsealed);
}

TEST(mirrored_arena, hundreds_of_rings_are_separate_and_each_is_mirrored) {
  const auto arena = MirroredArena::create(500, page, "test");
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  const std::size_t size = page.value();
  for (std::size_t i = 0; i < arena->count(); ++i) {
    const std::uint64_t mark = i * 0x0101'0101'0101'0101;
    std::memcpy(arena->ring(i).at(size - 4, 8).data(), &mark, 8);
  }
  for (std::size_t i = 0; i < arena->count(); ++i) {
    const std::uint64_t mark = i * 0x0101'0101'0101'0101;
    EXPECT_EQ(std::memcmp(arena->ring(i).at(5 * size - 4, 8).data(), &mark, 8), 0) << i;
  }
  const auto attached = AttachedRing::attach(arena->descriptor(), page, 77 * size);
  ASSERT_TRUE(attached.ok());
  EXPECT_EQ(std::memcmp(attached->memory().data(), arena->ring(77).memory().data(), size), 0);
}

TEST(registered_memory, rings_are_found_by_the_bytes_in_them) {
  const auto arena = MirroredArena::create(3, page, "test");
  ASSERT_TRUE(arena.ok());
  const std::size_t size = page.value();
  const auto place = find_shared_place(arena->ring(1).at(size - 1, 10));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->descriptor, arena->descriptor());
  EXPECT_EQ(place->ring_offset, size);
  EXPECT_EQ(place->ring_size, page);
  EXPECT_EQ(place->position, size - 1);
  EXPECT_EQ(find_shared_place(arena->ring(2).at(0, 1))->file, place->file);
}

TEST(registered_memory, bytes_outside_of_one_ring_are_not_found) {
  const auto arena = MirroredArena::create(2, page, "test");
  ASSERT_TRUE(arena.ok());
  const std::size_t size = page.value();
  const std::byte local{};
  EXPECT_FALSE(find_shared_place({&local, 1}).has_value());
  const std::byte* const first = arena->ring(0).memory().data();
  EXPECT_TRUE(find_shared_place({first, 2 * size}).has_value());
  EXPECT_FALSE(find_shared_place({first, 2 * size + 1}).has_value());
  EXPECT_FALSE(find_shared_place({first + 4 * size, 1}).has_value());
}

TEST(registered_memory, ring_that_is_gone_is_not_found) {
  std::span<const std::byte> bytes;
  {
    auto ring = MirroredRing::create(page, "test");
    ASSERT_TRUE(ring.ok());
    const MirroredRing moved = std::move(*ring);
    bytes = moved.memory();
    EXPECT_TRUE(find_shared_place(bytes).has_value());
  }
  EXPECT_FALSE(find_shared_place(bytes).has_value());
}

}  // namespace
}  // namespace weft

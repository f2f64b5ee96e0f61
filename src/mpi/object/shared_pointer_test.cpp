// SPDX-License-Identifier: Apache-2.0
// The pointer that processes share, moved by lives that repeat their moves.
#include "mpi/object/shared_pointer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>

namespace weft::mpi {
namespace {

class SharedPointerTest : public ::testing::Test {
 protected:
  SharedPointerTest() {
    for (auto& pointer : pointers_) pointer.set_path(path_);
  }
  ~SharedPointerTest() override { std::filesystem::remove(path_); }

  /// The earlier life's descriptors are closed.
  void restart(std::uint32_t rank) { pointers_[rank].close(); }
  std::int64_t add(std::uint32_t rank, std::uint64_t number, std::int64_t elements) {
    std::optional<FileLock> lock;
    return pointers_[rank].add(elements, {rank, number}, lock);
  }
  std::int64_t set(std::uint32_t rank, std::uint64_t number, std::int64_t value) {
    std::optional<FileLock> lock;
    return pointers_[rank].set(value, {rank, number}, lock);
  }
  std::int64_t value() {
    std::optional<FileLock> lock;
    return pointers_[0].get(lock);
  }

 private:
  std::string path_ = ::testing::TempDir() + "shared_pointer_" + std::to_string(::getpid());
  std::array<SharedPointer, 3> pointers_;
};

TEST_F(SharedPointerTest, it_begins_at_0_and_each_move_tells_where_it_was) {
  EXPECT_EQ(value(), 0);
  EXPECT_EQ(add(0, 1, 5), 0);
  EXPECT_EQ(add(1, 1, 7), 5);
  EXPECT_EQ(add(0, 2, 1), 12);
  EXPECT_EQ(set(2, 1, 100), 13);
  EXPECT_EQ(add(1, 2, 1), 100);
  EXPECT_EQ(value(), 101);
}

TEST_F(SharedPointerTest, the_next_life_of_the_last_mover_does_not_move_it_again) {
  EXPECT_EQ(add(1, 1, 7), 0);
  restart(1);
  EXPECT_EQ(add(1, 1, 7), 0);
  EXPECT_EQ(value(), 7);
  EXPECT_EQ(add(1, 2, 7), 7);
}

TEST_F(SharedPointerTest, the_next_life_learns_of_its_move_when_others_have_moved_it_since) {
  EXPECT_EQ(add(2, 1, 3), 0);
  EXPECT_EQ(add(1, 1, 7), 3);
  restart(1);
  EXPECT_EQ(add(0, 1, 5), 10);
  EXPECT_EQ(add(2, 2, 5), 15);
  EXPECT_EQ(add(1, 1, 7), 3);
  EXPECT_EQ(value(), 20);
  EXPECT_EQ(add(1, 2, 1), 20);
}

TEST_F(SharedPointerTest, a_move_that_the_earlier_life_did_not_make_is_made) {
  EXPECT_EQ(add(1, 1, 7), 0);
  EXPECT_EQ(add(0, 1, 5), 7);
  restart(1);
  EXPECT_EQ(add(1, 2, 7), 12);
  EXPECT_EQ(value(), 19);
}

TEST_F(SharedPointerTest, a_repeated_change_of_its_value_does_not_undo_later_moves) {
  EXPECT_EQ(set(0, 1, 40), 0);
  EXPECT_EQ(add(1, 1, 2), 40);
  restart(0);
  EXPECT_EQ(set(0, 1, 40), 0);
  EXPECT_EQ(value(), 42);
}

TEST_F(SharedPointerTest, a_process_without_other_lives_makes_every_move) {
  EXPECT_EQ(add(0, 0, 5), 0);
  EXPECT_EQ(add(0, 0, 5), 5);
  EXPECT_EQ(value(), 10);
}

}  // namespace
}  // namespace weft::mpi

// SPDX-License-Identifier: Apache-2.0
// The pointer that processes share, moved by lives that repeat their moves.
#include "mpi/object/shared_pointer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

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

TEST_F(SharedPointerTest, a_process_without_other_lives_keeps_the_moves_of_those_that_have_them) {
  EXPECT_EQ(add(1, 1, 7), 0);
  EXPECT_EQ(add(0, 0, 5), 7);
  restart(1);
  EXPECT_EQ(add(1, 1, 7), 0);
  EXPECT_EQ(value(), 12);
}

TEST_F(SharedPointerTest, a_process_that_stops_recording_keeps_its_last_recorded_move) {
  EXPECT_EQ(add(1, 1, 7), 0);
  EXPECT_EQ(add(1, 0, 5), 7);
  restart(1);
  EXPECT_EQ(add(1, 1, 7), 0);
  EXPECT_EQ(value(), 12);
}

std::atomic<int> interruptions = 0;

// The handler has no SA_RESTART: a wait for the lock that took its end for the lock would share it.
TEST(file_lock, a_signal_does_not_end_the_wait_for_the_lock) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP()
      << "the thread sanitizer keeps the signal back for as long as the lock is waited for";
#endif
  const std::string path = ::testing::TempDir() + "file_lock_" + std::to_string(::getpid());
  const Descriptor first(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const Descriptor second(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct sigaction action {};
  action.sa_handler = [](int) { ++interruptions; };
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> is_held = false;
  std::optional<FileLock> lock(std::in_place, first.get(), true);
  std::thread other([&] {
    const FileLock waits(second.get(), true);
    is_held = true;
  });
  for (int i = 0; i < 200; ++i) {
    const int seen = interruptions;
    ASSERT_EQ(::pthread_kill(other.native_handle(), SIGUSR1), 0);
    while (interruptions == seen) std::this_thread::yield();
    ASSERT_FALSE(is_held);
  }
  lock.reset();
  other.join();
  EXPECT_TRUE(is_held);
  ::sigaction(SIGUSR1, &before, nullptr);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft::mpi

// SPDX-License-Identifier: Apache-2.0
// Boards, whose members are all in this process.
#include "mpi/object/board.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "mpi/object/brief_wait.hpp"

namespace weft::mpi {
namespace {

struct Table {
  explicit Table(std::uint32_t members) : bytes(Board::memory_bytes(members)) {
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)),
                 [](std::byte* begin) { std::free(begin); });
    std::memset(memory.get(), 0, bytes);
    for (std::uint32_t i = 0; i < members; ++i) boards.emplace_back(memory, members, i);
  }
  Board& operator[](std::size_t i) { return boards[i]; }

  std::size_t bytes;
  std::shared_ptr<std::byte> memory;
  std::vector<Board> boards;
};

std::vector<std::byte> values_of(std::uint32_t member, std::uint64_t meeting, std::size_t bytes) {
  Rng rng(member * 1000 + meeting);
  std::vector<std::byte> values(bytes);
  for (std::byte& value : values) value = static_cast<std::byte>(rng.below(256));
  return values;
}

/// Members go on in a random order, one often for long: it is ahead of the others as far as it can.
void meet_in_random_order(std::uint32_t members, std::uint64_t seed) {
  constexpr std::uint64_t meetings = 60;
  constexpr std::size_t sizes[] = {0, 8, 128, 1, 16, 17, 100};
  Table table(members);
  Rng rng(seed);
  const auto member = [&] { return static_cast<std::uint32_t>(rng.below(members)); };
  std::vector<std::uint64_t> left(members, 0);  // meetings
  std::uint64_t done = 0;
  std::uint64_t most_ahead = 0;
  for (std::uint32_t i = 0; done < members; i = rng.below(3) == 0 ? member() : i) {
    Board& board = table[i];
    if (left[i] == meetings) {
      i = member();
      continue;
    }
    const std::size_t bytes = sizes[(left[i] + 1) % std::size(sizes)];
    if (board.meeting() == left[i]) {
      board.arrive(left[i] + 1, values_of(i, left[i] + 1, bytes), 0);
      for (std::uint32_t k = 0; k < members; ++k) {
        most_ahead = std::max(most_ahead, board.meeting() - std::min(board.meeting(), left[k]));
      }
    }
    if (!board.is_complete()) continue;
    ASSERT_EQ(board.meeting(), ++left[i]);
    ASSERT_TRUE(board.has_one_word());
    for (std::uint32_t k = 0; k < members; ++k) {
      ASSERT_GE(table[k].meeting(), left[i]) << "member " << k << " has not arrived";
      const auto expected = values_of(k, left[i], bytes);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), board.values(k)))
          << members << " members, seed " << seed << ", meeting " << left[i] << ", member " << k;
    }
    if (left[i] == meetings) ++done;
  }
  EXPECT_EQ(most_ahead, 2U) << "nobody was ever ahead";
}

TEST(board, members_in_any_order_find_the_values_of_all) {
  for (std::uint32_t members = 2; members <= Board::most_members; ++members) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) meet_in_random_order(members, seed);
  }
}

TEST(board, it_shows_on_which_core_somebody_is_missing) {
  using Sight = Board::Sight;
  Table table(4);
  for (std::uint32_t i = 0; i < 4; ++i) table[i].move_to(i < 2 ? 5 : 6);
  table[0].arrive(1, {}, 5);
  EXPECT_EQ(table[0].look(5), Sight::missing_here);
  table[1].arrive(1, {}, 5);
  EXPECT_EQ(table[0].look(5), Sight::missing_elsewhere);
  table[3].move_to(5);
  EXPECT_EQ(table[0].look(5), Sight::missing_here);
  table[3].arrive(1, {}, 6);
  EXPECT_EQ(table[0].look(5), Sight::missing_elsewhere);
  EXPECT_EQ(table[0].look(6), Sight::missing_here);
  table[2].arrive(1, {}, 6);
  EXPECT_EQ(table[0].look(5), Sight::complete);
}

TEST(board, the_last_member_on_a_core_is_known_to_all) {
  Table table(4);
  for (std::uint32_t i = 0; i < 4; ++i) table[i].move_to(i == 1 ? 2 : 1);
  EXPECT_EQ(table[0].members_on(1), 3U);
  EXPECT_EQ(table[0].members_on(2), 1U);
  EXPECT_EQ(table[0].members_on(3), 0U);
  EXPECT_FALSE(table[0].is_last_on(1));
  EXPECT_FALSE(table[2].is_last_on(1));
  EXPECT_TRUE(table[3].is_last_on(1));
  EXPECT_TRUE(table[1].is_last_on(2));
}

TEST(board, another_word_is_found_before_all_have_arrived) {
  Table table(3);
  table[0].arrive(7, {}, 0);
  EXPECT_EQ(table[0].find_other_word(), 3U);
  table[2].arrive(8, {}, 0);
  EXPECT_EQ(table[0].find_other_word(), 2U);
  EXPECT_EQ(table[0].word_of(2), 8U);
  EXPECT_EQ(table[2].find_other_word(), 0U);
  EXPECT_FALSE(table[0].is_complete());
  table[1].arrive(7, {}, 0);
  EXPECT_TRUE(table[0].is_complete());
  EXPECT_FALSE(table[0].has_one_word());
}

TEST(board, a_member_that_is_ahead_shows_its_earlier_word_to_the_others) {
  Table table(2);
  table[0].arrive(7, {}, 0);
  table[1].arrive(7, {}, 0);
  ASSERT_TRUE(table[1].is_complete());
  table[1].arrive(9, {}, 0);
  EXPECT_TRUE(table[0].is_complete());
  EXPECT_TRUE(table[0].has_one_word());
}

TEST(board, the_last_to_arrive_sees_who_sleeps) {
  Table table(3);
  table[0].arrive(1, {}, 0);
  table[0].set_asleep(true);
  EXPECT_FALSE(table[0].is_complete());
  table[1].arrive(1, {}, 0);
  table[2].arrive(1, {}, 0);
  ASSERT_TRUE(table[2].is_complete());
  EXPECT_TRUE(table[2].is_asleep(0));
  EXPECT_FALSE(table[2].is_asleep(1));
  EXPECT_FALSE(table[0].is_asleep(0)) << "nobody wakes himself";
  table[0].set_asleep(false);
  EXPECT_FALSE(table[2].is_asleep(0));
}

TEST(board, a_brief_wait_ends_when_all_are_there_and_when_nobody_comes) {
  Table table(3);
  BriefWait wait;
  for (std::uint64_t meeting = 1; meeting <= 1000; ++meeting) {
    for (std::uint32_t i = 0; i < 3; ++i) table[i].arrive(meeting, {}, BriefWait::core());
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(wait.until_complete(table[i]));
  }
  table[0].arrive(1001, {}, BriefWait::core());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(wait.until_complete(table[0]));
  table[1].move_to(-1);
  table[2].move_to(-1);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(wait.until_complete(table[0]));
  // After those in vain it looks less often, but it looks.
  for (std::uint32_t i = 1; i < 3; ++i) table[i].arrive(1001, {}, -1);
  bool has_looked = false;
  for (int i = 0; i < 100; ++i) has_looked = has_looked || wait.until_complete(table[0]);
  EXPECT_TRUE(has_looked);
}

// Whatever another process of the job writes: nothing outside of it is read.
TEST(board, any_bytes_may_stand_on_it) {
  Rng rng(3);
  for (int round = 0; round < 1000; ++round) {
    Table table(5);
    const std::vector<std::byte> values(128, std::byte{1});
    table[2].arrive(1, values, 0);
    for (std::size_t i = 0; i < table.bytes; ++i) {
      table.memory.get()[i] = static_cast<std::byte>(rng.below(256));
    }
    (void)table[2].look(0);
    (void)table[2].find_other_word();
    for (std::uint32_t i = 0; i < 5; ++i) (void)table[2].is_asleep(i);
  }
}

}  // namespace
}  // namespace weft::mpi

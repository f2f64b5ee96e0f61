// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/proposal_book.hpp"

#include <gtest/gtest.h>

namespace weft::schedule::dfs {
namespace {

Proposal proposal(std::uint64_t id, std::int64_t start, std::int64_t duration,
                  std::int64_t spacing) {
  return {.grid_first = {},
          .interval = IntervalId(id),
          .first_timeslice = {},
          .rounds = 1,
          .start = Instant(start),
          .duration = Duration(duration),
          .spacing = Duration(spacing)};
}

TEST(proposal_book, knows_nothing_at_first) {
  EXPECT_FALSE(ProposalBook().guidance(IntervalId(0)).guided);
}

TEST(proposal_book, gives_the_proposal_of_the_interval) {
  ProposalBook book;
  book.add(proposal(2, 1'000, 95, 100));
  const Guidance g = book.guidance(IntervalId(2));
  EXPECT_TRUE(g.guided && g.start_known);
  EXPECT_EQ(g.start, Instant(1'000));
  EXPECT_EQ(g.duration, Duration(95));
  EXPECT_EQ(g.spacing, Duration(100));
}

TEST(proposal_book, first_received_proposal_counts) {
  ProposalBook book;
  book.add(proposal(2, 1'000, 95, 100));
  book.add(proposal(2, 7'000, 50, 60));
  EXPECT_EQ(book.guidance(IntervalId(2)).start, Instant(1'000));
}

TEST(proposal_book, last_proposal_is_reused_shifted_to_its_own_time) {
  ProposalBook book;
  book.add(proposal(2, 1'000, 95, 100));
  // Interval 5 is three spacings later: 1000 + 3 · 100.
  const Guidance g = book.guidance(IntervalId(5));
  EXPECT_TRUE(g.guided && g.start_known);
  EXPECT_EQ(g.start, Instant(1'300));
  EXPECT_EQ(g.duration, Duration(95));
}

TEST(proposal_book, proposal_of_a_later_interval_is_kept_for_it) {
  ProposalBook book;
  book.add(proposal(2, 1'000, 95, 100));
  book.add(proposal(4, 1'500, 90, 98));
  EXPECT_EQ(book.guidance(IntervalId(3)).start, Instant(1'100));
  EXPECT_EQ(book.guidance(IntervalId(4)).start, Instant(1'500));
}

TEST(proposal_book, duration_outlives_the_grid_but_start_times_do_not) {
  ProposalBook book;
  book.add(proposal(2, 1'000, 95, 100));
  book.on_grid();
  const Guidance g = book.guidance(IntervalId(50));
  EXPECT_TRUE(g.guided);
  EXPECT_FALSE(g.start_known);
  EXPECT_EQ(g.duration, Duration(95));
}

TEST(proposal_book, shifting_far_does_not_overflow) {
  ProposalBook book;
  book.add(proposal(0, 0, 1, std::int64_t{1} << 45));
  EXPECT_GT(book.guidance(IntervalId(std::uint64_t{1} << 56)).start, Instant(0));
}

}  // namespace
}  // namespace weft::schedule::dfs

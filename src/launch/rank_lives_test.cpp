// SPDX-License-Identifier: Apache-2.0
#include "launch/rank_lives.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace weft {
namespace {

using Next = RankLives::Next;
constexpr RankLives::End killed{.code = 137, .was_killed = true};
constexpr RankLives::End crashed{.code = 139, .was_killed = true, .crashed = true};
constexpr RankLives::End succeeded{};

/// All of them run, and have joined.
RankLives running(std::uint32_t ranks, RankLives::Options options) {
  RankLives lives(ranks, options);
  for (std::uint32_t i = 0; i < ranks; ++i) lives.begin(i);
  for (std::uint32_t i = 0; i < ranks; ++i) lives.on_joined(i);
  return lives;
}

TEST(rank_lives, a_rank_that_has_returned_is_started_again_only_when_it_is_needed) {
  RankLives lives = running(3, {.restart = true, .most_restarts = 10});
  lives.on_returned(1);
  EXPECT_EQ(lives.on_end(1, killed), Next::rest);
  EXPECT_EQ(lives.on_needed(0), Next::nothing) << "it runs";
  EXPECT_EQ(lives.on_needed(1), Next::start_anew);
  EXPECT_EQ(lives.restarts(), 1u);
  EXPECT_EQ(lives.on_needed(1), Next::nothing) << "it is to be started already";
  lives.on_returned(0);
  lives.on_returned(2);
  EXPECT_FALSE(lives.over()) << "its new life has not begun";
  lives.begin(1);
  EXPECT_FALSE(lives.over()) << "its new life has not returned";
  lives.on_returned(1);
  EXPECT_TRUE(lives.over());
}

TEST(rank_lives, a_rank_that_has_returned_needs_no_restart_where_none_is_left) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 0});
  lives.on_returned(0);
  EXPECT_EQ(lives.on_end(0, killed), Next::rest);
  lives.on_returned(1);
  EXPECT_TRUE(lives.over());
}

TEST(rank_lives, a_rank_that_dies_whenever_it_is_needed_again_uses_up_the_restarts) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 2});
  for (int life = 0; life < 2; ++life) {
    lives.on_returned(1);
    EXPECT_EQ(lives.on_end(1, killed), Next::rest);
    EXPECT_EQ(lives.on_needed(1), Next::start_anew);
    lives.begin(1);
  }
  lives.on_returned(1);
  EXPECT_EQ(lives.on_end(1, killed), Next::rest);
  EXPECT_EQ(lives.on_needed(1), Next::end_job);
  EXPECT_EQ(lives.why_not_anew(1), ", and no restart is left (--most-restarts 2)");
}

TEST(rank_lives, a_rank_that_fails_in_the_same_way_ten_times_in_a_row_is_not_started_again) {
  constexpr RankLives::End failed{.code = 7};
  constexpr RankLives::End failed_otherwise{.code = 8};
  RankLives lives = running(2, {.restart = true, .most_restarts = 1000});
  const auto dies = [&](const RankLives::End& end) {
    const Next next = lives.on_end(0, end);
    if (next == Next::start_anew) lives.begin(0);
    return next;
  };
  // A kill or another failure in between: it went on since.
  for (const RankLives::End& other : {killed, failed_otherwise, crashed}) {
    for (int i = 0; i < 9; ++i) EXPECT_EQ(dies(failed), Next::start_anew);
    EXPECT_EQ(dies(other), Next::start_anew);
  }
  for (int i = 0; i < 9; ++i) EXPECT_EQ(dies(failed), Next::start_anew);
  EXPECT_EQ(lives.why_not_anew(0), "");
  EXPECT_EQ(dies(failed), Next::end_job);
  EXPECT_EQ(lives.why_not_anew(0), RankLives::alike);
  EXPECT_EQ(lives.why_not_anew(1), "");
}

TEST(rank_lives,
     a_kill_that_a_script_hides_counts_only_after_a_short_life_and_in_a_row_of_one_rank) {
  RankLives lives = running(3, {.restart = true, .restart_all = true, .most_restarts = 1000});
  lives.on_needs_all();
  const auto dies = [&](std::uint32_t rank, int code, Duration lived) {
    for (std::uint32_t i = 0; i < 3; ++i) lives.on_joined(i);
    const Next next = lives.on_end(rank, {.code = code, .lived = lived});
    if (next != Next::start_anew) return next;
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (i == rank) continue;
      EXPECT_EQ(lives.on_end(i, killed), Next::start_too);
    }
    for (std::uint32_t i = 0; i < 3; ++i) lives.begin(i);
    return next;
  };
  for (std::uint32_t i = 0; i < 30; ++i) {
    ASSERT_EQ(dies(i % 3, 137, Duration{}), Next::start_anew) << "of different ranks";
  }
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(dies(0, 143, RankLives::short_life), Next::start_anew) << "after long lives";
  }
  for (int i = 0; i < 9; ++i) ASSERT_EQ(dies(0, 0, Duration{}), Next::start_anew) << "vanished";
  EXPECT_EQ(dies(0, 137, Duration{}), Next::start_anew) << "in another way";
  for (int i = 0; i < 8; ++i) ASSERT_EQ(dies(0, 137, Duration{}), Next::start_anew);
  EXPECT_EQ(dies(0, 137, Duration{}), Next::end_job);
}

TEST(rank_lives, a_rank_that_vanishes_after_it_returned_and_is_not_started_again_ends_the_job) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 0});
  lives.on_needs_all();
  lives.on_joined(0);
  lives.on_joined(1);
  lives.on_returned(0);
  EXPECT_EQ(lives.on_end(0, succeeded), Next::end_job) << "it has not left MPI_Finalize";
}

TEST(rank_lives, a_program_beyond_a_limit_or_behind_its_own_timer_failed_by_itself) {
  for (const int signal : {SIGXCPU, SIGXFSZ, SIGPIPE, SIGALRM}) {
    EXPECT_TRUE(RankLives::End::of(signal).crashed) << signal;
  }
  for (const int signal : {SIGKILL, SIGTERM}) {
    EXPECT_FALSE(RankLives::End::of(signal).crashed) << signal;
  }
}

TEST(rank_lives, where_all_start_anew_failures_of_different_ranks_count_together) {
  RankLives lives = running(2, {.restart = true, .restart_all = true, .most_restarts = 1000});
  const auto life = [&](std::uint32_t rank) {
    const Next next = lives.on_end(rank, {.code = 7});
    if (next != Next::start_anew) return next;
    EXPECT_EQ(lives.on_end(1 - rank, killed), Next::start_too);
    for (std::uint32_t i = 0; i < 2; ++i) lives.begin(i);
    return next;
  };
  for (std::uint32_t i = 0; i < 9; ++i) EXPECT_EQ(life(i % 2), Next::start_anew);
  EXPECT_EQ(lives.why_not_anew(1), "");
  lives.on_stored(0, 1);
  for (std::uint32_t i = 0; i < 9; ++i) EXPECT_EQ(life(i % 2), Next::start_anew);
  EXPECT_EQ(life(1), Next::end_job);
  EXPECT_EQ(lives.why_not_anew(1), RankLives::alike_of_all);
}

TEST(rank_lives, a_rank_that_stores_more_in_each_life_may_fail_any_number_of_times) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 1000});
  for (std::uint64_t life = 1; life <= 100; ++life) {
    lives.on_stored(0, life);
    ASSERT_EQ(lives.on_end(0, crashed), Next::start_anew);
    lives.begin(0);
  }
  // The same place again: the life before came as far.
  for (int life = 0; life < 8; ++life) {
    lives.on_stored(0, 100);
    ASSERT_EQ(lives.on_end(0, crashed), Next::start_anew);
    lives.begin(0);
  }
  lives.on_stored(0, 100);
  EXPECT_EQ(lives.on_end(0, crashed), Next::end_job);
}

TEST(rank_lives, a_rank_may_be_killed_any_number_of_times) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 1000});
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(lives.on_end(0, killed), Next::start_anew);
    lives.begin(0);
  }
}

TEST(rank_lives, the_job_is_over_when_all_have_returned_and_nothing_is_started_then) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 10});
  lives.on_returned(1);
  EXPECT_EQ(lives.on_end(1, killed), Next::rest);
  lives.on_returned(0);
  EXPECT_TRUE(lives.over());
  EXPECT_EQ(lives.on_needed(1), Next::nothing);
  EXPECT_EQ(lives.on_end(0, killed), Next::nothing);
  EXPECT_EQ(lives.running(), 0u);
}

TEST(rank_lives, a_process_that_fails_by_itself_after_all_is_over_has_a_code_that_counts) {
  RankLives lives = running(3, {.restart = true, .most_restarts = 10});
  for (std::uint32_t i = 0; i < 3; ++i) lives.on_returned(i);
  EXPECT_EQ(lives.on_end(0, {.code = 3}), Next::fail);
  EXPECT_EQ(lives.on_end(1, crashed), Next::fail);
  EXPECT_EQ(lives.on_end(2, succeeded), Next::nothing);
}

TEST(rank_lives, a_process_of_mpi_that_is_killed_in_or_after_mpi_finalize_is_started_anew) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 10});
  lives.on_needs_all();
  lives.on_returned(0);
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew) << "it may have more to print";
  lives.on_returned(1);
  EXPECT_FALSE(lives.over()) << "its new life has not begun";
  lives.begin(0);
  lives.on_returned(0);
  EXPECT_TRUE(lives.over());
  EXPECT_EQ(lives.on_end(1, succeeded), Next::nothing);
  EXPECT_EQ(lives.on_needed(1), Next::nothing) << "the job is over";
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew);
  EXPECT_FALSE(lives.over());
  lives.begin(0);
  EXPECT_EQ(lives.on_needed(1), Next::start_anew) << "it has gone";
  lives.begin(1);
  for (std::uint32_t i = 0; i < 2; ++i) lives.on_returned(i);
  EXPECT_TRUE(lives.over());
}

TEST(rank_lives, a_process_that_has_exited_and_is_needed_again_takes_no_restart) {
  RankLives lives = running(3, {.restart = true, .most_restarts = 1});
  lives.on_needs_all();
  for (std::uint32_t i = 0; i < 3; ++i) lives.on_returned(i);
  for (std::uint32_t i = 1; i < 3; ++i) EXPECT_EQ(lives.on_end(i, succeeded), Next::nothing);
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew);
  lives.begin(0);
  for (std::uint32_t i = 1; i < 3; ++i) EXPECT_EQ(lives.on_needed(i), Next::start_anew);
  EXPECT_EQ(lives.restarts(), 1u);
}

TEST(rank_lives, a_process_of_mpi_that_is_killed_after_the_job_and_cannot_start_anew_fails) {
  RankLives without = running(1, {.restart = false});
  without.on_needs_all();
  without.on_returned(0);
  EXPECT_EQ(without.on_end(0, killed), Next::fail);
  RankLives left = running(2, {.restart = false});
  left.on_needs_all();
  left.on_returned(1);
  EXPECT_EQ(left.on_end(1, succeeded), Next::nothing) << "its world has left the job";
  EXPECT_EQ(left.on_needed(1), Next::nothing);
  RankLives used_up = running(1, {.restart = true, .most_restarts = 0});
  used_up.on_needs_all();
  used_up.on_returned(0);
  EXPECT_EQ(used_up.on_end(0, killed), Next::fail);
}

TEST(rank_lives,
     a_script_that_exits_with_the_code_of_its_programs_signal_was_killed_after_the_job) {
  for (const int code : {137, 143}) {
    RankLives lives = running(2, {.restart = true, .most_restarts = 100});
    lives.on_needs_all();
    for (std::uint32_t i = 0; i < 2; ++i) lives.on_returned(i);
    ASSERT_TRUE(lives.over());
    // One that always ends so has chosen the code.
    for (std::uint32_t life = 1; life < RankLives::most_alike; ++life) {
      ASSERT_EQ(lives.on_end(0, {.code = code}), Next::start_anew);
      lives.begin(0);
      lives.on_joined(0);
      lives.on_returned(0);
    }
    EXPECT_EQ(lives.on_end(0, {.code = code}), Next::fail);
  }
  for (const int code : {1, 127, 128, 130, 139, 170, 255}) {
    RankLives lives = running(1, {.restart = true, .most_restarts = 100});
    lives.on_needs_all();
    lives.on_returned(0);
    EXPECT_EQ(lives.on_end(0, {.code = code}), Next::fail) << code;
  }
}

TEST(rank_lives, a_script_of_a_program_without_epilogue_keeps_its_exit_code_after_the_job) {
  for (const int code : {1, 137, 143}) {
    RankLives lives = running(1, {.restart = true, .most_restarts = 100});
    lives.on_returned(0);
    EXPECT_EQ(lives.on_end(0, {.code = code}), Next::fail) << code;
  }
}

TEST(rank_lives, a_script_that_hides_how_its_program_ended_is_started_anew) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 100});
  lives.on_needs_all();
  EXPECT_EQ(lives.on_end(0, succeeded), Next::start_anew);
  lives.begin(0);
  EXPECT_EQ(lives.on_end(0, succeeded), Next::left_early) << "it has not joined";
  RankLives finalizes = running(2, {.restart = true, .most_restarts = 100});
  finalizes.on_needs_all();
  finalizes.on_returned(0);
  EXPECT_EQ(finalizes.on_end(0, succeeded), Next::start_anew) << "MPI_Finalize waits for rank 1";
  finalizes.begin(0);
  finalizes.on_joined(0);
  for (std::uint32_t i = 0; i < 2; ++i) finalizes.on_returned(i);
  EXPECT_EQ(finalizes.on_end(0, succeeded), Next::nothing);
  RankLives exits = running(2, {.restart = true, .most_restarts = 100});
  exits.on_needs_all();
  exits.on_exits(0);
  EXPECT_EQ(exits.on_end(0, succeeded), Next::left_early) << "its program said so";
  RankLives without = running(2, {});
  without.on_needs_all();
  EXPECT_EQ(without.on_end(0, succeeded), Next::left_early);
}

TEST(rank_lives, all_ranks_start_anew_together_when_all_others_have_ended) {
  RankLives lives = running(3, {.restart = true, .restart_all = true, .most_restarts = 1});
  lives.on_returned(2);
  EXPECT_EQ(lives.on_end(2, succeeded), Next::nothing);
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew);
  EXPECT_TRUE(lives.is_to_start(2)) << "the others need its messages again";
  EXPECT_TRUE(lives.awaits_ends()) << "of rank 1, whose messages belong to the life before";
  lives.on_returned(1);
  EXPECT_FALSE(lives.over());
  EXPECT_EQ(lives.on_end(1, killed), Next::start_too);
  EXPECT_FALSE(lives.awaits_ends());
  for (std::uint32_t i = 0; i < 3; ++i) lives.begin(i);
  EXPECT_EQ(lives.restarts(), 1u);
  EXPECT_EQ(lives.on_end(1, killed), Next::end_job) << "no restart is left";
}

TEST(rank_lives, all_ranks_start_anew_from_the_moment_on_at_which_that_is_said) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 10});
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew);
  EXPECT_FALSE(lives.is_to_start(1));
  lives.restart_all_from_now();
  EXPECT_TRUE(lives.restarts_all());
  EXPECT_FALSE(lives.awaits_ends()) << "rank 0 was killed before, and comes back alone";
  lives.begin(0);
  EXPECT_EQ(lives.on_end(1, killed), Next::start_anew);
  EXPECT_TRUE(lives.awaits_ends());
  EXPECT_EQ(lives.on_end(0, killed), Next::start_too);
}

TEST(rank_lives, all_ranks_start_anew_with_one_that_was_killed_after_the_job) {
  RankLives lives = running(2, {.restart = true, .restart_all = true, .most_restarts = 1});
  lives.on_needs_all();
  for (std::uint32_t i = 0; i < 2; ++i) lives.on_returned(i);
  EXPECT_EQ(lives.on_end(1, succeeded), Next::nothing);
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew) << "it may have more to print";
  EXPECT_TRUE(lives.is_to_start(1));
  EXPECT_FALSE(lives.over() || lives.awaits_ends());
}

TEST(rank_lives, a_rank_that_returns_while_all_end_returns_anew) {
  RankLives lives = running(2, {.restart = true, .restart_all = true, .most_restarts = 1});
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew);
  lives.on_returned(1);
  EXPECT_EQ(lives.on_end(1, killed), Next::start_too);
  lives.begin(0);
  lives.on_returned(0);
  EXPECT_FALSE(lives.over()) << "rank 1 has more to do";
}

TEST(rank_lives, a_rank_that_exits_with_0_before_it_has_returned_ends_the_job) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 10});
  EXPECT_EQ(lives.on_end(1, succeeded), Next::left_early);
  EXPECT_EQ(lives.left_early(), 1u);
}

TEST(rank_lives, a_rank_that_never_joined_leaves_early_when_another_one_joins) {
  RankLives lives(2, {});
  lives.begin(0);
  lives.begin(1);
  EXPECT_EQ(lives.on_end(1, succeeded), Next::nothing);
  EXPECT_FALSE(lives.left_early());
  lives.on_joined(0);
  EXPECT_EQ(lives.left_early(), 1u);
}

TEST(rank_lives, programs_that_never_join_exit_as_they_like) {
  RankLives lives(2, {.restart = true, .most_restarts = 1});
  lives.begin(0);
  lives.begin(1);
  EXPECT_EQ(lives.on_end(0, succeeded), Next::nothing);
  EXPECT_EQ(lives.on_end(1, {.code = 1}), Next::start_anew);
  lives.begin(1);
  EXPECT_EQ(lives.on_end(1, {.code = 1}), Next::end_job) << "no restart is left";
}

TEST(rank_lives, a_crash_ends_the_job_as_an_exit_with_a_code_does) {
  EXPECT_EQ(running(2, {}).on_end(1, crashed), Next::end_job);
  EXPECT_EQ(running(2, {}).on_end(1, {.code = 3}), Next::end_job);
}

TEST(rank_lives, a_killed_rank_ends_the_job_where_the_others_would_wait_for_ever) {
  RankLives lives = running(2, {});
  lives.on_needs_all();
  EXPECT_EQ(lives.on_end(1, killed), Next::end_job);
}

TEST(rank_lives, the_end_of_a_rank_for_which_none_waits_is_of_no_consequence) {
  for (RankLives::End end : {killed, crashed, succeeded, RankLives::End{.code = 3}}) {
    RankLives lives = running(2, {});
    lives.on_needs_all();
    end.is_refused = true;
    EXPECT_EQ(lives.on_end(1, end), Next::nothing);
    EXPECT_FALSE(lives.lost() || lives.left_early());
    lives.grow(3);
    lives.skip(2);
    EXPECT_FALSE(lives.over());
    lives.on_returned(0);
    EXPECT_TRUE(lives.over());
  }
}

TEST(rank_lives, a_killed_rank_ends_the_job_once_others_say_that_they_would_wait_for_ever) {
  RankLives lives(2, {});
  lives.begin(0);
  lives.begin(1);
  EXPECT_EQ(lives.on_end(1, killed), Next::fail) << "it may be no program of MPI";
  EXPECT_FALSE(lives.lost());
  lives.on_joined(0);
  lives.on_needs_all();
  EXPECT_EQ(lives.lost(), 1u);
}

TEST(rank_lives, those_that_a_killed_rank_leaves_behind_are_let_go_when_they_have_returned) {
  RankLives lives = running(3, {});
  EXPECT_EQ(lives.on_end(1, killed), Next::fail);
  lives.on_returned(0);
  EXPECT_FALSE(lives.over());
  lives.on_returned(2);
  EXPECT_TRUE(lives.over());
}

TEST(rank_lives, where_another_launcher_may_know_better_a_returned_rank_is_started_again) {
  RankLives lives = running(2, {.restart = true, .most_restarts = 10, .decides = false});
  lives.on_returned(0);
  lives.on_returned(1);
  EXPECT_FALSE(lives.over());
  EXPECT_EQ(lives.on_end(1, killed), Next::start_anew);
  lives.begin(1);
  lives.on_over();
  EXPECT_EQ(lives.on_end(1, killed), Next::nothing);
}

TEST(rank_lives, a_life_has_one_program_of_weft_or_MPI) {
  RankLives lives(2, {.restart = true, .most_restarts = 3});
  lives.begin(0);
  EXPECT_TRUE(lives.on_program(0));
  EXPECT_EQ(lives.on_end(0, killed), Next::start_anew);
  lives.begin(0);
  EXPECT_TRUE(lives.on_program(0));
  EXPECT_FALSE(lives.on_program(0));
  EXPECT_NE(std::string(lives.why_missed(0)).find("a second program"), std::string::npos);
}

}  // namespace
}  // namespace weft

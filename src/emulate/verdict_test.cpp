// SPDX-License-Identifier: Apache-2.0
#include "emulate/verdict.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "base/program_for_test.hpp"

namespace weft::emulate {
namespace {

constexpr std::uint32_t kComplete =
    stage_loaded | stage_interposed | stage_running | stage_finished;

class verdict : public ::testing::Test {
 protected:
  void add_rank(int rank, std::uint32_t stage, std::uint64_t sends = 1) {
    ProcessRecord* record = block_->enrol();
    record->rank = rank;
    record->ranks = 2;
    record->stage = stage;
    record->operations[op_send] = sends;
    record->began = 1'000'000;
    record->ended = 3'000'000;
  }
  std::string refusal(const Ended& ended = {}) {
    const auto judged = judge(*block_, command_, ended);
    return judged.ok() ? "" : judged.error().message;
  }

  std::unique_ptr<ControlBlock> block_ = std::make_unique<ControlBlock>();
  Command command_{
      .words = {"mpirun", "-n", "2", "./p"}, .mpi = "mpich", .program = "./p", .program_at = 3};
};

TEST_F(verdict, ranks_that_were_interposed_and_communicated_are_a_result) {
  add_rank(0, kComplete);
  add_rank(1, kComplete);
  const auto judged = judge(*block_, command_, {});
  ASSERT_TRUE(judged.ok());
  EXPECT_EQ(judged->ranks, 2U);
  EXPECT_EQ(judged->ranks_interposed, 2U);
  EXPECT_EQ(judged->operations, 2U);
  EXPECT_EQ(judged->program_time, Duration::nanoseconds(2'000));
}

TEST_F(verdict, nothing_interposed_is_no_result) {
  EXPECT_NE(refusal().find("nothing was interposed"), std::string::npos);
}

TEST_F(verdict, a_rank_without_interposition_is_named) {
  add_rank(0, kComplete);
  EXPECT_NE(refusal().find("1 of 2 ranks were interposed, rank 1 not"), std::string::npos);
}

TEST_F(verdict, of_hundreds_of_ranks_without_interposition_the_first_ones_are_named) {
  add_rank(0, kComplete);
  command_.words[2] = "300";
  EXPECT_NE(refusal().find(
                "1 of 300 ranks were interposed, ranks 1, 2, 3, 4, 5, 6, 7, 8 and 291 more not"),
            std::string::npos)
      << refusal();
}

TEST_F(verdict, options_of_the_program_ask_for_no_ranks) {
  add_rank(0, kComplete);
  add_rank(1, kComplete);
  command_.words = {"mpirun", "./p", "-n", "8"};
  command_.program_at = 1;
  EXPECT_EQ(judge(*block_, command_, {})->ranks, 2U);
  command_ = {.words = {"bash", "-c", "8", "-n", "8"}, .mpi = {}, .program = "/bin/bash"};
  EXPECT_EQ(judge(*block_, command_, {})->ranks, 2U);
}

TEST_F(verdict, open_mpi_without_ucx_is_told_how_to_switch) {
  command_.mpi = "openmpi";
  add_rank(0, stage_loaded | stage_finished);
  add_rank(1, stage_loaded | stage_finished);
  EXPECT_NE(refusal().find("OMPI_MCA_pml=ucx"), std::string::npos);
}

TEST_F(verdict, a_program_of_another_mpi_than_its_launcher_is_told_so_however_it_failed) {
  command_.program = ::testing::TempDir() + "/program_of_another_mpi";
  const auto program = program_with({"libmpi.so.40"});
  std::ofstream(command_.program, std::ios::binary)
      .write(reinterpret_cast<const char*>(program.data()),
             static_cast<std::streamsize>(program.size()));
  const std::string why = command_.program +
                          ": needs libmpi.so.40 of Open MPI, but mpirun, which started it, is the "
                          "launcher of MPICH; start it with Open MPI's own mpirun; no result";
  EXPECT_EQ(refusal(), why);
  EXPECT_EQ(refusal({.exit_code = 1}), why);
  command_.mpi = "openmpi";
  EXPECT_NE(refusal().find("nothing was interposed"), std::string::npos);
  // Both may speak PMIx.
  command_.mpi = "mpich";
  add_rank(0, kComplete);
  add_rank(1, kComplete);
  EXPECT_EQ(refusal(), "");
}

TEST_F(verdict, the_launchers_words_tell_how_many_ranks_there_will_be) {
  EXPECT_EQ(ranks_asked(command_), 2U);
  EXPECT_TRUE(check_ranks(*block_, 256));
  EXPECT_FALSE(check_ranks(*block_, 257));
  block_->pair_count = 2;
  EXPECT_TRUE(check_ranks(*block_, 0)) << "it does not say";
  EXPECT_TRUE(check_ranks(*block_, 2));
  EXPECT_FALSE(check_ranks(*block_, 3));
}

TEST_F(verdict, a_rank_that_opens_counters_is_no_result) {
  add_rank(0, kComplete);
  add_rank(1, kComplete | stage_unheld);
  EXPECT_NE(refusal().find("rank 1: it opens completion counters"), std::string::npos);
}

TEST_F(verdict, ranks_without_links_are_no_result) {
  add_rank(0, kComplete);
  add_rank(1, kComplete);
  block_->pair_count = 1;
  EXPECT_NE(refusal().find("its file is for 1 ranks, and the program has 2"), std::string::npos);
  block_->pair_count = 3;
  EXPECT_EQ(refusal(), "");
}

TEST_F(verdict, more_ranks_than_have_links_are_no_result) {
  for (unsigned rank = 0; rank < kMostRanks; ++rank) add_rank(static_cast<int>(rank), kComplete);
  EXPECT_EQ(refusal(), "");
  add_rank(kMostRanks, kComplete);
  EXPECT_NE(refusal().find("257 ranks: only the first 256 have links"), std::string::npos);
}

TEST_F(verdict, a_program_that_never_communicates_is_no_result) {
  add_rank(0, kComplete, 0);
  add_rank(1, kComplete, 0);
  EXPECT_NE(refusal().find("no rank sent another anything"), std::string::npos);
}

TEST_F(verdict, a_code_other_than_zero_is_no_result) {
  add_rank(0, kComplete);
  add_rank(1, kComplete);
  EXPECT_NE(refusal({.exit_code = 3}).find("ended with code 3"), std::string::npos);
}

TEST_F(verdict, a_rank_that_died_is_named) {
  add_rank(0, kComplete);
  add_rank(1, stage_loaded | stage_interposed | stage_running);
  EXPECT_NE(refusal({.exit_code = 9}).find("rank 1 (process"), std::string::npos);
  EXPECT_NE(refusal().find("rank 1 (process"), std::string::npos);
}

TEST_F(verdict, the_rank_that_died_first_is_named_not_those_that_its_launcher_ended) {
  constexpr std::uint32_t kRunning = stage_loaded | stage_interposed | stage_running;
  add_rank(0, kRunning);
  add_rank(1, kRunning);
  block_->process[0].pid = 100;
  block_->process[1].pid = 101;
  EXPECT_NE(
      refusal({.exit_code = 9, .processes = {55, 101, 100}}).find("rank 1 (process 101) died"),
      std::string::npos);
  // Nobody saw which.
  EXPECT_NE(refusal({.exit_code = 9}).find("ranks 0, 1 died"), std::string::npos);
}

TEST_F(verdict, a_rank_that_exits_without_finalize_is_named) {
  add_rank(0, kComplete);
  add_rank(1, stage_loaded | stage_interposed | stage_running | stage_exited);
  EXPECT_NE(refusal().find("exited without MPI_Finalize"), std::string::npos);
}

TEST_F(verdict, what_a_rank_starts_besides_is_no_rank) {
  add_rank(0, kComplete);
  add_rank(1, kComplete);
  add_rank(1, stage_loaded);
  EXPECT_EQ(judge(*block_, command_, {})->ranks, 2U);
}

}  // namespace
}  // namespace weft::emulate

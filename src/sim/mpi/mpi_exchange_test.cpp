// SPDX-License-Identifier: Apache-2.0
// Processes that mpirun starts compute the same as threads.
#include "sim/mpi/mpi_exchange.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/mpi/test_ranks.hpp"
#include "sim/partition/thread_exchange.hpp"

namespace weft::sim {
namespace {

struct Ended {
  int code = -1;
  std::string output;
};

/// Standard output and exit code of `ranks` processes.
Ended run_processes(std::uint32_t ranks, const std::string& what) {
  const std::string command =
      fmt::format("timeout 60 mpirun --oversubscribe --allow-run-as-root -n {} {} {} 2>/dev/null",
                  ranks, WEFT_RANKS, what);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  Ended ended;
  char bytes[4096];
  while (const std::size_t n = std::fread(bytes, 1, sizeof bytes, pipe)) {
    ended.output.append(bytes, n);
  }
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

std::string run_threads(std::uint32_t ranks, const std::string& what) {
  std::string said;
  run_in_threads(ranks, [&](Exchange& exchange) {
    const std::string mine = run_rank(what, exchange);
    if (exchange.rank() == 0) said = mine + "\n";
  });
  return said;
}

TEST(mpi_exchange, hands_over_batches_of_any_length_as_threads_do) {
  for (const std::uint32_t ranks : {1u, 2u, 3u}) {
    const Ended ended = run_processes(ranks, "batches");
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.output, run_threads(ranks, "batches")) << ranks;
  }
}

TEST(mpi_exchange, simulates_what_threads_and_one_process_do) {
  const std::string alone = run_threads(1, "traffic");
  EXPECT_NE(alone.find("dragonfly:72"), std::string::npos) << alone;
  EXPECT_EQ(run_threads(2, "traffic"), alone);
  for (const std::uint32_t ranks : {1u, 2u, 3u}) {
    const Ended ended = run_processes(ranks, "traffic");
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.output, alone) << ranks;
  }
}

TEST(mpi_exchange, a_process_that_leaves_ends_the_others) {
  const Ended ended = run_processes(3, "leave");
  EXPECT_EQ(ended.code, EXIT_FAILURE) << "124: they hung";
}

class Environment : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
          "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(Environment, says_who_was_launched) {
  EXPECT_FALSE(launched_process().has_value());
  ::setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  ::setenv("SLURM_LOCALID", "1", 1);
  EXPECT_FALSE(launched_process().has_value()) << "without PMIx these are processes of their own";
  ::setenv("PMIX_RANK", "3", 1);
  auto process = launched_process();
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(process->rank, 3u);
  EXPECT_EQ(process->size, 4u);
  EXPECT_FALSE(process->first_of_machine);
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
  process = launched_process();
  EXPECT_EQ(process->rank, 0u);
  EXPECT_EQ(process->size, 2u);
  EXPECT_TRUE(process->first_of_machine);
  ::unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
  EXPECT_TRUE(launched_process()->first_of_machine) << "SLURM_LOCALID is mpirun's own";
  ::setenv("OMPI_COMM_WORLD_RANK", "x", 1);
  ::unsetenv("PMIX_RANK");
  EXPECT_FALSE(launched_process().has_value());
}

}  // namespace
}  // namespace weft::sim

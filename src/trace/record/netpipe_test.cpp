// SPDX-License-Identifier: Apache-2.0
// A program of others, NetPIPE as Debian has it, recorded and replayed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "trace/record/record_program.hpp"
#include "trace/replay/star_for_test.hpp"
#include "trace/replay/trace.hpp"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

void record_and_replay(const std::string& launcher, const std::string& program) {
  if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0) {
    GTEST_SKIP() << program << " is not installed";
  }
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const fs::path base = fs::temp_directory_path() / ("weft-netpipe-" + std::to_string(getpid()));
  fs::create_directories(base);
  const std::string directory = (base / "trace").string();
  const auto merged = record_program({.command = {launcher, "-n", "2", program, "-n", "5", "-u",
                                                  "65536", "-o", (base / "np.out").string()},
                                      .directory = directory});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  const auto trace = open_trace(directory + "/traces.otf2");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto summary = (*trace)->examine();
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->problem, "");
  EXPECT_GT(summary->messages, 1000U);
  const auto outcome = replay_trace(**trace, 1, {.scenario = star_for_test(2)});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_GE(outcome->messages, summary->messages);
  fs::remove_all(base);
}

TEST(netpipe, is_recorded_under_open_mpi_and_replayed) {
  record_and_replay("mpirun.openmpi", "NPopenmpi");
}
TEST(netpipe, is_recorded_under_mpich_and_replayed) {
  record_and_replay("mpirun.mpich", "NPmpich2");
}

}  // namespace
}  // namespace weft::trace

// SPDX-License-Identifier: Apache-2.0
// The promises of a fabric between processes that mpirun starts, of Open MPI and of MPICH.
#include "fabric/mpi/mpi.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "fabric/mpi/library.hpp"

namespace weft {
namespace {

struct Ended {
  int code = -1;
  std::string output;
};

Ended run(const std::string& command) {
  std::FILE* pipe = ::popen(fmt::format("timeout 100 {} 2>&1", command).c_str(), "r");
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

// A launcher, and the name of the fabric that its processes find.
class MpiFabricOf : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::system(fmt::format("command -v {} >/dev/null", launcher()).c_str()) != 0) {
      GTEST_SKIP() << launcher() << " is not installed";
    }
    // Open MPI asks root whether it means it.
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }
  static std::string launcher() {
    const std::string all = GetParam();
    return all.substr(0, all.find(' '));
  }
  static Ended run_ranks(int ranks, const std::string& what = "") {
    return run(fmt::format("{} -n {} {} {}", GetParam(), ranks, WEFT_RANKS, what));
  }
};

TEST_P(MpiFabricOf, keeps_the_promises_of_a_fabric) {
  for (const int ranks : {1, 2, 4}) {
    const Ended ended = run_ranks(ranks);
    EXPECT_EQ(ended.code, 0) << ended.output;
    EXPECT_EQ(ended.output, "ok\n") << ranks;
  }
}

TEST_P(MpiFabricOf, a_process_that_dies_ends_the_others) {
  const Ended ended = run_ranks(3, "die");
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.code, 124) << "they hung";
}

INSTANTIATE_TEST_SUITE_P(both, MpiFabricOf,
                         testing::Values("mpirun.openmpi --oversubscribe", "mpirun.mpich"),
                         [](const auto& info) {
                           return std::string(info.param).find("mpich") == std::string::npos
                                      ? "openmpi"
                                      : "mpich";
                         });

TEST(mpi_fabric, says_in_one_line_what_is_missing) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) ::unsetenv(name);
  const auto alone = open_mpi("mpi");
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().message.find("no MPI started this process"), std::string::npos);
  ASSERT_FALSE(open_mpi("mpi:none").ok());
  const auto library = mpi::load_transport("none");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.error().message.find("install libweft_fabric_none.so"), std::string::npos);
  EXPECT_EQ(library.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(is_mpi("mpi"));
  EXPECT_TRUE(is_mpi("mpi:mpich"));
  EXPECT_FALSE(is_mpi("tcp"));
}

}  // namespace
}  // namespace weft

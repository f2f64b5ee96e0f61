// SPDX-License-Identifier: Apache-2.0
// No schedule is faster than the limit that it is held against.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

struct Case {
  const char* name;
  const char* network;  ///< keys of [network]
  const char* job;      ///< keys of [job]
  const char* size;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
class Limit : public testing::TestWithParam<Case> {};

TEST_P(Limit, is_not_exceeded_by_any_schedule) {
  const ScratchDirectory directory;
  const std::string path = directory / "job.toml";
  write_file(path, fmt::format("[network]\n{}\n[job]\n{}\nsource = \"pattern:?size={}\"\n"
                               "timeslices-per-interval = 32\nduration = \"2ms\"\n",
                               GetParam().network, GetParam().job, GetParam().size));
  const Ended ended = run_weft({"stream", "compare", "--fabric", "sim:" + path, "--json"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  for (const auto& run : ended.json()["runs"]) {
    const double share = run["goodput_of_limit"].get<double>();
    EXPECT_LE(share, 1.0) << run["schedule"];
    EXPECT_GT(share, 0.05) << run["schedule"];
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Limit,
    testing::Values(
        Case{"small_contributions", "topology = \"star:8\"\npreset = \"ib-edr\"",
             "inputs = 4\ncomputes = 4", "1KiB"},
        // Switches with little room, where nodes that write without order block each other.
        Case{"shallow_buffers", "topology = \"star:16\"\npreset = \"aries\"",
             "inputs = 8\ncomputes = 8", "16KiB"},
        Case{"large_contributions", "topology = \"star:16\"\npreset = \"ib-edr\"",
             "inputs = 8\ncomputes = 8", "64KiB"},
        Case{"more_inputs", "topology = \"star:8\"\npreset = \"10gbe\"", "inputs = 5\ncomputes = 2",
             "16KiB"},
        Case{"more_computes", "topology = \"star:8\"\npreset = \"10gbe\"",
             "inputs = 2\ncomputes = 5", "16KiB"},
        Case{"a_tree", "topology = \"fat-tree:16,levels=2,radix=8\"\npreset = \"ib-fdr\"",
             "inputs = 8\ncomputes = 8", "16KiB"}),
    [](const testing::TestParamInfo<Case>& c) { return c.param.name; });

}  // namespace
}  // namespace weft::e2e

// SPDX-License-Identifier: Apache-2.0
// The programs of examples/spmd, among threads: the same result for every number of processes.
#include "programs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spmd/threads_for_test.hpp"

namespace weft::examples {
namespace {

struct ProgramCase {
  std::string name;
  int (*body)(Process&, std::span<const std::string>);
  std::vector<std::string> arguments;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Its first line of output, among so many threads.
std::string output_of(const ProgramCase& test, std::uint32_t ranks) {
  testing::internal::CaptureStdout();
  const int code = spmd::run_program_in_threads(ranks, test.body, test.arguments);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  return first_line(text);
}

class programs : public testing::TestWithParam<ProgramCase> {};

std::string name_of(const testing::TestParamInfo<ProgramCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    all, programs,
    testing::Values(ProgramCase{"jac1d", jac1d, {"2", "60"}}, ProgramCase{"jac2d", jac2d, {"50"}},
                    ProgramCase{"jac2d_until_it_rests", jac2d, {"9", "2000"}},
                    ProgramCase{"jac3d", jac3d, {"14", "30"}},
                    ProgramCase{"jac3d_in_a_grid", jac3d, {"-g", "14", "30"}},
                    ProgramCase{"jac2d_of_hardly_anything", jac2d, {"2"}},
                    ProgramCase{"markov", markov, {"100", "7"}},
                    ProgramCase{"markov_full", markov, {"40", "4000", "3"}},
                    ProgramCase{"markov2", markov2, {"100", "7"}},
                    ProgramCase{"markov2_at_random", markov2, {"-f", "100", "7", "20"}},
                    ProgramCase{"markov2_full", markov2, {"40", "4000"}},
                    ProgramCase{"propagation2d", propagation2d, {"6", "20"}},
                    ProgramCase{"propagation2d_of_one_element", propagation2d, {"1", "5"}},
                    ProgramCase{"spmv", spmv, {"120"}}, ProgramCase{"spmv2", spmv2, {"20", "60"}},
                    ProgramCase{"vsum", vsum, {"10000"}}, ProgramCase{"vsum_of_three", vsum, {"3"}},
                    ProgramCase{"vsum2", vsum2, {"10000"}}, ProgramCase{"vsum3", vsum3, {"10000"}}),
    name_of);

TEST_P(programs, give_the_same_result_for_every_number_of_processes) {
  const std::string alone = output_of(GetParam(), 1);
  EXPECT_NE(alone.find("checksum "), std::string::npos) << alone;
  for (const std::uint32_t ranks : spmd::tested_ranks) {
    EXPECT_EQ(output_of(GetParam(), ranks), alone) << ranks << " processes";
  }
}

TEST(program, jac3d_gives_the_same_with_any_partitioning) {
  EXPECT_EQ(output_of({"", jac3d, {"14", "30"}}, 4), output_of({"", jac3d, {"-g", "14", "30"}}, 4));
}

TEST(program, spmv2_gives_the_same_when_processes_leave) {
  const std::string all_stay = output_of({"", spmv2, {"20", "60"}}, 4);
  for (const std::uint32_t ranks : spmd::tested_ranks) {
    EXPECT_EQ(output_of({"", spmv2, {"-s", "5", "20", "60"}}, ranks), all_stay);
    EXPECT_EQ(output_of({"", spmv2, {"-i", "2", "20", "60"}}, ranks), all_stay);
  }
}

// 0 + 1 + … + 9999 = 49995000.
TEST(program, vsum_sums_up) {
  EXPECT_EQ(output_of({"", vsum, {"10000"}}, 3).substr(0, 50),
            "vsum: sums 49995000 49995000 49995000 49995000, ch");
}

// Three starts of 1 each, of which nothing is lost.
TEST(program, markov2_loses_nothing) {
  EXPECT_EQ(output_of({"", markov2, {"-f", "50", "6", "30"}}, 3).substr(0, 15), "markov2: sum 3,");
}

// One iteration on 4 × 4 by hand: start (x + y) & 6 inside: 2 at (1,1), (1,2) and (2,1), 4 at
// (2,2); edges −5 at y = 0, 10 at y = 3, −10 at x = 0, 5 at x = 3. New: (1,1): (−10 + 2 − 5 + 2) /
// 4 = −2.75; (2,1): (2 + 5 − 5 + 4) / 4 = 1.5; (1,2): (−10 + 4 + 2 + 10) / 4 = 1.5; (2,2): (2 + 5 +
// 2
// + 10) / 4 = 4.75; inside 5. Edges: 4·(−5) + 4·10 + 2·(−10) + 2·5 = 10.
TEST(program, jac2d_computes_means_of_four_neighbours) {
  const std::string line = output_of({"", jac2d, {"4", "1"}}, 3);
  EXPECT_NE(line.find("sum 15,"), std::string::npos) << line;
}

struct BadCase {
  std::string name;
  int (*body)(Process&, std::span<const std::string>);
  std::vector<std::string> arguments;
  std::string message;
};

class bad_arguments : public testing::TestWithParam<BadCase> {};

INSTANTIATE_TEST_SUITE_P(
    all, bad_arguments,
    testing::Values(
        BadCase{"missing",
                jac1d,
                {},
                "jac1d: KILO is missing; usage: jac1d [-c DIR [-e EVERY]] KILO [ITERATIONS]\n"},
        BadCase{"no_number",
                jac3d,
                {"-g", "x7"},
                "jac3d: SIDE is 'x7', not a number from 1; usage: jac3d [-c DIR [-e EVERY]] [-g] "
                "SIDE [ITERATIONS]\n"},
        BadCase{"too_small",
                vsum,
                {"0"},
                "vsum: ELEMENTS is '0', not a number from 1; usage: vsum ELEMENTS\n"},
        BadCase{"too_many", spmv, {"5", "6"}, "spmv: '6' is too much; usage: spmv ROWS\n"}),
    [](const auto& info) { return info.param.name; });

TEST_P(bad_arguments, are_refused_with_one_line) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(spmd::run_program_in_threads(3, GetParam().body, GetParam().arguments), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), GetParam().message);
}

}  // namespace
}  // namespace weft::examples

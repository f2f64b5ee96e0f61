// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/target.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "emulate/sweep/directory_for_test.hpp"

namespace weft::emulate {
namespace {

TEST(sweep_target, reads_what_the_hypervisor_took_from_the_processors) {
  EXPECT_DOUBLE_EQ(
      stolen_share("cpu  100 0 50 800 0 0 0 10 0 0\ncpu0 1", "cpu  160 0 50 810 0 0 0 40 7 7"),
      0.3);
  EXPECT_EQ(stolen_share("", ""), 0);
  EXPECT_EQ(stolen_share("cpu 1 2 3", "cpu 1 2 3"), 0);
}

TEST(sweep_target, reads_how_long_processes_waited_for_a_processor) {
  EXPECT_DOUBLE_EQ(waited_us("some avg10=95.79 avg60=72.94 avg300=86.63 total=23103923058"),
                   23103923058.0);
  EXPECT_EQ(waited_us(""), 0);
  EXPECT_EQ(waited_us("full avg10=0.00 total=7"), 0);
}

TEST(sweep_target, takes_no_file_that_a_run_did_not_write) {
  const DirectoryForTest directory;
  const std::string path = directory / "out.txt";
  const WrittenFile fresh(path);
  EXPECT_NE(fresh.text().error().message.find("is not there"), std::string::npos);
  std::ofstream(path) << "GUPS 1\n";
  EXPECT_EQ(*fresh.text(), "GUPS 1\n");
  const WrittenFile stale(path);
  EXPECT_NE(stale.text().error().message.find("did not write it"), std::string::npos);
  std::ofstream(path, std::ios::app) << "GUPS 2\n";
  EXPECT_EQ(*stale.text(), "GUPS 1\nGUPS 2\n");
}

}  // namespace
}  // namespace weft::emulate

// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/target.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "emulate/sweep/directory_for_test.hpp"

namespace weft::emulate {
namespace {

TEST(sweep_target, reads_what_the_hypervisor_took_from_the_processors) {
  EXPECT_DOUBLE_EQ(
      stolen_share("cpu  100 0 50 800 0 0 0 10 0 0\ncpu0 1", "cpu  160 0 50 810 0 0 0 40 7 7"),
      0.3);
  EXPECT_EQ(stolen_share("", ""), 0);
  EXPECT_EQ(stolen_share("cpu 1 2 3", "cpu 1 2 3"), 0);
  // The count went back.
  EXPECT_EQ(stolen_share("cpu  0 0 0 0 0 0 0 10", "cpu  0 0 0 90 0 0 0 9"), 0);
}

TEST(sweep_target, reads_how_long_processes_waited_for_a_processor) {
  EXPECT_DOUBLE_EQ(waited_us("some avg10=95.79 avg60=72.94 avg300=86.63 total=23103923058"),
                   23103923058.0);
  EXPECT_EQ(waited_us(""), 0);
  EXPECT_EQ(waited_us("full avg10=0.00 total=7"), 0);
}

TEST(sweep_target, finds_the_calibration_of_the_layer_that_a_program_uses) {
  const DirectoryForTest directory;
  const std::string path = directory / "calibration.json";
  ::setenv("WEFT_CALIBRATION", path.c_str(), 1);
  const LayerCalibration mpich{250, 1e10, 40};
  const LayerCalibration sockets{20'000, 1e9, 300};
  ASSERT_TRUE(CalibrationFile::create(path)->store({{"ucx-mpich", mpich}, {"sockets", sockets}}));
  SweepQuestion question{.metric = {}, .links = {}, .server = {}, .command = {"sh", "-c", "true"}};
  EXPECT_EQ(*calibration_in_use(question), mpich);
  question.server = "server {server}";
  EXPECT_EQ(*calibration_in_use(question), sockets);
  question.server = "server {socket}";  // a Unix socket, which has none
  EXPECT_EQ(*calibration_in_use(question), std::nullopt);
  question.server.clear();
  ASSERT_TRUE(CalibrationFile::create(path)->store({{"sockets", sockets}}));
  EXPECT_EQ(*calibration_in_use(question), std::nullopt);
  question.command = {"no-such-program"};
  EXPECT_FALSE(calibration_in_use(question));
  ::unsetenv("WEFT_CALIBRATION");
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

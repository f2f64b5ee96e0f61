// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "emulate/calibration.hpp"

namespace weft::emulate {
namespace {

class calibration_file : public ::testing::Test {
 protected:
  Result<Calibration> load(const std::string& latency, const std::string& bandwidth,
                           const std::string& overhead) const {
    std::ofstream(path_) << R"({"layers": {"ucx-mpich": {"latency_ns": )" << latency
                         << R"(, "bandwidth_bytes_per_s": )" << bandwidth << R"(, "overhead_ns": )"
                         << overhead << "}}}";
    return load_calibration(path_);
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  // Tests run beside each other: each process has a file of its own.
  const std::string path_ = ::testing::TempDir() + std::to_string(::getpid()) + "-calibration.json";
};

TEST_F(calibration_file, has_the_figures_of_a_machine) {
  const auto calibration = load("250", "3e9", "-20");
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_DOUBLE_EQ(calibration->at("ucx-mpich").latency_ns, 250);
  EXPECT_DOUBLE_EQ(calibration->at("ucx-mpich").overhead_ns, -20);
}

TEST_F(calibration_file, with_figures_that_no_machine_has_is_refused) {
  for (const auto& [latency, bandwidth, overhead] : {std::array{"-1", "3e9", "0"},
                                                     {"1.1e10", "3e9", "0"},
                                                     {"250", "0", "0"},
                                                     {"250", "-3e9", "0"},
                                                     {"250", "2e13", "0"},
                                                     {"250", "3e9", "1.1e6"},
                                                     {"250", "3e9", "-1e300"},
                                                     {"null", "3e9", "0"}}) {
    const auto calibration = load(latency, bandwidth, overhead);
    ASSERT_FALSE(calibration) << latency << ' ' << bandwidth << ' ' << overhead;
    EXPECT_EQ(calibration.error().code, ErrorCode::corrupt);
    EXPECT_NE(calibration.error().message.find(path_), std::string::npos);
    EXPECT_NE(calibration.error().message.find("anew by weft calibrate"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::emulate

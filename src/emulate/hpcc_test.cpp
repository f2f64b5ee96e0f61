// SPDX-License-Identifier: Apache-2.0
// HPC Challenge, as Debian packages it, under emulation: it verifies its own results.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/mpi_launcher.hpp"
#include "emulate/probe.hpp"

namespace weft::emulate {
namespace {

namespace fs = std::filesystem;

/// The packaged example on two ranks and with a problem that takes seconds.
bool write_input(const fs::path& to) {
  std::ifstream example("/usr/share/doc/hpcc/examples/_hpccinf.txt");
  if (!example) return false;
  std::ofstream input(to);
  for (std::string line; std::getline(example, line);) {
    if (line.ends_with(" Ns")) line = "200 Ns";
    if (line.ends_with(" Ps")) line = "1 Ps";
    input << line << "\n";
  }
  return true;
}

TEST(hpcc, it_verifies_its_results_and_reports_the_network_that_was_asked_for) {
  auto probe = find_probe("openmpi");
  if (!probe || find_program("hpcc").empty()) GTEST_SKIP() << "hpcc or its MPI is not installed";
  const fs::path directory = fs::path(::testing::TempDir()) / "emulate_hpcc";
  fs::create_directories(directory);
  fs::remove(directory / "hpccoutf.txt");
  if (!write_input(directory / "hpccinf.txt")) GTEST_SKIP() << "hpcc's example is not installed";
  fs::current_path(directory);
  EmulationRequest request;
  request.command = probe->launcher;
  request.command.emplace_back("hpcc");
  request.use_ucx = true;
  request.latency.value = Duration::microseconds(20);
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  std::stringstream text;
  text << std::ifstream("hpccoutf.txt").rdbuf();
  const std::string output = text.str();
  EXPECT_NE(output.find("Success=1"), std::string::npos);
  EXPECT_EQ(output.find("FAILED"), std::string::npos);
  const std::string name = "MinPingPongLatency_usec=";
  const auto at = output.find(name);
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::strtod(output.c_str() + at + name.size(), nullptr), 20);
}

}  // namespace
}  // namespace weft::emulate

// SPDX-License-Identifier: Apache-2.0
// Simulations that the user ends early.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <set>

#include "scenario_text.hpp"
#include "soundness.hpp"

namespace weft::e2e {
namespace {

/// More simulated time than anybody waits for, and a fault whose line in the log says that the
/// stream flows.
std::string endless_job() {
  std::string text = small_job;
  const std::string end = "timeslices = 300";
  text.replace(text.find(end), end.size(), "duration = \"600s\"");
  return "faults = [\"at=1ms stop host1 for=10us\"]\n" + text;
}

void expect_sound_and_interrupted(Ended ended, int number) {
  EXPECT_EQ(ended.code, 128 + number) << ended.describe();
  ended.code = 0;  // the rest is as of any good end
  expect_all_complete(ended);
  EXPECT_EQ(ended.json()["interrupted"], true) << ended.describe();
  EXPECT_GT(figures_of(ended).complete, 0u) << ended.describe();
}

TEST(simulation_interrupt, ends_the_stream_in_agreement_and_the_record_says_so) {
  ScratchDirectory directory;
  write_file(directory / "job.toml", endless_job());
  for (const auto& [simulate, number] : {std::pair(true, SIGINT), std::pair(true, SIGTERM),
                                         std::pair(false, SIGINT), std::pair(false, SIGTERM)}) {
    std::vector<std::string> arguments{"simulate", directory / "job.toml"};
    if (!simulate) {
      arguments = {"stream", "local", "--fabric", "sim:" + (directory / "job.toml")};
    }
    arguments.insert(arguments.end(), {"--json", "--log", "info", "--out", directory / "out"});
    WeftProcess process(arguments);
    ASSERT_TRUE(process.says("end of stop host1"));
    process.signal(number);
    expect_sound_and_interrupted(process.wait(), number);
    const auto record = nlohmann::json::parse(read_file(directory / "out/run.json"));
    EXPECT_EQ(record["interrupted"], true);
    ASSERT_EQ(record["faults"].size(), 2u);
    EXPECT_EQ(record["faults"][0]["what"], "stop host1");
  }
}

TEST(simulation_interrupt, a_second_one_kills) {
  ScratchDirectory directory;
  // A node that stays paused for minutes lets nobody come to an end before it has resumed.
  std::string text = endless_job();
  const std::string fault = "stop host1 for=10us";
  text.replace(text.find(fault), fault.size(), "clock host1 +1ms\", \"at=2ms stop host4 for=500s");
  write_file(directory / "job.toml", text);
  WeftProcess process({"simulate", directory / "job.toml", "--json", "--log", "info", "--set",
                       "job.peer-timeout=1000s"});
  ASSERT_TRUE(process.says("stop host4"));
  process.signal(SIGINT);
  ASSERT_TRUE(process.says("a second signal kills"));
  process.signal(SIGINT);
  const Ended ended = process.wait(20);
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 128 + SIGINT) << ended.describe();
}

std::set<std::string> files_below(const ScratchDirectory& directory) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.is_regular_file()) files.insert(entry.path().string());
  }
  return files;
}

/// Waits until the process catches signals, and some time more, in which the simulation begins.
bool catches_signals(const WeftProcess& process) {
  const std::string status = fmt::format("/proc/{}/status", process.pid());
  for (int i = 0; i < 3000; ++i) {
    const std::string text = read_file(status);
    const std::size_t caught = text.find("SigCgt:");
    const std::uint64_t signals =
        caught == std::string::npos ? 0 : std::stoull(text.substr(caught + 7), nullptr, 16);
    if ((signals >> (SIGINT - 1) & 1) != 0) return ::usleep(300'000) == 0;
    ::usleep(10'000);
  }
  return false;
}

void expect_one_line_and_no_result(const Ended& ended, int number) {
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 128 + number) << ended.describe();
  EXPECT_EQ(ended.output, "") << ended.describe();
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
  EXPECT_NE(ended.errors.find("interrupted after "), std::string::npos) << ended.describe();
  EXPECT_NE(ended.errors.find(" of 600 s simulated"), std::string::npos) << ended.describe();
}

TEST(traffic_interrupt, says_how_far_it_came_and_leaves_nothing_half_written) {
  const std::string end = "duration = \"100us\"";
  std::string endless = small_traffic;
  endless.replace(endless.find(end), end.size(), "duration = \"600s\"");
  for (const int number : {SIGINT, SIGTERM}) {
    for (const bool uniform : {false, true}) {
      ScratchDirectory directory;
      write_file(directory / "t.toml", endless);
      std::filesystem::create_directory(directory / "out");
      std::vector<std::string> arguments{"simulate", directory / "t.toml"};
      if (uniform) {
        arguments = {"simulate", "uniform", "--topology", "star:16", "--duration", "600s"};
      }
      arguments.insert(arguments.end(),
                       {"--json", "--out", directory / "out", "--trace", directory / "trace.json"});
      const std::set<std::string> before = files_below(directory);
      WeftProcess process(arguments);
      ASSERT_TRUE(catches_signals(process));
      process.signal(number);
      expect_one_line_and_no_result(process.wait(20), number);
      EXPECT_EQ(files_below(directory), before);
    }
  }
}

TEST(workload_interrupt, gives_the_figures_so_far_and_says_so_in_one_line) {
  ScratchDirectory directory;
  write_file(directory / "w.toml", R"([network]
topology = "star:4"
[[jobs]]
kind = "workload"
pattern = "all-to-all"
ranks = 4
message = "1KiB"
iterations = 1000000000
)");
  WeftProcess process({"simulate", directory / "w.toml", "--json"});
  ASSERT_TRUE(catches_signals(process));
  process.signal(SIGTERM);
  const Ended ended = process.wait(20);
  EXPECT_EQ(ended.code, 128 + SIGTERM) << ended.describe();
  EXPECT_EQ(ended.json()["jobs"][0]["ended"], false) << ended.describe();
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
  EXPECT_NE(ended.errors.find("a signal ended it after "), std::string::npos) << ended.describe();
}

TEST(traffic_interrupt, ends_all_parts_of_a_divided_simulation) {
  WeftProcess process(
      {"simulate", "uniform", "--topology", "fat-tree:64", "--duration", "600s", "--parts", "3"});
  ASSERT_TRUE(catches_signals(process));
  process.signal(SIGINT);
  expect_one_line_and_no_result(process.wait(20), SIGINT);
}

}  // namespace
}  // namespace weft::e2e

// SPDX-License-Identifier: Apache-2.0
// Simulations that the user ends early.
#include <gtest/gtest.h>

#include <csignal>

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

}  // namespace
}  // namespace weft::e2e

// SPDX-License-Identifier: Apache-2.0
// Streams between network namespaces, over the kernel's TCP and switch ports that drop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

class StreamTestbed : public testing::Test {
 protected:
  void SetUp() override {
    const Ended tried =
        run_weft({"testbed", "run", "--hosts", "2", "--time-limit", "20s", "--", "true"}, 40);
    if (tried.code != 0) GTEST_SKIP() << "no testbed on this machine: " << tried.errors;
  }

  static Ended run(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "stream", "local",     "--inputs",       "4",        "--computes",
        "4",      "--testbed", "100Mbit,128KiB", "--source", "pattern:?size=32KiB",
        "--sink", "check:",    "--no-limit",     "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_weft(std::move(arguments), 90);
  }
};

TEST_F(StreamTestbed, delivers_every_timeslice_by_every_schedule) {
  for (const char* schedule : {"best-effort", "dfs", "grant"}) {
    expect_all_complete(run(by_schedule({"--timeslices", "500"}, schedule, 32)));
  }
}

TEST_F(StreamTestbed, pulled_cable_loses_nothing_when_it_is_plugged_in_again) {
  for (const char* host : {"host1", "host5"}) {
    const Ended ended =
        run({"--duration", "4s", "--fault", std::string("at=1s link-down ") + host + " for=1s"});
    expect_all_complete(ended);
  }
}

TEST_F(StreamTestbed, packets_that_are_lost_lose_no_timeslice) {
  expect_all_complete(run({"--duration", "3s", "--fault", "at=1s loss host2 1% for=1s"}));
}

TEST_F(StreamTestbed, compute_that_is_killed_costs_nothing) {
  const Ended ended =
      run({"--duration", "3s", "--peer-timeout", "1s", "--fault", "at=1s kill host5"});
  expect_nothing_lost(ended);
  EXPECT_EQ(figures_of(ended).incomplete, 0u) << ended.describe();
}

TEST_F(StreamTestbed, cable_that_stays_pulled_costs_one_node) {
  const Ended ended = run({"--duration", "4s", "--peer-timeout", "1s", "--schedule", "grant",
                           "--fault", "at=1s link-down host6"});
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  EXPECT_EQ(figures_of(ended).errors, 0u) << ended.describe();
}

// Connections that carry nothing end after three seconds: see set_keepalive.
const char* const halves = "at=1s partition host0-1,host4-5|host2-3,host6-7 for=4s";

TEST_F(StreamTestbed, of_two_halves_of_the_input_nodes_only_one_goes_on) {
  const Ended ended =
      run({"--duration", "7s", "--peer-timeout", "1s", "--quorum", "majority", "--fault", halves});
  expect_nothing_lost(ended);
  EXPECT_GT(nlohmann::json::parse(ended.output)["quorum_wait_s"], 0) << ended.describe();
  EXPECT_THAT(ended.errors, testing::HasSubstr("no majority"));
}

TEST_F(StreamTestbed, halves_that_both_go_on_say_what_they_repeat) {
  const Ended ended =
      run({"--duration", "7s", "--peer-timeout", "1s", "--quorum", "none", "--fault", halves});
  expect_nothing_lost(ended);
  EXPECT_GT(nlohmann::json::parse(ended.output)["checks"]["repeated"], 0) << ended.describe();
}

// Input 1 belongs to the majority, dies and begins anew beside input 2: they are a majority, too.
TEST_F(StreamTestbed, input_that_begins_anew_on_the_other_side_repeats_nothing_silently) {
  const Ended ended =
      run_weft({"stream",         "local",
                "--inputs",       "3",
                "--computes",     "4",
                "--testbed",      "100Mbit,128KiB",
                "--source",       "pattern:?size=32KiB",
                "--sink",         "check:",
                "--no-limit",     "--json",
                "--duration",     "8s",
                "--peer-timeout", "1s",
                "--quorum",       "majority",
                "--fault",        "at=1s partition host0-1,host3-4|host2,host5-6",
                "--fault",        "at=2500ms kill host1",
                "--fault",        "at=3s partition host0,host3-4|host1-2,host5-6 for=2500ms",
                "--fault",        "at=3200ms restart host1"},
               90);
  expect_nothing_lost(ended);
  EXPECT_GT(nlohmann::json::parse(ended.output)["checks"]["repeated"], 0) << ended.describe();
}

TEST_F(StreamTestbed, compute_that_is_stopped_for_long_is_gone_on_without) {
  const Ended ended =
      run({"--duration", "5s", "--stall-timeout", "300ms", "--fault", "at=1s stop host5 for=2s"});
  expect_nothing_lost(ended);
  EXPECT_THAT(ended.errors, testing::HasSubstr("node 5 takes nothing and does not answer"));
}

/// The log of a run names its schedule; that of its twin does not.
TEST_F(StreamTestbed, signal_during_a_twin_leaves_the_finished_run_whole_and_begins_no_other) {
  ScratchDirectory directory;
  WeftProcess process({"stream",
                       "compare",
                       "--testbed",
                       "100Mbit,4MiB",
                       "--twin",
                       "--inputs",
                       "3",
                       "--computes",
                       "3",
                       "--duration",
                       "2s",
                       "--schedules",
                       "dfs,grant",
                       "--fault",
                       "at=1ms stop host1 for=1ms",
                       "--log",
                       "info",
                       "--json",
                       "--out",
                       directory / "out"});
  ASSERT_TRUE(process.says("info: fault: stop host1", 60));
  process.signal(SIGINT);
  const Ended ended = process.wait(30);
  EXPECT_EQ(ended.code, 128 + SIGINT) << ended.describe();
  EXPECT_THAT(ended.errors, testing::HasSubstr("a signal ended the twin of dfs")) << ended.errors;
  EXPECT_THAT(ended.errors, testing::HasSubstr("before these schedules: grant")) << ended.errors;
  const auto record = nlohmann::json::parse(read_file(directory / "out/compare.json"));
  ASSERT_EQ(record["runs"].size(), 1u) << ended.describe();
  EXPECT_EQ(record["runs"][0]["schedule"], "dfs");
  EXPECT_EQ(record["runs"][0]["interrupted"], false) << ended.describe();
}

}  // namespace
}  // namespace weft::e2e

// SPDX-License-Identifier: Apache-2.0
// Several jobs in one scenario.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "soundness.hpp"

namespace weft::e2e {
namespace {

const std::string two_jobs = R"(seed = 3
faults = ["at=1ms stop second:host1 for=300us"]
[network]
topology = "star:10"
preset = "ib-edr"
[[levels]]
weight = 7
changes = [{at = "2ms", weight = 1}]
[[levels]]
[job]
inputs = 3
computes = 3
sink = "check:"
duration = "4ms"
[[jobs]]
name = "second"
start = "1ms"
level = 1
inputs = 2
computes = 2
schedule = "dfs"
timeslices-per-interval = 32
sink = "check:"
duration = "3ms"
peer-timeout = "5ms"
)";

TEST(several_jobs, each_has_its_figures_and_its_record) {
  ScratchDirectory directory;
  write_file(directory / "two.toml", two_jobs);
  const Ended ended = run_weft({"simulate", directory / "two.toml", "--json", "--out",
                                directory / "out", "--check-determinism"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto json = ended.json();
  ASSERT_EQ(json["jobs"].size(), 2u) << ended.describe();
  EXPECT_EQ(json["jobs"][0]["name"], "job");
  EXPECT_EQ(json["jobs"][1]["name"], "second");
  EXPECT_EQ(json["jobs"][1]["level"], 1);
  EXPECT_EQ(json["jobs"][1]["schedule"], "dfs");
  EXPECT_EQ(json["simulation"]["deterministic"], true);
  for (const auto& job : json["jobs"]) {
    EXPECT_GT(job["timeslices_complete"], 10) << ended.describe();
    EXPECT_EQ(job["timeslices_lost"], 0) << ended.describe();
    EXPECT_EQ(job["checks"]["errors"], 0) << ended.describe();
    EXPECT_TRUE(job["goodput_of_limit"].is_number()) << ended.describe();
  }
  const auto second = nlohmann::json::parse(read_file(directory / "out/second/run.json"));
  EXPECT_EQ(second["job"], "second");
  ASSERT_EQ(second["faults"].size(), 2u);
  EXPECT_EQ(second["faults"][1]["what"], "end of stop host1");
  EXPECT_NE(read_file(directory / "out/job/report.html"), "");
  const auto both = nlohmann::json::parse(read_file(directory / "out/compare.json"));
  EXPECT_EQ(both["runs"].size(), 2u);
  EXPECT_NE(read_file(directory / "out/report.html").find("Jobs side by side"), std::string::npos);
}

/// Runs the example of a stream beside workloads and a trace, with more settings.
Ended three_kinds(std::vector<std::string> settings) {
  std::vector<std::string> words = {"simulate", WEFT_EXAMPLES "jobs-of-three-kinds.toml", "--json",
                                    "--no-limit"};
  for (std::string& setting : settings) {
    words.push_back("--set");
    words.push_back(std::move(setting));
  }
  return run_weft(std::move(words));
}

TEST(several_jobs, workloads_run_beside_a_stream_and_come_and_go) {
  ScratchDirectory directory;
  const Ended ended = run_weft({"simulate", WEFT_EXAMPLES "jobs-of-three-kinds.toml", "--json",
                                "--no-limit", "--check-determinism", "--out", directory / "out"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto json = ended.json();
  ASSERT_EQ(json["jobs"].size(), 4u) << ended.describe();
  const auto& stream = json["jobs"][0];
  EXPECT_EQ(stream["timeslices_complete"], 60) << ended.describe();
  EXPECT_EQ(stream["checks"]["errors"], 0) << ended.describe();
  const auto& neighbours = json["jobs"][1];
  EXPECT_EQ(neighbours["name"], "neighbours");
  EXPECT_EQ(neighbours["ended"], true);
  EXPECT_EQ(neighbours["least_iterations"], 50) << ended.describe();
  EXPECT_EQ(neighbours["most_iterations"], 50) << ended.describe();
  const auto& visitor = json["jobs"][2];
  EXPECT_EQ(visitor["ended"], false);
  EXPECT_DOUBLE_EQ(visitor["elapsed_s"], 500e-6) << ended.describe();
  EXPECT_GT(visitor["least_iterations"], 3) << ended.describe();
  const auto& ring = json["jobs"][3];
  EXPECT_EQ(ring["kind"], "trace");
  EXPECT_EQ(ring["file"], "../traces/ring-8.goal");
  EXPECT_EQ(ring["messages"], 24) << ended.describe();
  EXPECT_EQ(ring["ended"], true);
  EXPECT_EQ(json["simulation"]["deterministic"], true);
  const std::string network = read_file(directory / "out/network.json");
  EXPECT_THAT(network, testing::HasSubstr("\"name\":\"visitor\""));
  EXPECT_THAT(network, testing::HasSubstr("{\"level\":1,\"packets\":"));
}

TEST(several_jobs, workloads_run_without_any_stream) {
  const Ended ended = three_kinds(
      {"jobs=[{kind=\"workload\", ranks=4, iterations=5}, {kind=\"workload\", ranks=2}]"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.json()["jobs"][0]["least_iterations"], 5) << ended.describe();
  EXPECT_EQ(ended.json()["jobs"][1]["ended"], false) << ended.describe();
}

TEST(several_jobs, traces_have_the_noise_and_messages_the_headers_that_they_are_given) {
  const auto elapsed_s = [](const std::string& more, const std::string& header) {
    const Ended ended = three_kinds(
        {"jobs=[{kind=\"trace\", file=\"../traces/ring-8.goal\"" + more + "}]", header});
    EXPECT_EQ(ended.code, 0) << ended.describe();
    return ended.code == 0 ? ended.json()["jobs"][0]["elapsed_s"].get<double>() : 0;
  };
  const double exact = elapsed_s("", "fabric.header=32");
  EXPECT_DOUBLE_EQ(elapsed_s(", noise=0", "fabric.header=32"), exact);
  EXPECT_NE(elapsed_s(", noise=0.5", "fabric.header=32"), exact);
  EXPECT_GT(elapsed_s("", "fabric.header=4000"), exact);
}

TEST(several_jobs, workloads_that_cannot_be_are_refused_with_the_fix) {
  const auto refusal = [](const std::string& jobs) {
    const Ended ended = three_kinds({"jobs=[" + jobs + "]"});
    EXPECT_EQ(ended.code, 2) << ended.describe();
    return ended.errors;
  };
  EXPECT_THAT(refusal("{kind=\"work\", ranks=4}"), testing::HasSubstr("workload or trace"));
  EXPECT_THAT(refusal("{kind=\"trace\"}"), testing::HasSubstr("write the trace's file"));
  EXPECT_THAT(refusal("{kind=\"trace\", file=\"none.goal\"}"), testing::HasSubstr("none.goal"));
  EXPECT_THAT(refusal("{kind=\"trace\", file=\"../traces/ring-8.goal\", ranks=4}"),
              testing::HasSubstr("unknown key 'ranks'; a trace has name, kind, file"));
  EXPECT_THAT(refusal("{kind=\"workload\", ranks=4}"), testing::HasSubstr("iterations = 100"));
  EXPECT_THAT(refusal("{kind=\"workload\", ranks=4, iterations=\"x\"}"),
              testing::HasSubstr("whole number"));
  EXPECT_THAT(refusal("{kind=\"workload\", start=\"2ms\", end=\"1ms\"}"),
              testing::HasSubstr("make end larger than start"));
  EXPECT_THAT(refusal("{kind=\"workload\", computation=0.5, iterations=5}"),
              testing::HasSubstr("write compute"));
  EXPECT_THAT(refusal("{kind=\"workload\", ranks=80, iterations=5}"), testing::HasSubstr("64"));
  for (const std::string key : {"arrives", "leaves"}) {
    EXPECT_THAT(refusal("{kind=\"workload\", ranks=4, iterations=5, " + key + "=3}"),
                testing::HasSubstr("only weft qos has windows"));
  }
  EXPECT_THAT(refusal("{kind=\"workload\", pattern=\"mini-paradis\", iterations=5, ages=3}"),
              testing::HasSubstr("only weft qos has windows"));
  const Ended parts = run_weft(
      {"simulate", WEFT_EXAMPLES "jobs-of-three-kinds.toml", "--parts", "2", "--no-limit"});
  EXPECT_EQ(parts.code, 2) << parts.describe();
  EXPECT_THAT(parts.errors, testing::HasSubstr("leave it out"));
}

TEST(several_jobs, cannot_stand_behind_a_command_line) {
  ScratchDirectory directory;
  write_file(directory / "two.toml", two_jobs);
  const Ended ended = run_weft({"stream", "local", "--fabric", "sim:" + (directory / "two.toml")});
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_THAT(ended.errors, testing::HasSubstr("weft simulate"));
}

}  // namespace
}  // namespace weft::e2e

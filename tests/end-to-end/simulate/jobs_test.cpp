// SPDX-License-Identifier: Apache-2.0
// Jobs in simulations: every schedule, every fault, the same twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "scenario_text.hpp"
#include "soundness.hpp"

namespace weft::e2e {
namespace {

class SimulatedJob : public testing::Test {
 protected:
  void SetUp() override { write_file(path_, small_job); }

  Ended stream(std::vector<std::string> more, const char* command = "local") {
    std::vector<std::string> arguments{"stream", command, "--fabric", "sim:" + path_, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_weft(std::move(arguments));
  }
  Ended simulate(std::vector<std::string> more) {
    more.insert(more.begin(), {"simulate", path_, "--json"});
    return run_weft(std::move(more));
  }

  ScratchDirectory directory_;
  std::string path_ = directory_ / "job.toml";
};

TEST_F(SimulatedJob, builds_every_timeslice_by_every_schedule) {
  for (const char* schedule : {"best-effort", "offset", "dfs", "grant"}) {
    const Ended ended = stream({"--schedule", schedule, "--no-limit"});
    expect_all_complete(ended);
    EXPECT_GE(figures_of(ended).complete, 300u) << ended.describe();
    EXPECT_EQ(ended.json()["schedule"], schedule);
    EXPECT_EQ(ended.json()["fabric"], "sim:" + path_);
    EXPECT_EQ(ended.json()["seed"], 3);
  }
}

TEST_F(SimulatedJob, the_command_line_goes_before_the_scenario) {
  const Ended ended =
      stream({"--inputs", "5", "--computes", "2", "--seed", "9", "--timeslices", "50"});
  expect_all_complete(ended);
  const auto json = ended.json();
  EXPECT_EQ(json["inputs"], 5);
  EXPECT_EQ(json["computes"], 2);
  EXPECT_EQ(json["seed"], 9);
  EXPECT_LT(json["timeslices_sent"], 300);
  EXPECT_TRUE(json["goodput_of_limit"].is_number()) << ended.describe();
}

TEST_F(SimulatedJob, an_end_on_the_command_line_is_the_only_one) {
  const Ended longer = stream({"--duration", "20ms", "--no-limit"});
  expect_all_complete(longer);
  EXPECT_GT(longer.json()["timeslices_sent"], 300) << longer.describe();
  const Ended counted = stream({"--timeslices", "400", "--no-limit"});
  expect_all_complete(counted);
  EXPECT_EQ(counted.json()["timeslices_sent"], 400) << counted.describe();
}

TEST_F(SimulatedJob, settings_go_before_the_scenario) {
  const Ended slow = stream({"--set", "network.host-link.rate=1Gbit", "--set", "job.inputs=2",
                             "--no-limit", "--timeslices", "30"});
  expect_all_complete(slow);
  EXPECT_EQ(slow.json()["inputs"], 2);
  EXPECT_LT(slow.json()["goodput_bytes_per_s"], 3 * 125e6) << slow.describe();
  const Ended simulated = simulate(
      {"--set", "network.host-link.rate=1Gbit", "--set", "job.timeslices=30", "--no-limit"});
  expect_all_complete(simulated);
  EXPECT_LT(simulated.json()["goodput_bytes_per_s"], 3 * 125e6) << simulated.describe();
}

TEST_F(SimulatedJob, one_ring_for_all_pairs_changes_nothing_but_memory) {
  const std::vector<std::string> bare{"--sink", "null:", "--set", "fabric.copied-bytes=64",
                                      "--no-limit"};
  std::vector<std::string> shared = bare;
  shared.push_back("--one-ring");
  const auto one = stream(shared).json();
  const auto many = stream(bare).json();
  EXPECT_EQ(one["timeslices_complete"], 300);
  EXPECT_EQ(one, many);
}

TEST_F(SimulatedJob, published_figures_stand_beside_those_of_the_runs) {
  write_file(directory_ / "figures.toml",
             "[[reference]]\nschedule = \"offset\"\nmetric = \"spread_ratio\"\n"
             "bound = \"at least\"\nvalue = 30\nsource = \"a paper\"\n");
  const Ended ended = stream({"--schedules", "best-effort,offset", "--reference",
                              directory_ / "figures.toml", "--limit-sizes", "16KiB"},
                             "compare");
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto runs = ended.json()["runs"];
  ASSERT_EQ(runs.size(), 3u) << ended.describe();
  EXPECT_TRUE(runs[0]["published"].empty());
  ASSERT_EQ(runs[1]["published"].size(), 1u);
  EXPECT_EQ(runs[1]["published"][0]["value"], 30);
  EXPECT_GT(runs[1]["published"][0]["ours"], 0);
  EXPECT_EQ(runs[2]["schedule"], "limit");
}

TEST_F(SimulatedJob, wrong_references_are_refused_with_their_line) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", ":1: "},
      {"[reference]\n", ":1: "},
      {"[[reference]]\nschedule = \"dfs\"\n", "no metric"},
      {"[[reference]]\nschedule = \"dfs\"\nmetric = \"speed\"\n", ":3: 'speed' is no metric"},
      {"[[reference]]\nschedule = \"dfs\"\nmetric = \"buffer_fill\"\nvalue = \"1\"\n", ":4: value"},
      {"[[reference]]\nschedul = \"dfs\"\n", ":2: unknown key 'schedul'"},
      {"[[reference]]\nschedule = \n", ":2: "}};
  for (const auto& [text, word] : mistakes) {
    write_file(directory_ / "figures.toml", text);
    const Ended ended = stream({"--reference", directory_ / "figures.toml"});
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_NE(ended.errors.find(word), std::string::npos) << ended.describe();
  }
}

TEST_F(SimulatedJob, compare_and_limit_run_in_it) {
  const Ended compared = stream({"--schedules", "offset,grant"}, "compare");
  ASSERT_EQ(compared.code, 0) << compared.describe();
  ASSERT_EQ(compared.json()["runs"].size(), 2u) << compared.describe();
  EXPECT_EQ(compared.json()["runs"][1]["schedule"], "grant");
  const Ended limit = stream({"--sizes", "16KiB..32KiB", "--mix"}, "limit");
  ASSERT_EQ(limit.code, 0) << limit.describe();
  ASSERT_EQ(limit.json()["limit"].size(), 4u) << limit.describe();
  for (const auto& row : limit.json()["limit"]) {
    EXPECT_GT(row["aggregate_bytes_per_s"], 0) << limit.describe();
  }
}

TEST_F(SimulatedJob, does_the_same_twice) {
  const Ended ended = simulate({"--check-determinism", "--no-limit"});
  expect_all_complete(ended);
  EXPECT_EQ(ended.json()["simulation"]["deterministic"], true);
  const Ended again = simulate({"--no-limit"});
  EXPECT_EQ(again.json()["simulation"]["trace_hash"], ended.json()["simulation"]["trace_hash"]);
  const Ended other = simulate({"--no-limit", "--seed", "4"});
  EXPECT_NE(other.json()["simulation"]["trace_hash"], ended.json()["simulation"]["trace_hash"]);
  EXPECT_EQ(other.json()["seed"], 4);
}

TEST_F(SimulatedJob, says_what_the_simulation_did) {
  const Ended ended = simulate({});
  expect_all_complete(ended);
  const auto simulation = ended.json()["simulation"];
  for (const char* field : {"events", "packet_hops", "simulated_s", "wall_s"}) {
    EXPECT_GT(simulation[field], 0) << field << ended.describe();
  }
  EXPECT_EQ(simulation["trace_hash"].get<std::string>().size(), 16u);
  EXPECT_TRUE(ended.json()["goodput_of_limit"].is_number()) << ended.describe();
}

TEST_F(SimulatedJob, leaves_a_record_that_says_what_the_scenario_was) {
  const std::string out = directory_ / "out";
  expect_all_complete(
      simulate({"--out", out, "--set", "job.timeslices=1500", "--set", "job.descriptors=300"}));
  const auto record = nlohmann::json::parse(read_file(out + "/run.json"));
  EXPECT_EQ(record["parameters"]["scenario: network.topology"], "star:8");
  EXPECT_EQ(record["parameters"]["descriptors per pair"], "300");
  EXPECT_GT(record["series"]["buffer_fill"].size(), 5u);
  EXPECT_GT(record["series"]["goodput"].size(), 1u);
  EXPECT_NE(read_file(out + "/report.html"), "");
}

TEST_F(SimulatedJob, loses_nothing_whatever_goes_wrong) {
  for (const char* schedule : {"best-effort", "offset", "dfs", "grant"}) {
    const Ended ended = stream({"--schedule",
                                schedule,
                                "--no-limit",
                                "--timeslices",
                                "1500",
                                "--set",
                                "network.lossy=true",
                                "--fault",
                                "at=200us slow host1 10Gbit for=1ms",
                                "--fault",
                                "at=500us stop host4 for=300us",
                                "--fault",
                                "at=800us loss host0 1%",
                                "--fault",
                                "at=900us clock host3 +5ms",
                                "--fault",
                                "at=1ms link-down host2 for=500us",
                                "--fault",
                                "at=2ms kill host5",
                                "--fault",
                                "at=3ms restart host5"});
    expect_nothing_lost(ended);
  }
}

TEST_F(SimulatedJob, nodes_may_be_restarted_as_they_die) {
  expect_nothing_lost(stream({"--no-limit", "--timeslices", "1500", "--restart", "--fault",
                              "at=500us kill host1", "--fault", "at=1ms kill host4"}));
}

TEST_F(SimulatedJob, random_faults_and_bad_clocks_lose_nothing) {
  write_file(path_, small_job + R"([clocks]
offset = "10ms"
drift-ppm = 50
[noise]
every = "500us"
mean = "20us"
[random-faults]
links-down-per-s = 50
links-slow-per-s = 100
pauses-per-s = 50
mean-length = "200us"
until = "20ms"
)");
  const Ended ended = simulate({"--check-determinism"});
  expect_nothing_lost(ended);
  EXPECT_EQ(ended.json()["simulation"]["deterministic"], true);
}

TEST_F(SimulatedJob, samples_are_as_many_as_asked_for) {
  const auto fills = [&](const char* every) {
    const std::string out = directory_ / every;
    expect_good_end(stream({"--no-limit", "--out", out, "--sample-every", every}));
    const auto record = nlohmann::json::parse(read_file(out + "/run.json"));
    return record["series"]["buffer_fill"].size();
  };
  EXPECT_GT(fills("20us"), 2 * fills("100us"));
}

TEST_F(SimulatedJob, completes_the_archive_of_a_node_that_is_killed) {
  const Ended ended = simulate({"--no-limit", "--set", "job.sink=tsa:" + directory_ / "run_%n.tsa",
                                "--set", "faults=[\"at=300us kill host4\"]"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_THAT(ended.errors, testing::HasSubstr("run_1.tsa' ends early")) << ended.describe();
  const Ended checked = run_weft({"archive", "check", directory_ / "run_0.tsa",
                                  directory_ / "run_1.tsa", directory_ / "run_2.tsa", "--json"});
  ASSERT_EQ(checked.code, 0) << checked.describe();
  EXPECT_GT(checked.json()[1]["items"], 0);
  for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(file.path().string().find(".part-"), std::string::npos) << file.path();
  }
}

TEST_F(SimulatedJob, that_restarts_a_node_keeps_what_its_killed_life_delivered) {
  const Ended ended =
      simulate({"--no-limit", "--set", "job.sink=tsa:" + directory_ / "run_%n.tsa", "--set",
                "faults=[\"at=300us kill host4\", \"at=500us restart host4\"]"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const Ended merged =
      run_weft({"archive", "merge", directory_ / "run_0.tsa", directory_ / "run_1.tsa",
                directory_ / "run_2.tsa", "--out", directory_ / "all.tsa"});
  ASSERT_EQ(merged.code, 0) << merged.describe();
  const Ended info = run_weft({"archive", "info", directory_ / "all.tsa", "--json"});
  EXPECT_GE(info.json()[0]["items"], 300) << info.describe();
}

}  // namespace
}  // namespace weft::e2e

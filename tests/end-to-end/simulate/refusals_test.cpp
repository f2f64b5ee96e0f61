// SPDX-License-Identifier: Apache-2.0
// Scenarios and options that cannot be: one line with the place and the fix, and exit code 2.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenario_text.hpp"
#include "weft_run.hpp"

namespace weft::e2e {
namespace {

void expect_one_line(const Ended& ended, const std::string& begin, const std::string& word) {
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_EQ(ended.output, "") << ended.describe();
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
  EXPECT_TRUE(ended.errors.starts_with("weft: " + begin)) << ended.describe();
  EXPECT_NE(ended.errors.find(word), std::string::npos) << ended.describe();
}

/// A scenario with one text in place of another.
struct Mistake {
  const char* name;
  const char* instead_of;
  const char* text;
  const char* line;
  const char* word;
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}
class ScenarioMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(ScenarioMistakes, get_one_line_with_their_place) {
  const Mistake& m = GetParam();
  ScratchDirectory directory;
  const std::string path = directory / "wrong.toml";
  std::string text = small_job;
  ASSERT_NE(text.find(m.instead_of), std::string::npos);
  text.replace(text.find(m.instead_of), std::string(m.instead_of).size(), m.text);
  write_file(path, text);
  const std::string place = path + ":" + m.line + ": ";
  expect_one_line(run_weft({"simulate", path, "--json"}, 30), place, m.word);
  const Ended streamed =
      run_weft({"stream", "local", "--fabric", "sim:" + path, "--no-limit", "--json"}, 30);
  EXPECT_EQ(streamed.code, 2) << streamed.describe();
  EXPECT_NE(streamed.errors.find(place), std::string::npos) << streamed.describe();
}

INSTANTIATE_TEST_SUITE_P(
    simulate, ScenarioMistakes,
    testing::Values(
        Mistake{"unknown_key", "preset", "speed", "4", "speed"},
        Mistake{"unknown_section", "[job]", "[jobs]", "5", "jobs"},
        Mistake{"no_toml", "seed = 3", "seed = ", "1", "value"},
        Mistake{"unknown_topology", "star:8", "ring:8", "3", "fat-tree"},
        Mistake{"impossible_topology", "star:8", "fat-tree:999,levels=2,radix=8", "3", "radix="},
        Mistake{"missing_topology_file", "star:8", "file:no.such", "3", "no.such"},
        Mistake{"router_that_does_not_fit", "preset = \"ib-edr\"", "router = \"ugal\"", "4",
                "d-mod-k"},
        Mistake{"preset", "ib-edr", "ib-xdr", "4", "ib-hdr"},
        Mistake{"negative_rate", "preset = \"ib-edr\"", "host-link = {rate = \"-1Gbit\"}", "4",
                "-1Gbit"},
        Mistake{"more_nodes_than_hosts", "star:8", "star:5", "3", "6"},
        Mistake{"unknown_option", "peer-timeout", "pear-timeout", "12", "pear-timeout"},
        Mistake{"negative_inputs", "inputs = 3", "inputs = -3", "6", "from 1 to 8192"},
        Mistake{"duration_without_unit", "\"5ms\"", "5", "12", "duration"},
        Mistake{"fabric_in_a_job", "peer-timeout = \"5ms\"", "fabric = \"tcp\"", "12", "fabric"},
        Mistake{"seed_in_a_job", "peer-timeout = \"5ms\"", "seed = 5", "12", "above"},
        Mistake{"fault", "seed = 3", "faults = [\"at=1ms eat host1\"]", "1", "eat"},
        Mistake{"fault_host", "seed = 3", "faults = [\"at=1ms kill host6\"]", "1", "host6"}),
    [](const auto& info) { return std::string(info.param.name); });

struct WrongOption {
  const char* name;
  std::vector<std::string> arguments;
  const char* word;
};
void PrintTo(const WrongOption& wrong, std::ostream* out) {
  *out << wrong.name;
}
class SimulatedStreamMistakes : public testing::TestWithParam<WrongOption> {};

TEST_P(SimulatedStreamMistakes, get_one_line) {
  ScratchDirectory directory;
  write_file(directory / "job.toml", small_job);
  std::vector<std::string> arguments{"stream", "local", "--fabric",
                                     "sim:" + (directory / "job.toml"), "--json"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  expect_one_line(run_weft(std::move(arguments), 30), "", GetParam().word);
}

INSTANTIATE_TEST_SUITE_P(
    simulate, SimulatedStreamMistakes,
    testing::Values(WrongOption{"link", {"--link", "1Gbit"}, "host-link"},
                    WrongOption{"testbed", {"--testbed", "1Gbit"}, "--testbed"},
                    WrongOption{"metrics", {"--metrics", ":0"}, "--metrics"},
                    WrongOption{"consumers", {"--sink", "shm:a"}, "shm:"},
                    WrongOption{"setting", {"--set", "network.speed=3"}, "unknown key 'speed'"},
                    WrongOption{
                        "setting_of_job", {"--set", "job.inputz=3"}, "did you mean --inputs?"},
                    WrongOption{"one_ring", {"--one-ring"}, "null:"},
                    WrongOption{"reference", {"--reference", "/no/such.toml"}, "/no/such.toml"},
                    WrongOption{"no_setting", {"--set", "network.router"}, "minimal"},
                    WrongOption{"too_many", {"--inputs", "6"}, "9"},
                    WrongOption{"sample_every", {"--sample-every", "1ns"}, "--sample-every"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(simulate_refusals, contents_that_are_not_copied_cannot_be_checked) {
  ScratchDirectory directory;
  write_file(directory / "job.toml", small_job + "[fabric]\ncopied-bytes = 512\n");
  expect_one_line(run_weft({"simulate", directory / "job.toml"}, 30), "", "copied-bytes");
}

TEST(simulate_refusals, settings_of_scenarios_need_a_scenario) {
  expect_one_line(run_weft({"stream", "local", "--set", "noise.every=1ms"}, 30),
                  "--set noise.every=1ms: ", "--fabric sim:");
  ScratchDirectory directory;
  write_file(directory / "job.toml", small_job);
  expect_one_line(run_weft({"simulate", directory / "job.toml", "--set", "seed=x"}, 30),
                  "--set seed=x: ", "seed");
}

TEST(simulate_refusals, missing_scenarios_are_named) {
  expect_one_line(run_weft({"simulate", "/no/such.toml"}, 30),
                  "scenario: cannot open '/no/such.toml'", "name one");
  expect_one_line(run_weft({"stream", "local", "--fabric", "sim:/no/such.toml"}, 30), "--fabric",
                  "/no/such.toml");
  expect_one_line(run_weft({"simulate"}, 30), "SCENARIO", "--help");
}

TEST(simulate_refusals, a_network_in_which_nothing_happens_is_refused) {
  ScratchDirectory directory;
  write_file(directory / "idle.toml", "[network]\ntopology = \"star:4\"\n");
  expect_one_line(run_weft({"simulate", directory / "idle.toml"}, 30),
                  (directory / "idle.toml") + ":1: ", "[[traffic]]");
}

TEST(simulate_refusals, random_faults_need_nodes_or_cables_that_they_can_happen_to) {
  ScratchDirectory directory;
  const std::string path = directory / "faults.toml";
  const auto faults = [](const char* kind) {
    return std::string("[random-faults]\n") + kind + " = 1\nuntil = \"50us\"\n";
  };
  write_file(path, faults("links-down-per-s") + R"([network]
topology = "star:4"
[[jobs]]
kind = "workload"
pattern = "all-to-all"
ranks = 4
message = "1KiB"
iterations = 10
)");
  expect_one_line(run_weft({"simulate", path}, 30), path + ":1: ", "name cables");
  write_file(path, faults("crashes-per-s") + small_traffic.substr(small_traffic.find('[')));
  expect_one_line(run_weft({"simulate", path}, 30), path + ":2: ", "could crash");
}

class UniformMistakes : public testing::TestWithParam<WrongOption> {};

TEST_P(UniformMistakes, get_one_line) {
  std::vector<std::string> arguments{"simulate", "uniform", "--duration", "10us"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  expect_one_line(run_weft(std::move(arguments), 30), "", GetParam().word);
}

INSTANTIATE_TEST_SUITE_P(
    simulate, UniformMistakes,
    testing::Values(WrongOption{"topology", {"--topology", "cube:4"}, "cube"},
                    WrongOption{"impossible", {"--topology", "fat-tree:999,radix=4"}, "999"},
                    WrongOption{"router", {"--router", "ugal"}, "ugal"},
                    WrongOption{"network", {"--network", "token-ring"}, "token-ring"},
                    WrongOption{"load", {"--load", "-1"}, "load"},
                    WrongOption{"packet", {"--packet", "2MiB"}, "--packet"},
                    WrongOption{"no_packet", {"--packet", "0"}, "0"},
                    WrongOption{"levels", {"--levels", "17"}, "--levels"},
                    WrongOption{"pattern", {"--pattern", "random"}, "permutation"},
                    WrongOption{"seed", {"--seed", "-1"}, "negative"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::e2e

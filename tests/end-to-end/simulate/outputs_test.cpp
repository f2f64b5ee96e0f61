// SPDX-License-Identifier: Apache-2.0
// The files of simulations: network.json with its page, and traces.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "scenario_text.hpp"
#include "weft_run.hpp"

namespace weft::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Strictly; a test fails when it is none.
json parse_file(const std::string& path) {
  const std::string text = read_file(path);
  EXPECT_TRUE(json::accept(text)) << path << ": " << text.substr(0, 200);
  return json::parse(text, nullptr, false);
}

/// Every link is told of, and its figures fit each other.
void expect_sound_network(const json& network) {
  const json& links = network["topology"]["links"];
  for (const json& run : network["runs"]) {
    EXPECT_EQ(run["links"].size(), links.size());
    EXPECT_EQ(run["trace_hash"].get<std::string>().size(), 16u);
    for (const json& link : run["links"]) {
      EXPECT_LE(link["utilisation"], 1.0);
      EXPECT_LE(link["queue_mean_bytes"], link["queue_peak_bytes"]);
    }
    EXPECT_LE(run["steps"], 200);
    EXPECT_LE(run["series"].size(), 256u);
    for (const json& series : run["series"]) {
      EXPECT_EQ(series["utilisation"].size(), run["steps"].get<std::size_t>());
      EXPECT_EQ(series["queue_bytes"].size(), run["steps"].get<std::size_t>());
    }
    for (const json& m : run["messages"]) {
      std::uint64_t counted = 0;
      for (const json& bucket : m["buckets"]) counted += bucket["count"].get<std::uint64_t>();
      EXPECT_EQ(counted, m["messages"]);
      EXPECT_LE(m["latency_us"]["min"], m["latency_us"]["median"]);
      EXPECT_LE(m["latency_us"]["median"], m["latency_us"]["max"]);
    }
  }
}

/// Every event has the fields that the format asks for. How many there are by phase and process.
std::map<std::string, int> expect_sound_trace(const json& trace) {
  std::map<std::string, int> count;
  for (const json& event : trace["traceEvents"]) {
    const bool good = event["ph"].is_string() && event["ts"].is_number() && event["ts"] >= 0 &&
                      event["pid"].is_number_unsigned() && event["tid"].is_number_unsigned() &&
                      event["name"].is_string() &&
                      (event["ph"] != "X" || (event["dur"].is_number() && event["dur"] >= 0));
    EXPECT_TRUE(good) << event;
    if (!good) break;
    ++count[fmt::format("{}{}", event["ph"].get<std::string>(), event["pid"].get<int>())];
  }
  return count;
}

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

class SimulationOutputs : public testing::Test {
 protected:
  void SetUp() override {
    write_file(directory_ / "job.toml", small_job);
    write_file(directory_ / "traffic.toml", small_traffic);
  }
  std::string at(const char* name) const { return directory_ / name; }

  ScratchDirectory directory_;
};

TEST_F(SimulationOutputs, jobs_and_their_traffic_are_told_of) {
  write_file(at("job.toml"), small_job + "[[traffic]]\nload = 0.1\n");
  const Ended ended = run_weft({"simulate", at("job.toml"), "--no-limit", "--json",
                                "--check-determinism", "--out", at("out")});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  // The second run is not recorded: looking on changes nothing.
  EXPECT_EQ(ended.json()["simulation"]["deterministic"], true) << ended.describe();
  const json network = parse_file(at("out/network.json"));
  expect_sound_network(network);
  EXPECT_EQ(network["topology"]["shape"], "star");
  EXPECT_EQ(network["topology"]["links"].size(), 16u);
  EXPECT_EQ(network["runs"][0]["trace_hash"], ended.json()["simulation"]["trace_hash"]);
  ASSERT_EQ(network["runs"][0]["messages"].size(), 2u);
  EXPECT_EQ(network["runs"][0]["messages"][0]["name"], "uniform");
  EXPECT_EQ(network["runs"][0]["messages"][1]["name"], "job");
  EXPECT_GT(network["runs"][0]["messages"][1]["sizes"].size(), 1u);
  EXPECT_THAT(read_file(at("out/report.html")), HasSubstr("network.html"));
  EXPECT_THAT(read_file(at("out/network.html")), HasSubstr("A star of 8 hosts"));
}

TEST_F(SimulationOutputs, traffic_alone_has_a_page_of_its_own) {
  const Ended ended = run_weft({"simulate", at("traffic.toml"), "--out", at("out")});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_THAT(ended.output, HasSubstr("report: " + at("out/network.html")));
  const json network = parse_file(at("out/network.json"));
  expect_sound_network(network);
  EXPECT_EQ(network["topology"]["shape"], "fat-tree");
  EXPECT_EQ(network["runs"][0]["messages"][1]["name"], "incast");
  EXPECT_TRUE(std::filesystem::exists(at("out/simulation.json")));
  const Ended again = run_weft({"report", at("out")});
  EXPECT_EQ(again.code, 0) << again.describe();
  EXPECT_EQ(again.output, at("out/network.html") + "\n");
}

TEST_F(SimulationOutputs, uniform_traffic_of_each_level_is_told_of) {
  const Ended ended =
      run_weft({"simulate", "uniform", "--topology", "dragonfly:72", "--levels", "2", "--duration",
                "20us", "--json", "--out", at("out"), "--check-determinism"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.json()["deterministic"], true);
  const json network = parse_file(at("out/network.json"));
  expect_sound_network(network);
  const json& messages = network["runs"][0]["messages"];
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0]["messages"].get<int>() + messages[1]["messages"].get<int>(),
            ended.json()["delivered"].get<int>());
  EXPECT_EQ(network["parameters"]["topology"], "dragonfly:72");
  EXPECT_NE(read_file(at("out/network.html")), "");
}

TEST_F(SimulationOutputs, comparisons_have_a_run_for_each_schedule) {
  const Ended ended = run_weft({"stream", "compare", "--schedules", "offset,grant", "--fabric",
                                "sim:" + at("job.toml"), "--no-limit", "--out", at("out"),
                                "--trace", at("t.json")});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const json network = parse_file(at("out/network.json"));
  expect_sound_network(network);
  ASSERT_EQ(network["runs"].size(), 2u);
  EXPECT_EQ(network["runs"][0]["name"], "offset");
  EXPECT_EQ(network["runs"][1]["name"], "grant");
  EXPECT_FALSE(network["parameters"].contains("schedule"));
  EXPECT_THAT(read_file(at("out/report.html")), HasSubstr("network.html"));
  for (const char* trace : {"t-offset.json", "t-grant.json"}) {
    expect_sound_trace(parse_file(at(trace)));
  }
}

TEST_F(SimulationOutputs, a_run_over_sockets_takes_an_old_network_away) {
  const std::vector<std::string> local{"stream", "local", "--no-limit", "--out", at("out")};
  auto simulated = local, real = local;
  simulated.insert(simulated.end(), {"--fabric", "sim:" + at("job.toml")});
  real.insert(real.end(), {"--inputs", "1", "--computes", "1", "--timeslices", "20"});
  ASSERT_EQ(run_weft(simulated).code, 0);
  EXPECT_TRUE(std::filesystem::exists(at("out/network.html")));
  ASSERT_EQ(run_weft(real).code, 0);
  EXPECT_FALSE(std::filesystem::exists(at("out/network.html")));
  EXPECT_FALSE(std::filesystem::exists(at("out/network.json")));
  EXPECT_EQ(read_file(at("out/report.html")).find("network.html"), std::string::npos);
}

TEST_F(SimulationOutputs, traces_have_packets_messages_queues_turns_and_timeslices) {
  const Ended ended = run_weft({"simulate", at("job.toml"), "--no-limit", "--trace", at("t.json")});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const json trace = parse_file(at("t.json"));
  auto count = expect_sound_trace(trace);
  EXPECT_EQ(count["b1"], count["e1"]);  // messages of hosts
  EXPECT_GT(count["b1"], 1000);
  EXPECT_GT(count["X2"], count["b1"]);  // packets of links
  EXPECT_GT(count["C3"], 100);          // queues
  EXPECT_GT(count["X4"], 100);          // turns of nodes
  EXPECT_GE(count["b4"], 300);          // timeslices
  EXPECT_EQ(count["i0"], 0);
  std::set<std::string> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") names.insert(event["args"]["name"].get<std::string>());
  }
  for (const char* name :
       {"host 0 -> switch 0", "job input 0 on host 0", "job compute 2 on host 5"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(SimulationOutputs, traces_that_are_cut_say_so_and_keep_the_timeslices) {
  const Ended ended = run_weft({"simulate", at("job.toml"), "--no-limit", "--json", "--trace",
                                at("t.json"), "--trace-events", "7000"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_THAT(ended.errors, HasSubstr("--trace-events"));
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
  const json trace = parse_file(at("t.json"));
  auto count = expect_sound_trace(trace);
  EXPECT_LE(trace["otherData"]["events"], 7000);
  EXPECT_GT(trace["otherData"]["cut_at_us"], 0);
  EXPECT_EQ(count["i0"], 1);
  EXPECT_GE(count["b4"], 300);
}

TEST_F(SimulationOutputs, that_are_another_file_of_the_command_are_refused_even_by_force) {
  write_file(at("star.toml"), "[network]\ntopology = \"star:4\"\n");
  const std::vector<std::string> stream = {
      "stream", "local",      "--fabric", "sim:" + at("star.toml"), "--inputs", "1", "--computes",
      "1",      "--no-limit", "--force"};
  ASSERT_EQ(
      run_weft(stream + Arguments{"--timeslices", "2", "--sink", "tsa:" + at("a.tsa")}, 30).code,
      0);
  const std::string recorded = read_file(at("a.tsa"));
  write_file(at("again.toml"),
             "[network]\ntopology = \"star:4\"\n[job]\ninputs = 1\ncomputes = 1\n"
             "source = \"tsa:" +
                 at("a.tsa") + "\"\nsink = \"tsa:" + at("c.tsa") + "\"\n");
  std::filesystem::create_symlink(at("a.tsa"), at("link.tsa"));
  const Arguments cases[] = {
      stream + Arguments{"--source", "tsa:" + at("a.tsa"), "--trace", at("link.tsa")},
      stream + Arguments{"--timeslices", "2", "--trace", at("star.toml")},
      stream +
          Arguments{"--timeslices", "2", "--sink", "tsa:" + at("b.tsa"), "--trace", at("b.tsa")},
      stream + Arguments{"--timeslices", "2", "--out", at("out"), "--trace", at("out/./run.json")},
      {"simulate", at("traffic.toml"), "--force", "--trace", at("traffic.toml")},
      {"simulate", at("again.toml"), "--force", "--trace", at("a.tsa")},
      {"simulate", at("again.toml"), "--force", "--trace", at("c.tsa")},
      {"simulate", "uniform", "--out", at("new") + "/", "--trace", at("new/network.json")},
      {"odp", "simulate", "--force", "--out", at("o.pcap"), "--capture", at("o.pcap")}};
  for (const Arguments& arguments : cases) {
    const Ended ended = run_weft(arguments, 30);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_THAT(ended.errors, testing::ContainsRegex("--(trace|capture): .*name another file"));
  }
  EXPECT_EQ(read_file(at("a.tsa")), recorded);
  EXPECT_EQ(read_file(at("traffic.toml")), small_traffic);
  EXPECT_FALSE(std::filesystem::exists(at("b.tsa")));
  EXPECT_FALSE(std::filesystem::exists(at("o.pcap")));
}

TEST_F(SimulationOutputs, replace_no_files_of_other_programs_that_have_a_word_of_theirs) {
  std::filesystem::create_directory(at("out"));
  for (const char* text : {R"({"name": "my-net", "version": "1.0"})", R"({"schedule": "bus 7"})",
                           R"({"runs": [{"my": "marathon runs"}]})"}) {
    for (const char* name : {"out/network.json", "out/run.json", "out/compare.json"}) {
      write_file(at(name), text);
      const Ended ended = run_weft({"simulate", at("traffic.toml"), "--out", at("out")}, 30);
      EXPECT_EQ(ended.code, 2) << ended.describe();
      EXPECT_THAT(ended.errors, HasSubstr("weft did not write it"));
      EXPECT_EQ(read_file(at(name)), text);
      std::filesystem::remove(at(name));
    }
  }
}

TEST_F(SimulationOutputs, replace_files_of_other_programs_by_force) {
  std::filesystem::create_directory(at("out"));
  write_file(at("out/run.json"), R"({"schedule": "bus 7"})");
  const Ended ended = run_weft({"simulate", at("traffic.toml"), "--force", "--out", at("out")}, 30);
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_FALSE(std::filesystem::exists(at("out/run.json")));
}

TEST_F(SimulationOutputs, of_each_job_replace_no_files_of_other_programs) {
  std::filesystem::create_directories(at("out/second"));
  write_file(at("out/second/run.json"), R"({"schedule": "bus 7"})");
  write_file(at("jobs.toml"),
             "[network]\ntopology = \"star:4\"\n"
             "[[jobs]]\nname = \"first\"\ninputs = 1\ncomputes = 1\ntimeslices = 2\n"
             "[[jobs]]\nname = \"second\"\ninputs = 1\ncomputes = 1\ntimeslices = 2\n");
  const Ended ended = run_weft({"simulate", at("jobs.toml"), "--out", at("out")}, 30);
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_THAT(ended.errors, HasSubstr(at("out/second/run.json")));
}

TEST_F(SimulationOutputs, captures_of_traffic_without_adapters_are_refused) {
  const Ended ended =
      run_weft({"simulate", at("traffic.toml"), "--capture", at("packets.pcap")}, 30);
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_THAT(ended.errors, HasSubstr("--capture "));
}

TEST_F(SimulationOutputs, a_full_disk_gets_one_line_and_leaves_no_part_of_a_file) {
  struct Case {
    std::string option, file;
  };
  for (const Case& c : {Case{"--trace", at("t.json")}, Case{"--out", directory_.path()}}) {
    WeftProcess process({"simulate", "uniform", "--topology", "star:16", "--duration", "200us",
                         "--json", c.option, c.file},
                        100'000);
    const Ended ended = process.wait();
    EXPECT_EQ(ended.code, 3) << ended.describe();
    EXPECT_THAT(ended.errors, HasSubstr("weft: " + c.option));
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      EXPECT_EQ(entry.path().extension(), ".toml") << entry.path();
    }
  }
}

struct Refused {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  const char* word;
};
void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.name;
}
class OutputRefusals : public testing::TestWithParam<Refused> {};

TEST_P(OutputRefusals, are_one_line) {
  const Ended ended = run_weft(GetParam().arguments, 30);
  EXPECT_EQ(ended.code, GetParam().code) << ended.describe();
  EXPECT_THAT(ended.errors, HasSubstr(GetParam().word));
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
}

INSTANTIATE_TEST_SUITE_P(
    simulate, OutputRefusals,
    testing::Values(
        Refused{"trace_of_no_simulation", {"stream", "local", "--trace", "t.json"}, 2, "sim:"},
        Refused{"trace_without_a_directory",
                {"simulate", "uniform", "--duration", "1us", "--trace", "/no/such/t.json"},
                2,
                "/no/such/t.json"},
        Refused{"trace_to_a_device",
                {"simulate", "uniform", "--duration", "1us", "--trace", "/dev/null"},
                2,
                "ordinary"},
        Refused{"no_events",
                {"simulate", "uniform", "--trace", "t.json", "--trace-events", "0"},
                2,
                "--trace-events"},
        Refused{"events_without_a_trace",
                {"simulate", "uniform", "--duration", "1us", "--trace-events", "5"},
                2,
                "--trace-events: means nothing without --trace FILE"},
        Refused{"events_of_a_stream_without_a_trace",
                {"stream", "local", "--timeslices", "1", "--trace-events", "5"},
                2,
                "--trace-events: means nothing without --trace FILE"},
        Refused{"trace_in_parts",
                {"simulate", "uniform", "--parts", "2", "--trace", "t.json"},
                2,
                "--parts"},
        Refused{
            "page_in_parts", {"simulate", "uniform", "--parts", "2", "--out", "o"}, 2, "--parts"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::e2e

// SPDX-License-Identifier: Apache-2.0
// One simulation by several processes, and several parts: the same to the last byte.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "scenario_text.hpp"
#include "weft_run.hpp"

namespace weft::e2e {
namespace {

/// While it lives, it is mpirun that tests run.
class WithMpirun {
 public:
  WithMpirun() : weft_(program()) { ::setenv("WEFT_PROGRAM", WEFT_MPIRUN, 1); }
  ~WithMpirun() { ::setenv("WEFT_PROGRAM", weft_.c_str(), 1); }

  static std::vector<std::string> arguments(std::uint32_t ranks,
                                            const std::vector<std::string>& command) {
    std::vector<std::string> all{"--oversubscribe", "--allow-run-as-root", "-n",
                                 fmt::format("{}", ranks)};
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }

 private:
  std::string weft_;
};

Ended run_ranks(std::uint32_t ranks, std::vector<std::string> arguments,
                const std::string& weft = program()) {
  arguments.insert(arguments.begin(), weft);
  const WithMpirun mpirun;
  return run_weft(WithMpirun::arguments(ranks, arguments), 120);
}

/// Its output, without fields that depend on the machine and the moment.
std::string lasting(const Ended& ended) {
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.describe();
  auto json = nlohmann::ordered_json::parse(ended.output, nullptr, false);
  EXPECT_TRUE(json.is_object()) << ended.describe();
  for (const char* field : {"wall_s", "packet_hops_per_s", "memory_bytes", "bytes_per_node"}) {
    json.erase(field);
    if (json.contains("simulation")) json["simulation"].erase(field);
  }
  return json.dump();
}

void expect_same_however_divided(const std::vector<std::string>& command) {
  const Ended alone = run_weft(command);
  const std::string expected = lasting(alone);
  EXPECT_NE(expected.find("trace_hash"), std::string::npos) << alone.describe();
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u}) {
    EXPECT_EQ(lasting(run_ranks(ranks, command)), expected) << ranks << " processes";
  }
  for (const char* parts : {"1", "3"}) {
    std::vector<std::string> divided = command;
    divided.insert(divided.end(), {"--parts", parts});
    EXPECT_EQ(lasting(run_weft(divided)), expected) << parts << " parts";
  }
}

class DividedSimulation : public testing::TestWithParam<const char*> {};

TEST_P(DividedSimulation, does_what_the_whole_does) {
  ScratchDirectory directory;
  const std::string path = directory / "t.toml";
  write_file(path, fmt::format(R"(seed = 7
duration = "60us"
faults = ["at=10us slow host3 5Gbit for=20us", "at=15us link-down host1 for=10us",
          "at=5us loss host2 5%"]
[network]
topology = "{}"
preset = "ib-edr"
lossy = true
retransmit-after = "20us"
[[traffic]]
load = 0.4
[[traffic]]
pattern = "permutation"
load = 0.2
message = "50KiB"
[[traffic]]
pattern = "bursts"
load = 0.05
)",
                               GetParam()));
  expect_same_however_divided({"simulate", path, "--json"});
}

TEST_P(DividedSimulation, does_with_uniform_traffic_what_the_whole_does) {
  expect_same_however_divided({"simulate", "uniform", "--topology", GetParam(), "--duration",
                               "30us", "--levels", "2", "--seed", "9", "--json"});
}

/// A scenario with this network, these faults and these jobs.
std::string with_jobs(const std::string& topology, const std::string& faults,
                      const std::string& jobs) {
  return fmt::format(R"(seed = 7
faults = [{}]
[network]
topology = "{}"
preset = "ib-edr"
host-link = {{latency = "500ns"}}
local-link = {{latency = "500ns"}}
global-link = {{latency = "500ns"}}
lossy = true
retransmit-after = "20us"
[placement]
kind = "random:5"
[clocks]
offset = "1ms"
drift-ppm = 50
[noise]
every = "200us"
mean = "10us"
[[traffic]]
load = 0.02
end = "300us"
{})",
                     faults, topology, jobs);
}

TEST_P(DividedSimulation, does_with_a_job_what_the_whole_does) {
  ScratchDirectory directory;
  const std::string path = directory / "job.toml";
  write_file(path, with_jobs(GetParam(),
                             R"("at=100us kill host4", "at=150us stop host1 for=50us",
                             "at=200us slow host2 5Gbit for=200us", "at=200us loss host5 2%",
                             "at=250us clock host0 +2ms", "at=300us partition host2|host5 for=1ms",
                             "at=400us link-down host3 for=50us", "at=500us restart host4")",
                             R"([job]
inputs = 3
computes = 3
source = "pattern:?size=16KiB&sizes=uniform"
sink = "check:"
duration = "600us"
timeslices-per-interval = 32
peer-timeout = "300us"
limit-duration = "100us"
)"));
  expect_same_however_divided({"simulate", path, "--json"});
}

TEST_P(DividedSimulation, does_with_several_jobs_what_the_whole_does) {
  ScratchDirectory directory;
  const std::string path = directory / "jobs.toml";
  std::string jobs;
  for (const char* name : {"a", "b"}) {
    jobs += fmt::format(R"([[jobs]]
name = "{}"
start = "{}us"
inputs = 2
computes = 3
source = "pattern:?size=8KiB"
sink = "check:"
duration = "200us"
limit-duration = "50us"
)",
                        name, name[0] == 'a' ? 0 : 100);
  }
  write_file(path, with_jobs(GetParam(), R"("at=50us stop b:host1 for=50us")", jobs));
  expect_same_however_divided({"simulate", path, "--json"});
}

INSTANTIATE_TEST_SUITE_P(simulate, DividedSimulation,
                         testing::Values("star:16", "fat-tree:64,levels=3,radix=8", "dragonfly:72"),
                         [](const auto& info) { return fmt::format("number_{}", info.index); });

TEST(simulating_processes, run_twice_when_asked_to) {
  const Ended ended = run_ranks(2, {"simulate", "uniform", "--topology", "fat-tree:32",
                                    "--duration", "30us", "--json", "--check-determinism"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.json()["deterministic"], true) << ended.describe();
}

TEST(simulating_processes, write_one_record) {
  ScratchDirectory directory;
  write_file(directory / "t.toml", small_traffic);
  const Ended ended =
      run_ranks(2, {"simulate", directory / "t.toml", "--json", "--out", directory / "out"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(nlohmann::json::parse(read_file(directory / "out/simulation.json")), ended.json());
}

TEST(simulating_processes, share_the_seeds_of_a_swarm) {
  const std::vector<std::string> command{"simulate", "swarm", "--seeds", "3..21", "--json"};
  const std::string alone = [&] {
    auto json = nlohmann::ordered_json::parse(run_weft(command).output);
    json.erase("wall_s");
    return json.dump();
  }();
  for (const std::uint32_t ranks : {1u, 2u, 3u}) {
    EXPECT_EQ(lasting(run_ranks(ranks, command)), alone) << ranks;
  }
}

TEST(simulating_processes, leave_the_record_of_a_job_that_one_would) {
  ScratchDirectory directory;
  write_file(directory / "job.toml", with_jobs("fat-tree:16,radix=8", "", R"([job]
inputs = 3
computes = 3
source = "pattern:?size=16KiB"
duration = "200us"
no-limit = true
)"));
  const std::vector<std::string> command{"simulate", directory / "job.toml", "--json", "--out"};
  const auto record = [&](const std::string& out, const auto& run) {
    auto all = command;
    all.push_back(out);
    const Ended ended = run(all);
    EXPECT_EQ(ended.code, 0) << ended.describe();
    auto json = nlohmann::ordered_json::parse(read_file(out + "/run.json"), nullptr, false);
    for (const char* field : {"command", "machine"}) json.erase(field);
    return json.dump();
  };
  const std::string alone =
      record(directory / "alone", [](const auto& all) { return run_weft(all); });
  EXPECT_NE(alone.find("timeslices"), std::string::npos);
  EXPECT_EQ(record(directory / "two", [](const auto& all) { return run_ranks(2, all); }), alone);
}

/// Lines that weft wrote on standard error, among those of mpirun.
std::vector<std::string> complaints(const Ended& ended) {
  std::vector<std::string> lines;
  std::istringstream errors(ended.errors);
  for (std::string line; std::getline(errors, line);) {
    if (line.starts_with("weft: ")) lines.push_back(line);
  }
  return lines;
}

void expect_refused(const Ended& ended, const std::string& why) {
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_EQ(ended.output, "") << ended.describe();
  const auto lines = complaints(ended);
  ASSERT_EQ(lines.size(), 1u) << ended.describe();
  EXPECT_NE(lines[0].find(why), std::string::npos) << ended.describe();
}

TEST(simulating_processes, say_once_what_is_wrong) {
  ScratchDirectory directory;
  expect_refused(run_ranks(3, {"simulate", directory / "none.toml"}), "none.toml");
  expect_refused(run_ranks(3, {"simulate", "uniform", "--topology", "cube:4"}), "cube");
  expect_refused(run_ranks(3, {"simulate", "uniform", "--parts", "2"}), "--parts 2");
  expect_refused(run_ranks(2, {"simulate", "swarm", "--scenario", directory / "none.toml"}),
                 "none.toml");
}

TEST(simulating_processes, say_once_what_is_wrong_with_a_job) {
  ScratchDirectory directory;
  const std::string path = directory / "job.toml";
  const auto wrong = [&](const std::string& find, const std::string& replace,
                         const std::string& why) {
    std::string text = small_job;
    text.replace(text.find(find), find.size(), replace);
    write_file(path, text);
    expect_refused(run_ranks(2, {"simulate", path, "--json"}), why);
  };
  wrong("inputs = 3", "inputs = 30", "33");
  wrong("timeslices = 300", "timeslizes = 300", "timeslizes");
  wrong("pattern:?size=16KiB", "pattern:?size=16Kib", "16Kib");
  wrong("[job]", "[fabric]\nacknowledgement = \"0s\"\n[job]", "acknowledgement");
  write_file(path, small_job);
  expect_refused(run_ranks(2, {"simulate", path, "--trace", directory / "t.json"}), "--trace");
}

TEST(simulating_processes, say_when_the_library_for_them_is_missing) {
  ScratchDirectory directory;
  const std::string weft = directory / "weft";
  std::filesystem::copy_file(program(), weft);
  expect_refused(run_ranks(2, {"simulate", "uniform"}, weft), "libweft_mpi.so");
  expect_refused(run_ranks(2, {"simulate", "swarm"}, weft), "libweft_mpi.so");
  const Ended alone = run_ranks(1, {"simulate", "uniform", "--duration", "10us", "--json"}, weft);
  EXPECT_EQ(alone.code, 0) << alone.describe();
}

TEST(simulating_processes, end_when_one_of_them_dies) {
  ScratchDirectory directory;
  const std::string fifo = directory / "processes";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string script =
      fmt::format("echo $OMPI_COMM_WORLD_RANK $$ >{}; exec {} simulate uniform --duration 100s",
                  fifo, program());
  const WithMpirun mpirun;
  WeftProcess all(WithMpirun::arguments(2, {"sh", "-c", script}));
  pid_t victim = 0;
  for (int heard = 0; heard < 2;) {
    std::ifstream processes(fifo);
    for (int rank = 0, pid = 0; processes >> rank >> pid; ++heard) {
      if (rank == 1) victim = pid;
    }
  }
  ASSERT_GT(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  const Ended ended = all.wait(60);
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_NE(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
}

TEST(processes, deal_out_an_experiment_with_service_levels_and_come_to_the_same) {
  const auto out = [](const char* name) {
    const auto directory = std::filesystem::path(testing::TempDir()) / name;
    std::filesystem::remove_all(directory);
    return directory.string();
  };
  const auto arguments = [](const std::string& directory) {
    return std::vector<std::string>{"qos",    "--scenario",     WEFT_EXAMPLES "qos-small.toml",
                                    "--json", "--iterations",   "2",
                                    "--set",  "qos.period=1ms", "--placements",
                                    "2",      "--out",          directory};
  };
  const auto result = [](const Ended& ended) {
    EXPECT_EQ(ended.code, 0) << ended.describe();
    auto json = ended.json();
    json.erase("wall_s");
    return json;
  };
  const std::string alone = out("weft-qos-alone"), together = out("weft-qos-together");
  EXPECT_EQ(result(run_ranks(3, arguments(together))), result(run_weft(arguments(alone), 120)));
  for (const std::string& directory : {alone, together}) std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace weft::e2e

// SPDX-License-Identifier: Apache-2.0
// Traffic in simulations: scenarios without a job, and `weft simulate uniform`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "weft_run.hpp"

namespace weft::e2e {
namespace {

TEST(simulated_traffic, all_of_it_arrives_and_the_same_twice) {
  ScratchDirectory directory;
  write_file(directory / "t.toml", small_traffic);
  const Ended ended = run_weft({"simulate", directory / "t.toml", "--json", "--check-determinism",
                                "--out", directory / "out"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto json = ended.json();
  EXPECT_EQ(json["hosts"], 16);
  EXPECT_EQ(json["seed"], 5);
  ASSERT_EQ(json["traffic"].size(), 2u) << ended.describe();
  EXPECT_EQ(json["traffic"][1]["pattern"], "incast");
  for (const auto& traffic : json["traffic"]) {
    EXPECT_GT(traffic["messages"], 0);
    EXPECT_EQ(traffic["delivered"], traffic["messages"]);
    EXPECT_GT(traffic["latency_median_ns"], 0);
  }
  EXPECT_EQ(json["simulation"]["deterministic"], true);
  EXPECT_EQ(nlohmann::json::parse(read_file(directory / "out/simulation.json")), json);
}

TEST(simulated_traffic, a_slow_link_makes_it_slower) {
  ScratchDirectory directory;
  write_file(directory / "good.toml", small_traffic);
  write_file(directory / "slow.toml", "faults = [\"at=0s slow host0 1Gbit\"]\n" + small_traffic);
  const auto p99 = [&](const char* name) {
    const Ended ended = run_weft({"simulate", directory / name, "--json"});
    EXPECT_EQ(ended.code, 0) << ended.describe();
    return ended.json()["traffic"][0]["latency_p99_ns"].get<double>();
  };
  EXPECT_GT(p99("slow.toml"), 2 * p99("good.toml"));
}

class UniformTraffic : public testing::TestWithParam<const char*> {};

TEST_P(UniformTraffic, arrives_on_every_topology_and_the_same_twice) {
  const Ended ended =
      run_weft({"simulate", "uniform", "--topology", GetParam(), "--load", "0.3", "--duration",
                "50us", "--levels", "2", "--json", "--check-determinism", "--seed", "11"});
  ASSERT_EQ(ended.code, 0) << ended.describe();
  const auto json = ended.json();
  EXPECT_EQ(json["topology"], GetParam());
  EXPECT_EQ(json["seed"], 11);
  EXPECT_EQ(json["deterministic"], true);
  EXPECT_GT(json["messages"], 0);
  EXPECT_EQ(json["delivered"], json["messages"]);
  EXPECT_GT(json["packet_hops_per_s"], 0);
  EXPECT_GT(json["bytes_per_node"], 0);
  EXPECT_LT(json["events_per_hop"], 3);
  EXPECT_EQ(json["trace_hash"].get<std::string>().size(), 16u);
}

INSTANTIATE_TEST_SUITE_P(simulate, UniformTraffic,
                         testing::Values("star:16", "fat-tree:64", "fat-tree:128,levels=3,radix=8",
                                         "dragonfly:72", "dragonfly:96,shape=xc40", "torus:4x4x4"),
                         [](const auto& info) { return fmt::format("number_{}", info.index); });

TEST(uniform_traffic, every_network_and_pattern_runs) {
  for (const char* network : {"aries", "ib-qdr", "ib-fdr", "ib-edr", "ib-hdr", "10gbe", "100gbe"}) {
    const Ended ended = run_weft({"simulate", "uniform", "--topology", "star:8", "--network",
                                  network, "--packet", "1KiB", "--duration", "50us", "--json"});
    ASSERT_EQ(ended.code, 0) << ended.describe();
    EXPECT_EQ(ended.json()["delivered"], ended.json()["messages"]) << ended.describe();
  }
  for (const char* pattern : {"uniform", "permutation", "incast", "bursts"}) {
    const Ended ended = run_weft({"simulate", "uniform", "--topology", "star:8", "--pattern",
                                  pattern, "--load", "0.1", "--duration", "50us"});
    EXPECT_EQ(ended.code, 0) << ended.describe();
    EXPECT_NE(ended.output.find("packet-hops/s"), std::string::npos) << ended.describe();
  }
}

/// Five switches in a ring, in a network of so many others that the look before the simulation,
/// which is bounded, does not find that packets can wait for each other there.
std::string large_network_with_a_ring() {
  constexpr int switches = 1500;
  std::string hosts, names, cables;
  for (int i = 0; i < switches; ++i) {
    hosts += fmt::format("\"h{}\", ", i);
    names += fmt::format("\"s{}\", ", i);
    const std::string next = i < 5 ? fmt::format("s{}", (i + 1) % 5) : "core";
    cables += fmt::format("[\"h{0}\", \"s{0}\"], [\"s{0}\", \"{1}\"],\n", i, next);
  }
  return fmt::format("hosts = [{}]\nswitches = [{}\"core\"]\ncables = [{}[\"s0\", \"core\"]]\n",
                     hosts, names, cables);
}

TEST(simulation, that_ends_with_packets_that_wait_for_each_other_fails_and_says_so_in_one_line) {
  ScratchDirectory directory;
  write_file(directory / "ring.toml", large_network_with_a_ring());
  write_file(directory / "stuck.toml", R"(seed = 1
[network]
topology = "file:ring.toml"
router = "shortest"
preset = "ib-edr"
mtu = "1KiB"
buffer = "1100B"
local-link = {rate = "10Gbit", latency = "1us"}
[placement]
kind = "contiguous"
[[jobs]]
kind = "workload"
name = "ring"
pattern = "all-to-all"
ranks = 5
message = "256KiB"
compute = "1us"
iterations = 3
)");
  const Ended ended = run_weft({"simulate", directory / "stuck.toml"}, 30);
  EXPECT_EQ(ended.code, 1) << ended.describe();
  EXPECT_NE(ended.errors.find("can never move, though no link is down"), std::string::npos)
      << ended.describe();
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
}

}  // namespace
}  // namespace weft::e2e

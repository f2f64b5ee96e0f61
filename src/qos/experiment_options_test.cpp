// SPDX-License-Identifier: Apache-2.0
// What scenarios of experiments say, and the refusals of what they cannot.
#include <gtest/gtest.h>

#include "qos/experiment.hpp"
#include "qos/scenario_for_test.hpp"

namespace weft::qos {
namespace {

std::string error_of(const std::string& jobs) {
  const std::string network = "[network]\ntopology = \"star:16\"\n";
  const auto read = jobs::workloads_of(scenario_of(network + jobs));
  return read.ok() ? std::string() : read.error().message;
}

TEST(experiment_options, are_those_of_the_scenario_and_refused_with_line_and_fix) {
  const std::string network = "[network]\ntopology = \"star:4\"\n";
  const auto read = options_of(scenario_of(network + "[qos]\nthreshold = 0.4\nperiod = \"5ms\"\n"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->algorithm_1.threshold, 0.4);
  EXPECT_EQ(read->period, Duration::milliseconds(5));
  const auto error = [&](const std::string& line) {
    const auto refused = options_of(scenario_of(network + "[qos]\n" + line));
    return refused.ok() ? std::string() : refused.error().message;
  };
  EXPECT_EQ(error("levels = 17\n"), "test.toml:4: qos.levels = 17: a network has 2 to 16");
  EXPECT_EQ(error("largest-weight = 0\n"),
            "test.toml:4: qos.largest-weight = 0: the default level has 1; use 2 to 255");
  EXPECT_EQ(error("threshold = 0\n"),
            "test.toml:4: qos.threshold = 0: use a number above 0 and at most 1, as 0.9");
  EXPECT_EQ(error("predictions = 99\n"),
            "test.toml:4: qos.predictions = 99: use 100 to 1000000, or 0 for 100 for each job");
  EXPECT_NE(error("weight = 3\n").find("unknown key 'weight'; [qos] has"), std::string::npos);
}

TEST(experiment_options, refuse_what_an_experiment_does_not_take_from_a_scenario) {
  const auto error = [&](const std::string& before, const std::string& after) {
    const auto refused =
        options_of(scenario_of(before + "[network]\ntopology = \"star:4\"\n" + after));
    return refused.ok() ? std::string() : refused.error().message;
  };
  EXPECT_EQ(
      error("", "[[levels]]\nweight = 3\n"),
      "test.toml:3: an experiment chooses the weights of its levels; take [[levels]] out, and "
      "write levels = 16 in [qos]");
  EXPECT_EQ(error("faults = [\"at=1ms link-down host0\"]\n", ""),
            "test.toml:1: faults[0] = at=1ms link-down host0: no faults happen here; take faults "
            "out, or run weft simulate");
  EXPECT_EQ(error("", "[random-faults]\nlinks-down-per-s = 3\nuntil = \"1s\"\n"),
            "test.toml:3: no faults happen here; take [random-faults] out, or run weft simulate");
}

TEST(workloads, are_read_with_their_copies) {
  const auto jobs = jobs::workloads_of(scenario_of(
      "[network]\ntopology = \"star:16\"\n[[jobs]]\nname = \"pairs\"\nkind = \"workload\"\n"
      "pattern = \"random-pairs\"\ncopies = 2\nranks = 4\nmessage = \"8KiB\"\ncompute = \"5us\"\n"
      "least-compute = 0.9\n"));
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].name, "pairs-1");
  EXPECT_EQ((*jobs)[1].name, "pairs-2");
  EXPECT_NE((*jobs)[0].pattern.seed, (*jobs)[1].pattern.seed);
  EXPECT_EQ((*jobs)[1].pattern.pattern, sim::Pattern::random_pairs);
  EXPECT_EQ((*jobs)[1].pattern.message_bytes, 8U << 10);
  EXPECT_EQ((*jobs)[1].pattern.compute, PicoDuration::microseconds(5));
  EXPECT_EQ((*jobs)[1].pattern.least_compute, 0.9);
}

TEST(workloads, are_refused_with_line_key_and_fix) {
  EXPECT_EQ(error_of("[[jobs]]\ninputs = 2\n"),
            "test.toml:3: its nodes stream, and only ranks take part here: write kind = "
            "\"workload\" or \"trace\", or run weft simulate on it");
  const std::string job = "[[jobs]]\nkind = \"workload\"\n";
  EXPECT_EQ(error_of(job + "pattern = \"ring\"\n"),
            "test.toml:5: jobs[0].pattern = ring: no workload is called 'ring': there are "
            "flood-pairs, nearest-neighbor, random-pairs, all-to-all, mini-paradis, mini-amg, "
            "crystal-router, pf3d");
  EXPECT_EQ(
      error_of(job + "ranks = -3\n"),
      "test.toml:5: jobs[0].ranks = -3: it is no whole number from 0 to 4294967295; write one");
  EXPECT_EQ(
      error_of(job + "pattern = \"mini-amg\"\ndrift = 0.1\n"),
      "test.toml:6: jobs[0].drift = 0.1: only mini-paradis has it, and not mini-amg: leave it out");
  EXPECT_EQ(error_of(job + "copies = 0\n"), "test.toml:5: jobs[0].copies = 0: use 1 to 1024");
  EXPECT_EQ(error_of(job + "noise = 2\n"), "test.toml:5: jobs[0].noise = 2: use 0 to 0.99");
  EXPECT_NE(error_of(job + "colour = \"red\"\n").find("unknown key 'colour'; a workload has"),
            std::string::npos);
  const std::string trace = "[[jobs]]\nkind = \"trace\"\n";
  EXPECT_EQ(error_of(trace), "test.toml:3: write the trace's file, as in file = \"ring-8.goal\"");
  EXPECT_NE(error_of(trace + "file = \"nothing.goal\"\n").find("nothing.goal"), std::string::npos);
  EXPECT_EQ(error_of(trace + "message = \"32KiB\"\n"),
            "test.toml:5: jobs[0].message = 32KiB: unknown key 'message'; a trace has name, kind, "
            "file, copies, eager, compute-factor, noise, arrives, leaves");
  EXPECT_NE(error_of(job + "file = \"ring-8.goal\"\n").find("a workload has none"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::qos

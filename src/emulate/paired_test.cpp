// SPDX-License-Identifier: Apache-2.0
#include "emulate/paired.hpp"

#include <gtest/gtest.h>

namespace weft::emulate {
namespace {

TEST(PairedRuns, NativeRunsOfOneStateAgree) {
  const Figures on_one_core{{"latency_min", 110}, {"latency_p25", 125}, {"latency_median", 130}};
  const Figures again{{"latency_min", 118}, {"latency_p25", 142}, {"latency_median", 400}};
  const Figures on_two_cores{{"latency_min", 170}, {"latency_p25", 205}, {"latency_median", 210}};
  const Figures disturbed{{"latency_min", 110}, {"latency_p25", 250}, {"latency_median", 900}};
  EXPECT_TRUE(agree(on_one_core, again));
  EXPECT_FALSE(agree(on_one_core, on_two_cores));
  EXPECT_FALSE(agree(on_one_core, disturbed));
}

TEST(PairedRuns, BandwidthsWithinATenthAgree) {
  EXPECT_TRUE(agree({{"bandwidth_median", 5e9}}, {{"bandwidth_median", 5.4e9}}));
  EXPECT_FALSE(agree({{"bandwidth_median", 5e9}}, {{"bandwidth_median", 8e9}}));
}

TEST(PairedRuns, WhatIsAddedIsComparedWithinAPair) {
  // Two states, and 50 ns added in each: neither the least nor the medians of all tell that.
  const PairedRuns paired{.runs = {{.native = {{"x", 110}}, .emulated = {{"x", 165}}},
                                   {.native = {{"x", 170}}, .emulated = {{"x", 220}}},
                                   {.native = {{"x", 490}}, .emulated = {{"x", 530}}}}};
  EXPECT_EQ(median_native(paired, "x"), 170);
  EXPECT_EQ(median_added(paired, "x"), 50);
}

TEST(PairedRuns, OfSeveralStatesTheFastestCounts) {
  PairedRuns paired{.runs = {{.native = {{"latency_min", 490}}},
                             {.native = {{"latency_min", 110}}},
                             {.native = {{"latency_min", 185}}}}};
  keep_fastest_state(paired);
  ASSERT_EQ(paired.runs.size(), 2U);
  EXPECT_EQ(paired.runs[0].native.at("latency_min"), 110);
  EXPECT_EQ(paired.runs[1].native.at("latency_min"), 185);
  EXPECT_EQ(paired.rejected, 1);
}

TEST(PairedRuns, OfFewerThanADozenPairsAWarningSaysWhatToDo) {
  PairedRuns paired{.runs = std::vector<PairedRun>(12), .rejected = 28};
  EXPECT_EQ(warning_of_few(paired), "");
  paired.runs.pop_back();
  EXPECT_NE(warning_of_few(paired).find("11 undisturbed pairs of runs only, and 28 were disturbed"),
            std::string::npos);
  EXPECT_NE(warning_of_few(paired).find("calibrate again"), std::string::npos);
}

}  // namespace
}  // namespace weft::emulate

// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/ledger.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "emulate/sweep/directory_for_test.hpp"

namespace weft::emulate {
namespace {

SweepQuestion question() {
  return {.metric = {}, .links = {}, .server = {}, .command = {"mpirun", "./program"}};
}

SweepRun run_of(double value) {
  return {.point = {Duration::microseconds(1), 0.5},
          .sample = {.value = value, .wall_s = 2, .stolen = 0.01},
          .ground = {.host = "here",
                     .interposer = "ucx",
                     .ranks = 2,
                     .latency_ns = 250.5,
                     .bandwidth_bytes_per_s = std::nullopt},
          .file = {}};
}

TEST(sweep_ledger, keeps_runs_for_the_next_process) {
  const DirectoryForTest directory;
  {
    auto ledger = SweepLedger::open(directory.path(), question(), {});
    ASSERT_TRUE(ledger) << ledger.error().message;
    EXPECT_TRUE(ledger->runs().empty());
    ASSERT_TRUE(ledger->add(run_of(1.5)));
    ASSERT_TRUE(ledger->add(run_of(1.6)));
  }
  auto ledger = SweepLedger::open(directory.path(), question(), {});
  ASSERT_TRUE(ledger) << ledger.error().message;
  ASSERT_EQ(ledger->runs().size(), 2U);
  const SweepRun& run = ledger->runs()[1];
  EXPECT_EQ(run.point, run_of(0).point);
  EXPECT_DOUBLE_EQ(run.sample.value, 1.6);
  EXPECT_DOUBLE_EQ(*run.ground.latency_ns, 250.5);
  EXPECT_FALSE(run.ground.bandwidth_bytes_per_s);
  EXPECT_EQ(run.file, "runs.jsonl");
}

TEST(sweep_ledger, forgets_a_line_that_a_crash_cut_and_goes_on_behind_the_others) {
  const DirectoryForTest directory;
  {
    auto ledger = SweepLedger::open(directory.path(), question(), {});
    ASSERT_TRUE(ledger->add(run_of(1.5)));
  }
  std::ofstream(directory / "runs.jsonl", std::ios::app) << R"({"latency_ns":10)";
  {
    auto ledger = SweepLedger::open(directory.path(), question(), {});
    ASSERT_TRUE(ledger) << ledger.error().message;
    EXPECT_EQ(ledger->runs().size(), 1U);
    ASSERT_TRUE(ledger->add(run_of(1.7)));
  }
  EXPECT_EQ(SweepLedger::runs_of(directory.path())->size(), 2U);
}

TEST(sweep_ledger, names_the_line_that_is_wrong) {
  const DirectoryForTest directory;
  { ASSERT_TRUE(SweepLedger::open(directory.path(), question(), {})); }
  std::ofstream(directory / "runs.jsonl", std::ios::app) << "nothing\n";
  const auto runs = SweepLedger::runs_of(directory.path());
  ASSERT_FALSE(runs);
  EXPECT_NE(runs.error().message.find("runs.jsonl:1: "), std::string::npos);
  EXPECT_EQ(runs.error().code, ErrorCode::corrupt);
}

TEST(sweep_ledger, refuses_the_directory_of_another_sweep) {
  const DirectoryForTest directory;
  { ASSERT_TRUE(SweepLedger::open(directory.path(), question(), {})); }
  SweepQuestion other = question();
  other.command = {"mpirun", "./other"};
  const auto ledger = SweepLedger::open(directory.path(), other, {});
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("the command differs"), std::string::npos);
}

TEST(sweep_ledger, lets_one_process_write_to_a_file_and_tasks_to_their_own) {
  const DirectoryForTest directory;
  auto first = SweepLedger::open(directory.path(), question(), {0, 2});
  ASSERT_TRUE(first);
  const auto again = SweepLedger::open(directory.path(), question(), {0, 2});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::unavailable);
  auto second = SweepLedger::open(directory.path(), question(), {1, 2});
  ASSERT_TRUE(second);
  ASSERT_TRUE(first->add(run_of(1)));
  ASSERT_TRUE(second->add(run_of(2)));
  EXPECT_EQ(SweepLedger::runs_of(directory.path())->size(), 2U);
}

TEST(sweep_ledger, says_when_a_directory_has_no_sweep) {
  const DirectoryForTest directory;
  EXPECT_EQ(SweepLedger::question_of(directory.path()).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace weft::emulate

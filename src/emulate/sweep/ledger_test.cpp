// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/ledger.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

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
                     .bandwidth_bytes_per_s = std::nullopt,
                     .calibration = LayerCalibration{250.5, 1e10, -12.25}},
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
  EXPECT_EQ(run.ground.calibration, run_of(0).ground.calibration);
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

TEST(sweep_ledger, refuses_numbers_that_no_run_has) {
  const DirectoryForTest directory;
  {
    auto ledger = SweepLedger::open(directory.path(), question(), {});
    ASSERT_TRUE(ledger->add(run_of(1.5)));
  }
  std::string line;
  std::getline(std::ifstream(directory / "runs.jsonl"), line);
  for (const auto& [field, value] : {std::pair{"latency_ns", "-1"},
                                     {"latency_ns", "1e30"},
                                     {"bandwidth", "0"},
                                     {"bandwidth", "2"},
                                     {"value_s", "0"},
                                     {"value_s", "1e200"},
                                     {"wall_s", "-1"},
                                     {"stolen", "7"},
                                     {"waiting", "-1"},
                                     {"ranks", "-2"},
                                     {"ranks", "99999999999999"},
                                     {"native_latency_ns", "-5"},
                                     {"calibrated_overhead_ns", "1e12"},
                                     {"host", "3"}}) {
    nlohmann::json changed = nlohmann::json::parse(line);
    changed[field] = nlohmann::json::parse(value);
    std::ofstream(directory / "runs.jsonl") << changed.dump() << "\n";
    const auto runs = SweepLedger::runs_of(directory.path());
    ASSERT_FALSE(runs) << field << " " << value;
    EXPECT_NE(
        runs.error().message.find(std::string("runs.jsonl:1: is no run of a sweep (") + field),
        std::string::npos)
        << runs.error().message;
  }
}

TEST(sweep_ledger, remembers_points_that_were_added_later) {
  const DirectoryForTest directory;
  SweepQuestion asked = question();
  asked.latencies = *parse_latencies("0,2us");
  { ASSERT_TRUE(SweepLedger::open(directory.path(), asked, {})); }
  asked.latencies = *parse_latencies("0,1us,2us");
  { ASSERT_TRUE(SweepLedger::open(directory.path(), asked, {})); }
  asked.latencies = *parse_latencies("0,5us");
  asked.bandwidths = *parse_bandwidths("100%,50%");
  { ASSERT_TRUE(SweepLedger::open(directory.path(), asked, {})); }
  const auto kept = SweepLedger::question_of(directory.path());
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->latencies, *parse_latencies("0,1us,2us,5us"));
  EXPECT_EQ(kept->bandwidths, asked.bandwidths);
}

TEST(sweep_ledger, names_the_file_of_a_question_that_was_cut) {
  const DirectoryForTest directory;
  { ASSERT_TRUE(SweepLedger::open(directory.path(), question(), {})); }
  std::filesystem::resize_file(directory / "question.json", 40);
  const auto ledger = SweepLedger::open(directory.path(), question(), {});
  ASSERT_FALSE(ledger);
  EXPECT_EQ(ledger.error().message, (directory / "question.json") +
                                        ": is no sweep (is not whole JSON); name another directory "
                                        "with --resume");
}

TEST(sweep_ledger, tells_runs_of_another_calibration) {
  const SweepRun run = run_of(1);
  EXPECT_TRUE(check_calibration({run, run}, "runs", run.ground.calibration));
  EXPECT_TRUE(check_calibration({}, "runs", std::nullopt));
  LayerCalibration now = *run.ground.calibration;
  now.overhead_ns += 1;
  const auto refused = check_calibration({run}, "runs", now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "--resume: runs has runs with another calibration (250.5 ns native, 10 GB/s, overhead "
            "-12.25 ns; now 250.5 ns native, 10 GB/s, overhead -11.25 ns), which are runs on other "
            "networks: name another directory, or set WEFT_CALIBRATION to the file with theirs");
  EXPECT_FALSE(check_calibration({run}, "runs", std::nullopt));
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

TEST(sweep_ledger, lets_one_of_two_sweeps_have_a_directory_that_both_begin_in_at_once) {
  for (int round = 0; round < 20; ++round) {
    const DirectoryForTest directory;
    std::barrier both(2);
    std::atomic<int> opened = 0;
    const auto begin = [&](std::uint32_t task, const char* program) {
      SweepQuestion asked = question();
      asked.command = {program};
      both.arrive_and_wait();
      opened += SweepLedger::open(directory.path(), asked, {task, 2}).ok() ? 1 : 0;
    };
    std::thread other(begin, 1, "./other");
    begin(0, "./program");
    other.join();
    ASSERT_EQ(opened, 1);
  }
}

TEST(sweep_ledger, keeps_the_points_of_two_tasks_that_add_theirs_at_once) {
  for (int round = 0; round < 20; ++round) {
    const DirectoryForTest directory;
    { ASSERT_TRUE(SweepLedger::open(directory.path(), question(), {})); }
    std::barrier both(2);
    const auto begin = [&](std::uint32_t task, const char* latencies) {
      SweepQuestion asked = question();
      asked.latencies = *parse_latencies(latencies);
      both.arrive_and_wait();
      EXPECT_TRUE(SweepLedger::open(directory.path(), asked, {task, 2}));
    };
    std::thread other(begin, 1, "0,2us");
    begin(0, "0,1us");
    other.join();
    ASSERT_EQ(SweepLedger::question_of(directory.path())->latencies, *parse_latencies("0,1us,2us"));
  }
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

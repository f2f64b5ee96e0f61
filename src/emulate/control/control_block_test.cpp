// SPDX-License-Identifier: Apache-2.0
#include "emulate/control/control_block.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>

namespace weft::emulate {
namespace {

class control_block : public ::testing::Test {
 protected:
  std::unique_ptr<ControlBlock> block_ = std::make_unique<ControlBlock>();
};

TEST_F(control_block, native_knobs_add_nothing) {
  EXPECT_TRUE(block_->knobs.is_native());
  const Plan plan = plan_message(*block_, 0, 1, 1'000, 1'000'000);
  EXPECT_EQ(plan.departure, 1'000);
  EXPECT_EQ(plan.latency, 0);
}

TEST_F(control_block, a_message_passes_two_links_of_one_rate_in_the_time_of_one) {
  block_->knobs.rate = 1'000'000'000;  // 1 ns a byte
  block_->knobs.latency = 2'000'000;
  const Plan plan = plan_message(*block_, 0, 1, 500, 1'000);
  EXPECT_EQ(plan.departure, 1'000'500);
  EXPECT_EQ(plan.latency, 2'000'000);
}

TEST(rank_from_environment, a_process_of_weft_run_has_its_own_rank_also_in_a_job_of_slurm) {
  ::setenv("SLURM_PROCID", "0", 1);
  EXPECT_EQ(rank_from_environment().rank, 0);
  ::setenv("WEFT_LAUNCHED_RANK", "3", 1);
  EXPECT_EQ(rank_from_environment().rank, 3);
  ::unsetenv("SLURM_PROCID");
  ::unsetenv("WEFT_LAUNCHED_RANK");
}

TEST_F(control_block, links_between_ranks_are_those_of_a_rate) {
  EXPECT_EQ(links_between(*block_, 0, 1), 0U);
  block_->knobs.rate = 1'000'000'000;
  EXPECT_EQ(links_between(*block_, 0, 1), 2U);
  EXPECT_EQ(links_between(*block_, 0, kMostRanks), 0U);
  block_->pair_count = 2;
  block_->paths[1] = {.latency = 0, .links = {4, 5, 6}, .hops = 3};
  block_->link_rates[4] = block_->link_rates[6] = 1'000;
  EXPECT_EQ(links_between(*block_, 0, 1), 2U);
}

TEST_F(control_block, two_senders_share_the_link_into_their_receiver) {
  block_->knobs.rate = 1'000'000'000;
  EXPECT_EQ(plan_message(*block_, 0, 2, 0, 1'000).departure, 1'000'000);
  EXPECT_EQ(plan_message(*block_, 1, 2, 0, 1'000).departure, 2'000'000);
  EXPECT_EQ(plan_message(*block_, 2, 0, 0, 1'000).departure, 1'000'000);
}

TEST_F(control_block, a_message_that_queues_at_its_sender_keeps_no_other_sender_from_its_receiver) {
  block_->knobs.rate = 1'000'000'000;
  EXPECT_EQ(plan_message(*block_, 0, 1, 0, 100'000'000).departure, 100'000'000'000);
  EXPECT_EQ(plan_message(*block_, 0, 2, 0, 1'000).departure, 100'001'000'000);
  // A microsecond for the other's thousand bytes, which came first, and one for its own.
  EXPECT_EQ(plan_message(*block_, 3, 2, 0, 1'000).departure, 2'000'000);
}

TEST_F(control_block, a_message_of_no_bytes_passes_no_link) {
  block_->knobs.rate = 1'000'000'000;
  (void)plan_message(*block_, 0, 1, 0, 1'000);
  EXPECT_EQ(plan_message(*block_, 0, 1, 0, 0).departure, 0);
  EXPECT_EQ(plan_message(*block_, 0, 1, 0, 1'000).departure, 2'000'000);
}

TEST_F(control_block, an_answer_under_way_leaves_the_links_free_for_others_until_it_leaves) {
  block_->knobs.rate = 1'000'000'000;
  block_->knobs.latency = 5'000'000'000;
  const auto plan = [&](bool is_answer, Picoseconds ready, std::uint64_t bytes) {
    return plan_message(*block_, is_answer ? 1 : 0, is_answer ? 0 : 1, ready, bytes);
  };
  const RoundTrip read = plan_round_trip(0, 0, 100'000, plan);
  EXPECT_EQ(read.due, 100'000'000 + 2 * 5'000'000'000);
  EXPECT_EQ(read.travel, 2 * 5'000'000'000);
  // The peer's own message waits for the answer's bytes, not for the answer's latency.
  EXPECT_EQ(plan_message(*block_, 1, 0, 0, 1'000).departure, 101'000'000);
}

TEST_F(control_block, writes_in_both_directions_do_not_wait_for_each_others_acknowledgements) {
  block_->knobs.rate = 1'000'000'000;
  block_->knobs.latency = 20'000'000'000;
  RoundTrip last{};
  for (int i = 0; i < 200; ++i) {
    for (const unsigned from : {0U, 1U}) {
      last = plan_round_trip(0, 65'536, 0, [&](bool is_answer, Picoseconds ready, auto bytes) {
        return plan_message(*block_, is_answer ? 1 - from : from, is_answer ? from : 1 - from,
                            ready, bytes);
      });
    }
  }
  EXPECT_EQ(last.due, Picoseconds{200} * 65'536'000 + Picoseconds{2} * 20'000'000'000);
}

TEST_F(control_block, the_slowest_link_of_a_path_decides) {
  block_->pair_count = 2;
  block_->link_rates[7] = 1'000'000'000;
  block_->link_rates[9] = 100'000'000;
  block_->paths[1] = {.latency = 300, .links = {7, 9}, .hops = 2};
  const Plan plan = plan_message(*block_, 0, 1, 0, 100);
  EXPECT_EQ(plan.departure, 1'000'000);
  EXPECT_EQ(plan.latency, 300);
}

TEST_F(control_block, only_what_happens_between_init_and_finalize_is_counted) {
  ProcessRecord* record = block_->enrol();
  ASSERT_NE(record, nullptr);
  record->count(op_put, 10);
  record->stage |= stage_running;
  record->count(op_put, 20);
  record->stage |= stage_finished;
  record->count(op_put, 40);
  EXPECT_EQ(record->operations[op_put].load(), 1U);
  EXPECT_EQ(record->bytes.load(), 20U);
}

TEST_F(control_block, an_address_tells_the_rank_that_it_is) {
  constexpr std::uint64_t kHash = 7;
  EXPECT_EQ(block_->rank_at_address(kHash), kMostRanks);
  block_->publish_address(kHash, 3);
  block_->publish_address(kHash + kMostProcesses, 4);  // the same place
  EXPECT_EQ(block_->rank_at_address(kHash), 3U);
  EXPECT_EQ(block_->rank_at_address(kHash + kMostProcesses), 4U);
  block_->publish_address(kHash, 5);  // its endpoint was opened by another process since
  EXPECT_EQ(block_->rank_at_address(kHash), 5U);
  EXPECT_EQ(block_->rank_at_address(kHash + 1), kMostRanks);
}

TEST_F(control_block, more_processes_than_records_are_left_out) {
  for (unsigned i = 0; i < kMostProcesses; ++i) ASSERT_NE(block_->enrol(), nullptr);
  EXPECT_EQ(block_->enrol(), nullptr);
}

/// The number of a process that has ended.
std::int32_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST_F(control_block, processes_that_end_without_having_communicated_use_up_no_records) {
  const std::int32_t ended = ended_process();
  for (unsigned i = 0; i < 2 * kMostProcesses; ++i) {
    ProcessRecord* record = block_->enrol();
    ASSERT_NE(record, nullptr);
    record->ended = 5;
    record->stage |= stage_finished;
    record->pid = ended;
  }
  ProcessRecord* record = block_->enrol();
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->stage.load(), stage_loaded);
  EXPECT_EQ(record->ended.load(), 0);
}

TEST_F(control_block, a_record_that_says_something_of_the_run_is_kept) {
  const std::int32_t ended = ended_process();
  ProcessRecord* running = block_->enrol();
  ProcessRecord* interposed = block_->enrol();
  ProcessRecord* of_another_rank = block_->enrol();
  ProcessRecord* refused = block_->enrol();
  running->stage |= stage_finished;  // so far: its number is this process's
  interposed->stage |= stage_interposed;
  of_another_rank->rank = 3;
  refused->stage |= stage_refused;
  for (ProcessRecord* record : {interposed, of_another_rank, refused}) record->pid = ended;
  ProcessRecord* next = block_->enrol();
  for (ProcessRecord* record : {running, interposed, of_another_rank, refused}) {
    EXPECT_NE(next, record);
  }
}

TEST(attaching, a_file_that_is_no_block_is_refused) {
  const std::string path = ::testing::TempDir() + "/no_block";
  std::ofstream(path) << "nothing";
  EXPECT_EQ(attach_block(path.c_str()), nullptr);
  EXPECT_EQ(attach_block("/nowhere"), nullptr);
  EXPECT_EQ(attach_block(nullptr), nullptr);
}

}  // namespace
}  // namespace weft::emulate

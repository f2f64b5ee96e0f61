// SPDX-License-Identifier: Apache-2.0
#include "trace/goal/goal.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/sanitizer.hpp"

namespace weft::trace {
namespace {

using Kind = GoalOperation::Kind;

GoalTrace parsed(std::string_view text) {
  auto trace = parse_goal(text, "a.goal");
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  return trace ? std::move(trace).value() : GoalTrace{};
}

std::string refusal(std::string_view text) {
  const auto trace = parse_goal(text, "a.goal");
  return trace ? "accepted" : trace.error().message;
}

TEST(goal, reads_operations_labels_and_what_they_require) {
  const GoalTrace trace = parsed(R"(num_ranks 2
/* rank 0
   computes first */
rank 0 {
  l1: calc 1000 cpu 0
  l2: send 4096b to 1 tag 7 cpu 0 nic 0
  l2 requires l1   // not before
  recv 8b from 1
}
rank 1 {
  b: recv 4096b from 0 tag 7
  c: send 8 to 0
  c irequires b
}
)");
  ASSERT_EQ(trace.ranks.size(), 2U);
  const GoalRank& first = trace.ranks[0];
  ASSERT_EQ(first.operations.size(), 3U);
  EXPECT_EQ(first.operations[0].kind, Kind::calc);
  EXPECT_EQ(first.operations[0].amount, 1000U);
  EXPECT_EQ(first.operations[1].kind, Kind::send);
  EXPECT_EQ(first.operations[1].amount, 4096U);
  EXPECT_EQ(first.operations[1].peer, 1U);
  EXPECT_EQ(first.operations[1].tag, 7U);
  EXPECT_EQ(first.operations[1].line, 6U);
  EXPECT_EQ(first.operations[2].kind, Kind::receive);
  ASSERT_EQ(first.dependencies.size(), 1U);
  EXPECT_EQ(first.dependencies[0].earlier, 0U);
  EXPECT_EQ(first.dependencies[0].later, 1U);
  EXPECT_FALSE(first.dependencies[0].at_start);
  EXPECT_TRUE(trace.ranks[1].dependencies[0].at_start);
}

TEST(goal, counts_what_a_trace_contains) {
  const Summary summary = summary_of(parsed(
      "num_ranks 2 rank 0 { calc 5 calc 6 send 10b to 1 } rank 1 { recv 10b from 0 calc 2000 }"));
  EXPECT_EQ(summary.ranks, 2U);
  EXPECT_EQ(summary.events, 5U);
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_EQ(summary.bytes, 10U);
  EXPECT_EQ(summary.unmatched, 0U);
  EXPECT_DOUBLE_EQ(summary.seconds, 2e-6);
  EXPECT_EQ(summary.problem, "");
}

TEST(goal, names_the_first_message_without_its_counterpart_and_counts_them) {
  const Summary summary = summary_of(
      parsed("num_ranks 2\nrank 0 {\nsend 10b to 1 tag 3\nsend 10b to 1 tag 3\n}\nrank 1 {\n"
             "recv 11b from 0 tag 3\nrecv 10b from 0 tag 3\n}\n"));
  EXPECT_EQ(summary.unmatched, 2U);
  EXPECT_EQ(
      summary.problem,
      "a.goal:4: rank 0 sends 10 bytes to rank 1 with tag 3, which receives no such message (2 "
      "unmatched in all): record or convert the program anew");
}

TEST(goal, refuses_what_it_cannot_replay_with_line_and_fix) {
  EXPECT_EQ(refusal("ranks 2"),
            "a.goal:1: 'ranks' stands at the beginning of what should be GOAL text: write "
            "'num_ranks' there, or name another file: a GOAL text, or the anchor file of an OTF2 "
            "archive, which ends with .otf2");
  EXPECT_EQ(refusal("num_ranks 0"), "a.goal:1: num_ranks is 0: use 1 to 262144");
  EXPECT_EQ(refusal("num_ranks 99999999999999"),
            "a.goal:1: num_ranks is 99999999999999: use 1 to 262144");
  EXPECT_EQ(refusal("num_ranks 2\nrank 2 { }"),
            "a.goal:2: rank 2 does not exist: num_ranks is 2; use 0 to 1");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\nsend 1b to 4\n}"),
            "a.goal:3: rank 4 does not exist: num_ranks is 1; use 0 to 0");
  EXPECT_EQ(
      refusal("num_ranks 1\nrank 0 {\ncalc 1 cpu 2\n}"),
      "a.goal:3: cpu 2: a simulated rank has one; write cpu 0, and a rank of its own for each "
      "further one");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}"),
            "a.goal:4: no operation of rank 0 has the label 'b': give one that label");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}"),
            "a.goal:4: label 'a' is there twice: use another");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb requires a }"),
            "a.goal:2: 2 operations of rank 0 wait for each other in a circle: remove a requires");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\ncalc 1\n"),
            "a.goal:2: rank 0 does not end: write } behind its last operation (the file may be "
            "truncated)");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\ncalc -1 }"),
            "a.goal:3: '-1' is no time in nanoseconds: write a whole number of 0 or more");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\nrecv 1b of 0 }"),
            "a.goal:3: 'of' stands behind the size: write 'from' there");
}

TEST(goal, refuses_a_directory_and_says_what_to_name) {
  const auto refused = read_goal("/");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("ends with .otf2"), std::string::npos);
}

TEST(goal, larger_than_memory_is_an_error_that_names_it) {
#if defined(WEFT_ADDRESS_SANITIZER) || defined(WEFT_THREAD_SANITIZER)
  GTEST_SKIP() << "sanitizers have no limit of memory";
#endif
  const std::string path = testing::TempDir() + "larger_than_memory.goal";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, std::uintmax_t{1} << 30);  // takes no room on the disk
  const auto read_with_little = [&] {
    const rlimit little{.rlim_cur = 128u << 20, .rlim_max = 128u << 20};
    ::setrlimit(RLIMIT_AS, &little);
    const auto refused = read_goal(path);
    if (!refused) std::fputs(refused.error().message.c_str(), stderr);
    std::_Exit(refused ? 0 : 1);
  };
  EXPECT_EXIT(read_with_little(), testing::ExitedWithCode(1),
              "larger_than_memory.goal' does not fit in the memory that is left; use");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft::trace

// SPDX-License-Identifier: Apache-2.0
#include "trace/events/examine.hpp"

#include <gtest/gtest.h>

#include "trace/events/stream_for_test.hpp"

namespace weft::trace {
namespace {

using collective::Operation;

Summary examined(std::vector<std::vector<Event>> events) {
  ListedStream stream(std::move(events));
  const auto summary = examine(stream, "a.otf2");
  EXPECT_TRUE(summary.ok());
  return summary ? *summary : Summary{};
}

TEST(examine, counts_what_a_whole_trace_contains) {
  const Summary s = examined({{computes(5), sends(1, 100), waits(), calls(Operation::barrier, 0),
                               sends(0, 7, 1), receives(0, 7, 2), waits(1), waits(2)},
                              {receives(0, 100), waits(), calls(Operation::barrier, 0)}});
  EXPECT_EQ(s.problem, "");
  EXPECT_EQ(s.unmatched, 0U);
  EXPECT_EQ(s.ranks, 2U);
  EXPECT_EQ(s.events, 11U);
  EXPECT_EQ(s.messages, 1U);
  EXPECT_EQ(s.bytes, 100U);
  EXPECT_EQ(s.collectives, 1U);
}

TEST(examine, names_the_first_message_without_its_counterpart) {
  const Summary s = examined({{sends(1, 100, 0, 3), waits(), sends(1, 50), waits()},
                              {receives(0, 50), waits(), receives(0, 50, 0, 4), waits()}});
  EXPECT_EQ(s.unmatched, 2U);
  EXPECT_EQ(
      s.problem,
      "a.otf2: rank 0, event 1: 100 bytes to rank 1 with tag 3, which receives no such message "
      "(2 unmatched in all): record the program anew");
}

TEST(examine, finds_messages_whose_sizes_differ) {
  const Summary s = examined({{sends(1, 100), waits()}, {receives(0, 60), waits()}});
  EXPECT_EQ(s.unmatched, 1U);
  EXPECT_NE(s.problem.find("it receives 60 bytes from rank 0, whose event 1 has 100"),
            std::string::npos)
      << s.problem;
}

TEST(examine, finds_operations_whose_completion_was_not_recorded) {
  const Summary s = examined({{sends(1, 100)}, {receives(no_peer, 0)}});
  EXPECT_EQ(s.unmatched, 3U);  // both, and the message
  EXPECT_NE(s.problem.find("rank 0, event 1: a send whose completion was not recorded"),
            std::string::npos)
      << s.problem;
}

TEST(examine, finds_completions_of_what_never_began) {
  EXPECT_NE(examined({{waits(4)}}).problem.find("an operation completes that never began"),
            std::string::npos);
}

TEST(examine, finds_peers_and_communicators_that_do_not_exist) {
  EXPECT_NE(examined({{sends(9, 1), waits()}}).problem.find("rank 9, which does not exist"),
            std::string::npos);
  Event barrier = calls(Operation::barrier, 0);
  barrier.communicator = 5;
  EXPECT_NE(examined({{barrier}}).problem.find("no member of the communicator 5"),
            std::string::npos);
}

TEST(examine, finds_collectives_that_members_call_differently_or_not_at_all) {
  EXPECT_NE(examined({{calls(Operation::broadcast, 8)}, {calls(Operation::broadcast, 9)}})
                .problem.find("broadcast of 9 bytes with root 0, where rank 0 has broadcast of 8"),
            std::string::npos);
  EXPECT_NE(examined({{calls(Operation::barrier, 0)}, {}})
                .problem.find("barrier in which 1 of 2 members take part"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::trace

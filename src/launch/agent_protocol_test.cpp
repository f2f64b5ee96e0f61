// SPDX-License-Identifier: Apache-2.0
#include "launch/agent_protocol.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(agent_protocol, a_program_is_described_whole) {
  const ProgramDescription program{.ranks = 4,
                                   .command = {"./jac3d", "a b", "\"'\n"},
                                   .directory = "/tmp/x y",
                                   .environment = {{"WEFT_LOG", "info"}},
                                   .lease = Duration::seconds(7),
                                   .guard = "job-node1"};
  const auto read = read_program_description(to_text(program));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->ranks, 4u);
  EXPECT_EQ(read->command, program.command);
  EXPECT_EQ(read->directory, program.directory);
  EXPECT_EQ(read->environment, program.environment);
  EXPECT_EQ(read->lease, program.lease);
  EXPECT_EQ(read->guard, program.guard);
}

TEST(agent_protocol, nonsense_is_no_program) {
  for (const char* text : {"", "{}", "[]", "{\"ranks\":0}", "{\"ranks\":-1,\"command\":[]}"}) {
    EXPECT_FALSE(read_program_description(text)) << text;
  }
}

TEST(agent_protocol, a_command_of_further_ranks_gets_through) {
  const std::vector<std::string> command{"./worker", "a b", "\"'\n", ""};
  const auto read = read_command(command_to_text(command));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, command);
  for (const char* text : {"", "[]", "{}", "[1]"}) EXPECT_FALSE(read_command(text)) << text;
}

}  // namespace
}  // namespace weft

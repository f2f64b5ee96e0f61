// SPDX-License-Identifier: Apache-2.0
#include "launch/agent_guard.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace weft {
namespace {

std::string name(const char* what) {
  return fmt::format("weft-guard-test-{}-{}", what, ::getpid());
}

TEST(agent_guard, a_later_agent_asks_for_the_name_and_gets_it_when_the_earlier_has_ended) {
  const std::string mine = name("later");  // and the child's
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t earlier = ::fork();
  if (earlier == 0) {
    AgentGuard guard;
    if (!guard.take(mine, {})) ::_exit(1);
    (void)!::write(ready[1], "x", 1);
    while (!guard.is_asked_for()) {
      pollfd asked{.fd = guard.descriptor(), .events = POLLIN, .revents = 0};
      (void)::poll(&asked, 1, -1);
    }
    ::_exit(7);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  AgentGuard guard;
  EXPECT_TRUE(guard.take(mine, Duration::seconds(60)));
  int status = 0;
  ::waitpid(earlier, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(guard.is_asked_for());
}

TEST(agent_guard, an_agent_that_does_not_end_is_an_error) {
  AgentGuard stubborn, later;
  ASSERT_TRUE(stubborn.take(name("stubborn"), {}));
  const auto taken = later.take(name("stubborn"), {});
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("does not end"), std::string::npos);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "base/process_end.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

namespace weft {
namespace {

TEST(process_end, is_named_by_code_or_signal) {
  EXPECT_EQ(describe_end(W_EXITCODE(3, 0)), "ended with code 3");
  EXPECT_EQ(describe_end(W_EXITCODE(0, SIGKILL)), "was ended by signal 9 (Killed)");
  EXPECT_EQ(code_of_end(W_EXITCODE(3, 0)), 3);
  EXPECT_EQ(code_of_end(W_EXITCODE(0, SIGKILL)), 137);
}

TEST(process_end, a_code_above_128_may_be_that_of_a_signal) {
  EXPECT_EQ(describe_end_code(3), "ended with code 3");
  EXPECT_EQ(describe_end_code(128), "ended with code 128");
  EXPECT_EQ(describe_end_code(139), "ended with code 139, as by signal 11 (Segmentation fault)");
  EXPECT_EQ(describe_end_code(255), "ended with code 255");
}

}  // namespace
}  // namespace weft

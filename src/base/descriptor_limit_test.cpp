// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>

#include "base/log.hpp"

namespace weft {
namespace {

class descriptor_limit : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    if (before_.rlim_max < 70) GTEST_SKIP() << "needs a hard limit of 70";
    set(64);
  }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &before_); }

  void set(rlim_t soft) const {
    const struct rlimit limit { soft, before_.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  static rlim_t soft() {
    struct rlimit limit {};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }

  struct rlimit before_ {};
};

TEST_F(descriptor_limit, is_raised_no_further_than_needed_and_never_lowered) {
  raise_descriptor_limit(63);
  EXPECT_EQ(soft(), 64u);
  raise_descriptor_limit(70);
  EXPECT_EQ(soft(), 70u);
}

TEST_F(descriptor_limit, an_error_has_both_figures_and_leaves_the_limit) {
  EXPECT_EQ(most_descriptors(), before_.rlim_max);
  const auto allowed = allow_descriptors("-n 2", UINT64_MAX, "processes");
  ASSERT_FALSE(allowed.ok());
  EXPECT_EQ(allowed.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(allowed.error().message,
            "-n 2: a process needs 18446744073709551615 file descriptors and may have " +
                std::to_string(before_.rlim_max) + "; use fewer processes, or raise ulimit -n");
  EXPECT_EQ(soft(), 64u);
}

TEST(lacking_descriptors, are_told_once_however_often_it_is_tried_again) {
  testing::internal::CaptureStderr();
  set_up_log("error", "");
  tell_of_lacking_descriptors("shared memory", ENOENT);
  tell_of_lacking_descriptors("shared memory", EMFILE);
  tell_of_lacking_descriptors("tcp", EMFILE);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("shared memory: Too many open files"), std::string::npos) << told;
  EXPECT_NE(told.find("(ulimit -n)"), std::string::npos) << told;
  EXPECT_EQ(told.find("tcp"), std::string::npos) << told;
}

}  // namespace
}  // namespace weft

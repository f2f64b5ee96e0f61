// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/secret_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft {
namespace {

using testing::HasSubstr;

class secret_file : public testing::Test {
 protected:
  secret_file() : path_(testing::TempDir() + fmt::format("weft-secret-{}", ::getpid())) {}
  ~secret_file() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes, mode_t mode = 0600) {
    std::ofstream(path_, std::ios::binary) << bytes;
    ::chmod(path_.c_str(), mode);
  }
  std::string error() {
    const auto secret = read_secret_file(path_);
    return secret ? "none" : secret.error().message;
  }
  std::string path_;
};

TEST_F(secret_file, is_read_without_the_end_of_its_line) {
  write("sixteen bytes ok\n");
  EXPECT_EQ(*read_secret_file(path_), "sixteen bytes ok");
  write("sixteen bytes ok\r\n");
  EXPECT_EQ(*read_secret_file(path_), "sixteen bytes ok");
  write(std::string("\0binary\0and long\xff", 17));
  EXPECT_EQ(read_secret_file(path_)->size(), 17u);
}

TEST_F(secret_file, that_the_group_or_others_may_read_or_change_is_refused_with_the_fix) {
  for (const mode_t mode : {0644, 0640, 0660, 0604, 0602, 0620, 0777}) {
    write("sixteen bytes ok", mode);
    EXPECT_THAT(error(), HasSubstr("chmod 600 " + path_)) << mode;
  }
  for (const mode_t mode : {0600, 0400}) {
    write("sixteen bytes ok", mode);
    EXPECT_EQ(error(), "none") << mode;
  }
}

TEST_F(secret_file, that_is_too_short_or_too_long_is_refused) {
  write("fifteen bytes..\n\n\n");
  EXPECT_THAT(error(), HasSubstr("has 15 bytes"));
  write("");
  EXPECT_THAT(error(), HasSubstr("has 0 bytes"));
  write(std::string(longest_secret + 1, 'x'));
  EXPECT_THAT(error(), HasSubstr("has more than 4096 bytes; a secret has 16 to 4096"));
  write(std::string(1 << 20, 'x'));
  EXPECT_THAT(error(), HasSubstr("has more than 4096 bytes"));
}

TEST_F(secret_file, of_nothing_but_zeros_is_refused) {
  write(std::string(32, '\0'));
  EXPECT_THAT(error(), HasSubstr("only zeros"));
}

TEST_F(secret_file, that_is_missing_or_no_file_is_refused_by_name) {
  EXPECT_THAT(error(), HasSubstr(path_));
  const auto directory = read_secret_file(testing::TempDir());
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("is not a file"));
}

TEST_F(secret_file, of_the_user_is_made_once_and_for_nobody_else) {
  const std::filesystem::path home = path_ + "-home";
  const char* before = std::getenv("XDG_CONFIG_HOME");
  const std::string former = before == nullptr ? "" : before;
  ::setenv("XDG_CONFIG_HOME", home.c_str(), 1);
  const auto first = read_own_secret();
  const auto second = read_own_secret();
  if (former.empty()) {
    ::unsetenv("XDG_CONFIG_HOME");
  } else {
    ::setenv("XDG_CONFIG_HOME", former.c_str(), 1);
  }
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(first->size(), 64u);
  EXPECT_EQ(std::filesystem::status(home / "weft" / "secret").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "base/whole_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft {
namespace {

class WholeFileTest : public testing::Test {
 protected:
  WholeFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-whole-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~WholeFileTest() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ + "/file"; }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  }

  std::string directory_;
};

TEST_F(WholeFileTest, appears_when_it_is_committed) {
  auto file = WholeFile::create(path());
  ASSERT_TRUE(file.ok()) << file.error().message;
  std::string expected;
  for (int i = 0; i < 100'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    ASSERT_TRUE(file->write(line).ok());
    expected += line;
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(content(), expected);
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFileTest, what_is_not_committed_leaves_the_old_file) {
  std::ofstream(path()) << "old";
  {
    auto file = WholeFile::create(path());
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFileTest, that_may_replace_nothing_leaves_a_file_that_came_meanwhile) {
  {
    auto file = WholeFile::create(path(), Existing::refuse);
    ASSERT_TRUE(file.ok()) << file.error().message;
    ASSERT_TRUE(file->write("late").ok());
    std::ofstream(path()) << "early";
    EXPECT_THAT(file->commit().error().message, testing::HasSubstr("exists already"));
  }
  EXPECT_EQ(content(), "early");
  EXPECT_EQ(files(), 1u);
  EXPECT_FALSE(WholeFile::create(path(), Existing::refuse).ok());
}

TEST_F(WholeFileTest, a_process_that_is_killed_leaves_nothing) {
  const int unnamed = ::open(directory_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no files without names";
  ::close(unnamed);
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = WholeFile::create(path());
    const bool good = file.ok() && file->write(std::string(std::size_t{1} << 20, 'x')).ok();
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files(), 0u);
}

TEST_F(WholeFileTest, a_full_disk_is_an_error_and_leaves_nothing) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    auto file = WholeFile::create(path());
    ASSERT_TRUE(file.ok());
    Result<void> written = file->write(std::string(std::size_t{1} << 20, 'x'));
    EXPECT_FALSE(written.ok());
    EXPECT_FALSE(file->write("more").ok());
    EXPECT_FALSE(file->commit().ok());
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(files(), 0u);
}

TEST_F(WholeFileTest, devices_and_directories_are_not_replaced) {
  for (const std::string& place : {std::string("/dev/null"), directory_}) {
    const auto file = WholeFile::create(place);
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(file.error().message, testing::HasSubstr(place + ": is there"));
  }
}

TEST_F(WholeFileTest, directories_that_are_missing_are_named) {
  const auto file = WholeFile::create(directory_ + "/no/such/file");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::not_found);
  EXPECT_THAT(file.error().message, testing::HasSubstr("/no/such/file': No such"));
}

}  // namespace
}  // namespace weft

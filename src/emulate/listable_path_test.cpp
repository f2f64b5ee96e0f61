// SPDX-License-Identifier: Apache-2.0
#include "emulate/listable_path.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weft::emulate {
namespace {

namespace fs = std::filesystem;

class listable_path : public ::testing::Test {
 protected:
  std::string file_in(const std::string& directory) const {
    fs::create_directories(base_ / directory);
    std::ofstream(base_ / directory / "module.so") << directory;
    return base_ / directory / "module.so";
  }
  void TearDown() override { fs::remove_all(base_); }

  const fs::path base_ =
      fs::path(::testing::TempDir()) / ("listable-" + std::to_string(::getpid()));
};

TEST_F(listable_path, is_the_path_itself_where_that_separates_nothing) {
  const std::string file = file_in("plain");
  const auto path = ListablePath::of(file);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path->text(), file);
}

TEST_F(listable_path, names_the_file_without_separators) {
  for (const char* directory : {"a b", "a:b", "a$LIB"}) {
    const auto path = ListablePath::of(file_in(directory));
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(path->text().find_first_of(" :$"), std::string::npos);
    std::string text;
    std::getline(std::ifstream(path->text()), text);
    EXPECT_EQ(text, directory);
    const auto whole = ListablePath::of(base_ / directory);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_TRUE(fs::exists(fs::path(whole->text()) / "module.so"));
  }
}

TEST_F(listable_path, of_a_file_that_is_not_there_is_refused) {
  const auto path = ListablePath::of(base_ / "not there");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("not there': No such"), std::string::npos);
}

}  // namespace
}  // namespace weft::emulate

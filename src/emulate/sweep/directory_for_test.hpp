// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace weft::emulate {

/// A directory that is gone afterwards.
class DirectoryForTest {
 public:
  DirectoryForTest() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-sweep-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    path_ = name;
  }
  ~DirectoryForTest() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  DirectoryForTest(const DirectoryForTest&) = delete;
  DirectoryForTest& operator=(const DirectoryForTest&) = delete;

  std::string operator/(const char* name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::emulate

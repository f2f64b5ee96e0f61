// SPDX-License-Identifier: Apache-2.0
// For tests: bytes written by hand (tests/golden), files to put them in, and the archives that
// FLESnet itself wrote, where they are at hand.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::wire {

/// Decodes hexadecimal text as tests/golden/README.md describes it; aborts on anything else.
std::vector<std::byte> bytes_from_hex(std::string_view text);
/// The bytes of tests/golden/NAME.hex.
std::vector<std::byte> golden(std::string_view name);

std::vector<std::byte> read_whole(const std::filesystem::path& path);
void write_whole(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// A directory of its own, removed with everything in it at the end.
class TestDirectory {
 public:
  TestDirectory();
  ~TestDirectory();
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  /// Names of the files in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

/// A reference archive of FLESnet: in the directory WEFT_REFERENCE_ARCHIVES, or in
/// ../shared/data/flesnet beside the source tree. Nothing when it is not there.
std::optional<std::string> reference_archive(std::string_view name);

}  // namespace weft::wire

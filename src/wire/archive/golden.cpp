// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/golden.hpp"

#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/check.hpp"

namespace weft::wire {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      const std::size_t end = text.find('"', i + 1);
      WEFT_CHECK(end != std::string_view::npos, "quote at {} is not closed", i);
      for (const char t : text.substr(i + 1, end - i - 1)) bytes.push_back(std::byte(t));
      i = end + 1;
    } else if (c == ' ' || c == '\n') {
      ++i;
    } else {
      unsigned value = 0;
      const char* const at = text.data() + i;
      WEFT_CHECK(i + 2 <= text.size());
      WEFT_CHECK(std::from_chars(at, at + 2, value, 16).ptr == at + 2, "'{}' at {}", c, i);
      bytes.push_back(std::byte(value));
      i += 2;
    }
  }
  return bytes;
}

std::vector<std::byte> golden(std::string_view name) {
  const auto text = read_whole(fs::path(WEFT_GOLDEN_DIR) / (std::string(name) + ".hex"));
  return bytes_from_hex({reinterpret_cast<const char*>(text.data()), text.size()});
}

std::vector<std::byte> read_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  WEFT_CHECK(file.good(), "cannot read {}", path.string());
  std::vector<std::byte> bytes(fs::file_size(path));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  WEFT_CHECK(file.good() || bytes.empty());
  return bytes;
}

void write_whole(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  WEFT_CHECK(file.good(), "cannot write {}", path.string());
}

TestDirectory::TestDirectory() {
  std::string name = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
  WEFT_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TestDirectory::~TestDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> TestDirectory::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> reference_archive(std::string_view name) {
  const char* const named = getenv("WEFT_REFERENCE_ARCHIVES");
  const fs::path directory = named ? fs::path(named) : fs::path(WEFT_NEARBY_ARCHIVES);
  std::error_code ignored;
  if (!fs::is_regular_file(directory / name, ignored)) return std::nullopt;
  return (directory / name).string();
}

}  // namespace weft::wire

// SPDX-License-Identifier: Apache-2.0
#include "rdma/sysfs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace weft::rdma {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_of_attribute = 4096;  // the kernel's files have a page at most

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace

std::string text_of(const fs::path& path, std::size_t most) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return text;
  struct stat about {};
  const bool is_ordinary = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  while (is_ordinary && text.size() < most) {
    const std::size_t before = text.size();
    constexpr std::size_t piece = 4096;
    text.resize(std::min(before + piece, most));
    const ssize_t got = ::read(file, text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  ::close(file);
  return text;
}

std::string name_of(const fs::path& path) {
  return printable(path.filename().string());
}

std::string line_of(const fs::path& path) {
  std::string line = text_of(path, most_of_attribute);
  line.resize(std::min(line.find('\n'), line.size()));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
  return printable(std::move(line));
}

std::optional<std::uint64_t> number_in(const fs::path& path) {
  const std::string text = text_of(path, most_of_attribute);
  std::string_view number = text;
  number.remove_prefix(std::min(number.find_first_not_of(" \t\n"), number.size()));
  std::uint64_t value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace weft::rdma

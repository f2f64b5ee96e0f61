// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/pieces.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft {

namespace fs = std::filesystem;

Result<ByteCount> piece_size(const Uri& uri) {
  return uri.bytes("cut", ByteCount::kib(64), ByteCount(1), ByteCount::gib(1));
}

std::uint64_t PieceGrid::size(std::uint64_t total, std::uint64_t sequence,
                              std::uint32_t input) const {
  if (sequence >= rows(total)) return 0;
  const std::uint64_t begin = offset(sequence, input);
  return begin < total ? std::min(cut, total - begin) : 0;
}

Result<FileList> FileList::open(const std::string& path) {
  FileList list;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return system_error("read", path, errno);
  if (!S_ISDIR(status.st_mode)) {
    if (!S_ISREG(status.st_mode)) {
      return invalid("'{}' is neither a file nor a directory", path);
    }
    if (auto added = list.add(path); !added) return std::move(added).error();
    return list;
  }
  std::error_code problem;
  std::vector<std::string> paths;
  for (fs::recursive_directory_iterator at(path, problem), end; !problem && at != end;
       at.increment(problem)) {
    std::error_code vanished;
    if (fs::is_regular_file(at->symlink_status(vanished))) paths.push_back(at->path().string());
  }
  if (problem) return system_error("list", path, problem.value());
  std::sort(paths.begin(), paths.end());
  for (std::string& file : paths) {
    if (auto added = list.add(std::move(file)); !added) return std::move(added).error();
  }
  return list;
}

Result<void> FileList::add(std::string path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || access(path.c_str(), R_OK) != 0) {
    return system_error("read", path, errno);
  }
  entries_.push_back({std::move(path), total_, static_cast<std::uint64_t>(status.st_size)});
  total_ += entries_.back().size;
  return {};
}

FileList::~FileList() {
  if (descriptor_ >= 0) close(descriptor_);
}

FileList::FileList(FileList&& other) noexcept {
  *this = std::move(other);
}

FileList& FileList::operator=(FileList&& other) noexcept {
  std::swap(entries_, other.entries_);
  std::swap(total_, other.total_);
  std::swap(open_entry_, other.open_entry_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Result<void> FileList::switch_to(std::size_t entry) {
  if (open_entry_ == entry) return {};
  if (descriptor_ >= 0) close(descriptor_);
  open_entry_ = SIZE_MAX;
  descriptor_ = ::open(entries_[entry].path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) return system_error("open", entries_[entry].path, errno);
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  open_entry_ = entry;
  return {};
}

Result<void> FileList::read(std::uint64_t offset, std::span<std::byte> into) {
  WEFT_CHECK(offset <= total_ && into.size() <= total_ - offset);
  while (!into.empty()) {
    const auto after =
        std::upper_bound(entries_.begin(), entries_.end(), offset,
                         [](std::uint64_t at, const Entry& e) { return at < e.begin; });
    const auto entry = static_cast<std::size_t>(after - entries_.begin()) - 1;
    const Entry& file = entries_[entry];
    if (auto opened = switch_to(entry); !opened) return opened;
    const std::uint64_t in_file = offset - file.begin;
    const std::size_t wanted = std::min<std::uint64_t>(into.size(), file.size - in_file);
    const ssize_t n = pread(descriptor_, into.data(), wanted, static_cast<off_t>(in_file));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("read", file.path, errno);
    if (n == 0) {
      return make_error(ErrorCode::io,
                        "'{}' became shorter while it was read: {} bytes instead of {}", file.path,
                        in_file, file.size);
    }
    offset += static_cast<std::uint64_t>(n);
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace weft

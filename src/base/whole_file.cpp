// SPDX-License-Identifier: Apache-2.0
#include "base/whole_file.hpp"
#include "base/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/make_error.hpp"

namespace weft {
namespace {

constexpr std::size_t piece = std::size_t{1} << 18;

std::string path_of(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

/// A file in the directory of `path` that gets its name later; negative where there are none, or
/// no /proc, by which it gets its name.
int open_unnamed(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd < 0 || ::access(path_of(fd).c_str(), F_OK) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

Result<WholeFile> WholeFile::create(std::string path, Existing existing) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    return invalid("{}: is there and no ordinary file; name another one", path);
  }
  if (auto good = refuse_existing(path, existing); !good) return std::move(good).error();
  std::string temporary = fmt::format("{}.{}.partial", path, ::getpid());
  int fd = open_unnamed(path);
  const bool is_named = fd < 0;
  if (is_named) fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return system_error("create", path, errno);
  return WholeFile(std::move(path), std::move(temporary), is_named, fd, existing);
}

WholeFile::WholeFile(std::string path, std::string temporary, bool is_named, int descriptor,
                     Existing existing)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      is_named_(is_named),
      descriptor_(descriptor),
      existing_(existing) {
  collected_.reserve(piece);
}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      is_named_(other.is_named_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      existing_(other.existing_),
      collected_(std::move(other.collected_)),
      state_(std::move(other.state_)) {}

WholeFile::~WholeFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (is_named_) ::unlink(temporary_.c_str());
}

Result<void> WholeFile::flush() {
  std::string_view text = collected_;
  while (!text.empty() && state_.ok()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      state_ = system_error("write", path_, errno);
    } else {
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  collected_.clear();
  return state_;
}

Result<void> WholeFile::write(std::string_view text) {
  if (!state_.ok()) return state_;
  collected_ += text;
  return collected_.size() < piece ? Result<void>() : flush();
}

Result<void> WholeFile::commit() {
  if (auto written = flush(); !written) return written;
  if (::fsync(descriptor_) != 0) return system_error("write", path_, errno);
  if (!is_named_) {
    ::unlink(temporary_.c_str());  // of a process that was killed just here and had this number
    const std::string unnamed = path_of(descriptor_);
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return system_error("create", path_, errno);
    }
    is_named_ = true;
  }
  if (const int number = rename_file(temporary_, path_, existing_); number != 0) {
    return number == EEXIST ? exists_error(path_) : system_error("replace", path_, number);
  }
  ::close(std::exchange(descriptor_, -1));
  return {};
}

}  // namespace weft

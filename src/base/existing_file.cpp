// SPDX-License-Identifier: Apache-2.0
#include "base/existing_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft {

Error exists_error(const std::string& path) {
  return invalid(
      "cannot write '{}': it exists already; name another file, or replace it with --force", path);
}

Result<void> refuse_existing(const std::string& path, Existing existing) {
  struct stat status {};
  if (existing == Existing::replace || ::lstat(path.c_str(), &status) != 0) return {};
  // A link to nothing is replaced as a file is.
  const bool leads_nowhere = S_ISLNK(status.st_mode) && ::stat(path.c_str(), &status) != 0;
  if (leads_nowhere || S_ISREG(status.st_mode)) return exists_error(path);
  return {};
}

Result<void> refuse_own_input(std::span<const std::string> inputs, const std::string& out) {
  struct stat target {};
  if (::stat(out.c_str(), &target) != 0) return {};
  // A terminal may be both ends.
  if (!S_ISREG(target.st_mode) && !S_ISBLK(target.st_mode)) return {};
  for (const std::string& input : inputs) {
    struct stat read {};
    if (::stat(input.c_str(), &read) != 0) continue;
    if (read.st_dev != target.st_dev || read.st_ino != target.st_ino) continue;
    return invalid("cannot write '{}': it is the input '{}'; name another file", out, input);
  }
  return {};
}

Result<int> open_special(const std::string& path, Duration patience) {
  constexpr Duration between = Duration::milliseconds(10);
  for (Duration left = patience;; left = left - between) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0) {
      // Only opening was not to wait.
      const int flags = ::fcntl(descriptor, F_GETFL);
      if (flags >= 0 && ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0) return descriptor;
      const int number = errno;
      ::close(descriptor);
      return system_error("write", path, number);
    }
    if (errno != ENXIO) return system_error("write", path, errno);
    if (left <= Duration{}) break;
    const timespec pause{.tv_sec = 0, .tv_nsec = between.ticks()};
    ::nanosleep(&pause, nullptr);
  }
  return invalid("cannot write '{}': nobody reads this pipe; start its reader first", path);
}

int rename_file(const std::string& from, const std::string& to, Existing existing) {
  if (existing == Existing::replace) {
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Some network file systems cannot promise that; they look first.
  if (::access(to.c_str(), F_OK) == 0) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace weft

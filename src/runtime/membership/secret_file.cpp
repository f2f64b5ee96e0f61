// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/secret_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft {
namespace {

Error wrong(const std::string& path, std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("{} {}", path, what)};
}

/// All of it, up to one byte more than a secret may have.
Result<std::string> read_all(int file, const std::string& path) {
  std::string bytes(longest_secret + 3, '\0');
  std::size_t used = 0;
  while (used < bytes.size()) {
    const ssize_t n = ::read(file, bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return wrong(path, std::strerror(errno));
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

Result<std::string> read_secret(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return Error{ErrorCode::not_found, fmt::format("{}: {}; make one with: (umask 077; head -c 32 "
                                                   "/dev/urandom | base64 > {})",
                                                   path, std::strerror(errno), path)};
  }
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  auto bytes = read_all(file, path);
  ::close(file);
  if (!known || !S_ISREG(status.st_mode)) return wrong(path, "is not a file");
  if ((status.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
    return wrong(path, fmt::format("can be read or changed by others (mode {:04o}); do: chmod 600 "
                                   "{}",
                                   status.st_mode & 07777, path));
  }
  if (!bytes) return bytes;
  while (!bytes->empty() && (bytes->back() == '\n' || bytes->back() == '\r')) bytes->pop_back();
  if (bytes->size() < shortest_secret || bytes->size() > longest_secret) {
    return wrong(path, fmt::format("has {} bytes; a secret has {} to {}", bytes->size(),
                                   shortest_secret, longest_secret));
  }
  return bytes;
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path, std::string_view asked_by) {
  auto secret = read_secret(path);
  if (secret) return secret;
  return Error{secret.error().code, fmt::format("{}: {}", asked_by, secret.error().message)};
}

}  // namespace weft

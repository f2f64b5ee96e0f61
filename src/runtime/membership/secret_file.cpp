// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/secret_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft {
namespace {

Error wrong(const std::string& path, std::string_view what) {
  return invalid("{} {}", path, what);
}

/// All of it, up to one byte more than a secret may have.
Result<std::string> read_all(int file, const std::string& path) {
  std::string bytes(longest_secret + 3, '\0');
  std::size_t used = 0;
  while (used < bytes.size()) {
    const ssize_t n = ::read(file, bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("read", path, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

Result<std::string> read_secret(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno != ENOENT) return system_error("open", path, errno);
    return make_error(ErrorCode::not_found,
                      "{}: {}; make one with: (umask 077; head -c 32 /dev/urandom | base64 > {})",
                      path, std::strerror(errno), path);
  }
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  auto bytes = read_all(file, path);
  ::close(file);
  if (!known || !S_ISREG(status.st_mode)) {
    return wrong(path, "is not a file; name one with at least 16 bytes");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return wrong(path, fmt::format("can be read or changed by others (mode {:04o}); do: chmod 600 "
                                   "{}",
                                   status.st_mode & 07777, path));
  }
  if (!bytes) return bytes;
  while (!bytes->empty() && (bytes->back() == '\n' || bytes->back() == '\r')) bytes->pop_back();
  if (bytes->size() > longest_secret) {
    return wrong(path, fmt::format("has more than {} bytes; a secret has {} to {}", longest_secret,
                                   shortest_secret, longest_secret));
  }
  // As a crash leaves a file: anybody guesses that.
  if (!bytes->empty() && bytes->find_first_not_of('\0') == std::string::npos) {
    return wrong(path, "contains only zeros; make one with: head -c 32 /dev/urandom | base64");
  }
  if (bytes->size() < shortest_secret) {
    return wrong(path, fmt::format("has {} bytes; a secret has {} to {}", bytes->size(),
                                   shortest_secret, longest_secret));
  }
  return bytes;
}

/// Written beside its place and linked there, so that it appears whole, and once.
Result<void> make_secret(const std::filesystem::path& folder, const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
  if (file < 0) return system_error("write", path, errno);
  std::array<std::uint8_t, 32> bytes{};
  bool good = ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  text += '\n';
  good = good && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::fsync(file) == 0;
  if (good && ::link(temporary.c_str(), path.c_str()) != 0) good = errno == EEXIST;
  const int number = errno;
  ::close(file);
  ::unlink(temporary.c_str());
  if (!good) return system_error("write", path, number);
  return {};
}

}  // namespace

Result<std::string> read_own_secret() {
  const auto from = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  std::filesystem::path folder = from("XDG_CONFIG_HOME");
  if (folder.is_relative()) folder = from("HOME") / ".config";
  if (folder.is_relative()) {
    return Error{ErrorCode::not_found,
                 "no secret: neither HOME nor XDG_CONFIG_HOME says where this user's is; name a "
                 "file with the key secret_file"};
  }
  const std::string path = folder / "weft" / "secret";
  if (::access(path.c_str(), F_OK) != 0) {
    if (auto made = make_secret(folder / "weft", path); !made) return std::move(made).error();
  }
  return read_secret_file(path, "the secret of this user");
}

Result<std::string> read_secret_file(const std::string& path, std::string_view asked_by) {
  auto secret = read_secret(path);
  if (secret) return secret;
  return Error{secret.error().code, fmt::format("{}: {}", asked_by, secret.error().message)};
}

}  // namespace weft

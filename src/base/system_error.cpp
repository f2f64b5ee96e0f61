// SPDX-License-Identifier: Apache-2.0
#include "base/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include "base/descriptor.hpp"
#include "base/exit_code.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft {
namespace {

/// What a user can do about an error of reading, of running or of writing.
std::string_view fix_of(int number, std::string_view verb) {
  const bool runs = verb == "run";
  const bool reads = verb == "open" || verb == "read" || verb == "list";
  const auto by_use = [&](std::string_view read, std::string_view run, std::string_view write) {
    return reads ? read : runs ? run : write;
  };
  switch (number) {
    case ENOENT:
      return by_use("; name one that is there", "; name a program that is installed",
                    "; make its directory first");
    case EACCES:
    case EPERM:
      return by_use("; allow it with chmod +r, or name another one",
                    "; make it executable with chmod +x, or name another one",
                    "; name one in a directory that you may write to");
    case EISDIR:
      return runs ? "; name a program" : "; name a file";
    case ENOTDIR:
      return "; a part of its path is no directory: correct it";
    case ENAMETOOLONG:
      return "; choose a shorter name";
    case ENOSPC:
    case EDQUOT:
      return "; free space, or write to another disk";
    case EFBIG:
      return "; raise the limit of a file's size: ulimit -f";
    case EROFS:
      return "; write to another disk";
    case EIO:
      return "; look for the disk's errors in the kernel's log";
    case EMFILE:
      return "; raise the limit of open files: ulimit -n";
    default:
      return "";
  }
}

}  // namespace

ErrorCode code_of_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::not_found;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ErrorCode::exhausted;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
      return ErrorCode::invalid_argument;
    default:
      return ErrorCode::io;
  }
}

Error system_error(std::string_view verb, std::string_view path, int number) {
  return {code_of_errno(number),
          fmt::format("cannot {} '{}': {}{}", verb, path, std::generic_category().message(number),
                      fix_of(number, verb))};
}

std::string text_of(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) == nullptr) return exception.what();
  return "out of memory; use fewer processes here, smaller buffers or a smaller input, or raise "
         "the "
         "limit (ulimit -v)";
}

void end_by_exception() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft: %s\n", text_of(e).c_str());
    std::_Exit(static_cast<int>(ExitCode::system));
  } catch (...) {
  }
  std::abort();
}

Result<std::string> read_text_file(const std::string& path, std::uint64_t largest) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return system_error("open", path, errno);
  std::string text;
  for (char piece[1 << 14];;) {
    const ssize_t n = ::read(file.get(), piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("read", path, errno);
    if (n == 0) return text;
    text.append(piece, static_cast<std::size_t>(n));
    if (text.size() <= largest) continue;
    return invalid("'{}' has more than {}; use a smaller one", path, to_text(ByteCount(largest)));
  }
}

}  // namespace weft

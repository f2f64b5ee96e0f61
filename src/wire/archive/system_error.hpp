// SPDX-License-Identifier: Apache-2.0
// Turns an error of the operating system into an Error that a user can act on.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "weft/result.hpp"

namespace weft::wire {

/// The class of error that `number` (an errno) belongs to.
inline ErrorCode code_of_errno(int number) {
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

/// "cannot write 'x.tsa': No space left on device" from ("write", "x.tsa", ENOSPC).
inline Error system_error(std::string_view verb, std::string_view path, int number) {
  std::string_view fix;
  if (number == ENOENT && verb == "write") fix = "; make its directory first";
  if (verb == "write" && (number == ENOSPC || number == EDQUOT)) {
    fix = "; free space, or write to another disk";
  }
  if (verb == "write" && number == EIO) fix = "; look for the disk's errors in the kernel's log";
  if (number == ENOENT && (verb == "open" || verb == "read")) fix = "; name one that is there";
  return {code_of_errno(number), fmt::format("cannot {} '{}': {}{}", verb, path,
                                             std::generic_category().message(number), fix)};
}

}  // namespace weft::wire

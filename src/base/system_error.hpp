// SPDX-License-Identifier: Apache-2.0
// Turns an error of the operating system into an Error that a user can act on.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <string_view>

#include "weft/result.hpp"

namespace weft {

/// The class of error that `number` (an errno) belongs to.
ErrorCode code_of_errno(int number);

/// "cannot write 'x.tsa': No space left on device; free space, …" from ("write", "x.tsa", ENOSPC).
Error system_error(std::string_view verb, std::string_view path, int number);

/// An exception's message; for std::bad_alloc, one with a fix.
std::string text_of(const std::exception& exception);

/// A handler for std::set_terminate: prints an exception that nothing caught (it left a thread, or
/// was thrown during unwinding), and exits with ExitCode::system.
[[noreturn]] void end_by_exception();

/// The whole text of a file or pipe. Errors: those of the system, and (invalid_argument) more than
/// `largest` bytes.
Result<std::string> read_text_file(
    const std::string& path, std::uint64_t largest = std::numeric_limits<std::uint64_t>::max());

}  // namespace weft

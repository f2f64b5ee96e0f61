// SPDX-License-Identifier: Apache-2.0
// How a process ended, in words and as a code.
#pragma once

#include <string>

namespace weft {

/// The end of a process, by the status of waitpid: "was ended by signal 9 (Killed)", "ended with
/// code 3".
std::string describe_end(int status);

/// The same by the code that a shell or a launcher gives: "ended with code 3", "ended with code
/// 139, as by signal 11 (Segmentation fault)".
std::string describe_end_code(int code);

/// Returns the code that shells use, by the status of waitpid: 128 + N after signal N.
int code_of_end(int status);

}  // namespace weft

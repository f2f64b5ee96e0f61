// SPDX-License-Identifier: Apache-2.0
// exec: runs a program per timeslice.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/sink.hpp"

namespace weft {

/// `command` is everything after "exec:": a program and its arguments, separated by spaces, quoted
/// with '…' or "…" or a backslash where they contain some; no shell. Each run reads one timeslice
/// as an archive of one item (.tsa, uncompressed) on standard input and finds WEFT_TIMESLICE and
/// WEFT_COMPUTE in its environment; its output goes to weft's standard error. It need not read its
/// input. An exit code other than 0 counts as an error.
Result<std::unique_ptr<Sink>> make_exec_sink(std::string_view command, const SinkPlace& place);

/// Splits a command as described above. The error names the quote that is not closed.
Result<std::vector<std::string>> split_command(std::string_view command);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// The exit codes of weft's processes, and the one rule by which errors have them.
#pragma once

#include "weft/result.hpp"

namespace weft {

/// Documented in `weft --help`, the man page and README.md.
enum class ExitCode : int {
  success = 0,
  failed = 1,         ///< the work was done and something was found wrong (a check, a lost node)
  usage = 2,          ///< an option or a configuration is wrong, or an input of another kind
  system = 3,         ///< the operating system refused: disk full, no permission, no address
  hung_up = 129,      ///< ended early by SIGHUP, as by a terminal that is closed
  interrupted = 130,  ///< ended early by SIGINT, as by Ctrl-C
  terminated = 143,   ///< ended early by SIGTERM, as by a service manager
};

/// A file that is not there or of another kind is a wrong input; one of the right kind that is
/// damaged is a finding. Of what was cancelled the signal decides, which only the caller knows.
constexpr ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
      return ExitCode::usage;
    case ErrorCode::exhausted:
    case ErrorCode::io:
      return ExitCode::system;
    case ErrorCode::corrupt:
    case ErrorCode::unauthorised:
    case ErrorCode::unavailable:
    case ErrorCode::timed_out:
    case ErrorCode::cancelled:
      break;
  }
  return ExitCode::failed;
}

}  // namespace weft

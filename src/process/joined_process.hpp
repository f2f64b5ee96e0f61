// SPDX-License-Identifier: Apache-2.0
// JoinedProcess: one process of a job from its program's beginning until it leaves, real or
// simulated.
#pragma once

#include <string>

#include "weft/program.hpp"
#include "weft/result.hpp"

namespace weft {

class JoinedProcess : public Process {
 public:
  /// False: an earlier life of this process got through, and all programs are over. Errors: as
  /// `leave`.
  virtual Result<bool> may_begin() = 0;
  /// Leaves in agreement with all others. Errors: somebody is gone for good, the job is aborted.
  virtual Result<void> leave() = 0;
  /// Tells its launcher why this process cannot go on.
  virtual void fail(const std::string& why) = 0;
};

/// Runs the program, if it is still wanted. An exception of the program goes to standard error, as
/// one line. Returns its code.
int run_in(JoinedProcess& process, const Program& program, std::span<const std::string> arguments);

/// Leaves the job with the code that the program ended with: in agreement with all others when that
/// is 0. Returns the process's exit code.
int leave_with(int code, JoinedProcess& process);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// JoinedProcess: one process of a job from its program's beginning until it leaves, whatever runs
// it.
#pragma once

#include <string>

#include "weft/program.hpp"
#include "weft/result.hpp"

namespace weft {

class JoinedProcess : public Process {
 public:
  /// Leaves in agreement with all others. Errors: somebody is gone for good, the job is aborted.
  virtual Result<void> leave() = 0;
  /// Tells whoever started it why this process cannot go on.
  virtual void fail(const std::string& why) = 0;
  /// All programs of the job are over.
  virtual bool over() const = 0;
};

/// Runs the program and leaves. What the program does not say itself goes to standard error, as
/// one line. Returns the process's exit code.
int run_joined(JoinedProcess& process, const Program& program,
               std::span<const std::string> arguments);

}  // namespace weft

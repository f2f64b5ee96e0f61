// SPDX-License-Identifier: Apache-2.0
// ProcessTree: what a process has started, and what that has started in turn, to signal all of it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

#include "base/descriptor.hpp"

namespace weft::emulate {

/// The processes below one, without that one. Once known, a process stays known when its parent
/// ends, and a later process of the same number is not taken for it. One thread.
class ProcessTree {
 public:
  explicit ProcessTree(pid_t root) : root_(root) {}

  /// Finds those that run now below the root, and below those that are known.
  void look();
  /// Adds one whose parent has ended already.
  void add(pid_t pid);
  /// To all that are known and run.
  void signal(int number) const;
  /// Ends all of them, also those that start meanwhile: SIGTERM, and SIGKILL after `patience`.
  /// Returns when none runs, or when the kernel does not end one.
  void end(std::chrono::milliseconds patience);

 private:
  struct Process {
    explicit Process(pid_t number);
    bool runs() const;

    pid_t pid;
    Descriptor handle;
  };
  bool knows(pid_t pid) const;
  bool any_runs() const;

  Process root_;
  std::vector<Process> below_;
};

}  // namespace weft::emulate

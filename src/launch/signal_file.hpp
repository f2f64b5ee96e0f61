// SPDX-License-Identifier: Apache-2.0
// SignalFile: the signals of a process that starts others, as a descriptor.
#pragma once

#include <csignal>

#include "weft/result.hpp"

namespace weft {

/// While one is open, SIGCHLD and the signals that ask for an end come here. SIGPIPE is ignored: a
/// write fails instead. One at a time in a process.
class SignalFile {
 public:
  SignalFile() = default;
  ~SignalFile();
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;

  Result<void> open();
  int descriptor() const { return file_; }
  /// The next one; 0: none.
  int next() const;
  /// In a forked process: signals are as they were before.
  void restore() const;

 private:
  int file_ = -1;
  sigset_t taken_{}, before_{};
  struct sigaction pipe_before_ {};
};

}  // namespace weft
